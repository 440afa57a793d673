"""What a process gains when somebody else does to it what a session does: each kind is one thing that a session asks of the runtime, in the
simplest way. What a process gains by our sessions beyond that is ours."""
import glob
import os
import shutil
import socket
import struct
import time
import uuid

from tests.lib import proc
from tests.system.profiler import tools

PATIENCE = 60
LIBRARY = "passing_profiler.so"
CLASS = struct.pack("<IHH", 0x11111111, 0x2222, 0x3333) + bytes.fromhex("4444555555555555")
MAGIC = b"DOTNET_IPC_V1\0"
EVENT_PIPE, PROFILER, SERVER = 2, 3, 0xff
STOP_TRACING, COLLECT_TRACING_2, ATTACH = 1, 3, 1
DO_EVENTS, DO_COLLECTION = 1, 2  # passing_profiler.c
WARM = 70                        # the runtime compiles again what was called 30 times, and once more after 30
PAUSE = 0.5                      # seconds; what a session takes, mostly the runtime's wait at a detach


def text(s):
    return struct.pack("<I", len(s) + 1) + (s + "\0").encode("utf-16-le")


class Port:
    """One request to the diagnostics port of a process, and what follows the answer."""

    def __init__(self, app, group, command, payload):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(glob.glob(app.tmp + "/dotnet-diagnostic-*-socket")[0])
        self.socket.sendall(MAGIC + struct.pack("<HBBH", 20 + len(payload), group, command, 0) + payload)
        header = self.read(20)
        size, group, command = struct.unpack("<HBB", header[14:18])
        self.answer = self.read(size - 20)
        self.ok = (group, command) == (SERVER, 0)

    def read(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            assert more, "the port closed the connection"
            data += more
        return data

    def drain(self):
        while self.socket.recv(65536):
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def mapped(app):
    with open("/proc/%d/maps" % app.pid) as f:
        return LIBRARY in f.read()


def passing(app, what):
    """Another profiler comes, asks this of the runtime, and goes. Staged as an agent stages: in a folder of its own each time."""
    name = "." + uuid.uuid4().hex
    folder = os.path.join(app.tmp, name)
    os.mkdir(folder)
    try:
        shutil.copy(tools.tool(LIBRARY), folder)
        payload = struct.pack("<I", 5000) + CLASS + text("/tmp/%s/%s" % (name, LIBRARY)) + struct.pack("<I", 1) + bytes([what])

        def attach():
            with Port(app, PROFILER, ATTACH, payload) as port:
                return port.ok and struct.unpack("<I", port.answer[:4])[0] == 0
        proc.wait_until(attach, PATIENCE, "an attach", 0.02)
        proc.wait_until(lambda: not mapped(app), PATIENCE, "the other profiler leaves", 0.003)
    finally:
        shutil.rmtree(folder)


def tracing(app):
    """An EventPipe session over the port, as dotnet-trace's, ended at once."""
    provider = struct.pack("<QI", 1, 4) + text("Microsoft-Windows-DotNETRuntime") + text("")
    with Port(app, EVENT_PIPE, COLLECT_TRACING_2, struct.pack("<IIBI", 16, 1, 0, 1) + provider) as session:
        assert session.ok, session.answer
        with Port(app, EVENT_PIPE, STOP_TRACING, session.answer[:8]) as stop:
            assert stop.ok, stop.answer
        session.drain()


def settle(app):
    """Until what looking itself does has been compiled as often as it ever is: a compiler's memory stays."""
    for _ in range(WARM):
        collect(app)


def collect(app):
    """Until the application (its load `doze`) has collected what can be, and given it back."""
    path = app.tmp + "/collect"
    open(path, "w").close()
    proc.wait_until(lambda: not os.path.exists(path), PATIENCE, "a collection", 0.02)


KINDS = {
    "nothing": lambda app: time.sleep(PAUSE),
    "an attach": lambda app: passing(app, 0),
    "an attach with events": lambda app: passing(app, DO_EVENTS),
    "an attach with a collection": lambda app: passing(app, DO_COLLECTION),
    "events over the port": tracing,
}
