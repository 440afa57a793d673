"""What runs in a hostile pod: pretends to be .NET, as process 1 with the pod's root rights. It has the container's file system only.

usage: attacker.py TRAP [argument]     see TRAPS at the end; prints {"ready": ...} when the trap is set
"""
import ctypes
import json
import mmap
import os
import random
import socket
import stat
import struct
import sys
import threading
import time

import evil_symbols
import stalled_fs

libc = ctypes.CDLL(None, use_errno=True)
MAGIC = b"DOTNET_IPC_V1\0"
OK, ERROR = 0x00, 0xff
EVIL = "\x1b]0;owned\x07\x1b[31m<script>alert(1)</script>&\u202egnp\u2066\r\n| `x` |\u009b2J\U000e0041\ud7ff"


def check(result, what):
    if result == -1:
        raise OSError(ctypes.get_errno(), what)
    return result


def start_time(pid="self"):
    with open("/proc/%s/stat" % pid) as f:
        return int(f.read().rpartition(")")[2].split()[19])


def socket_name():
    return "/tmp/dotnet-diagnostic-%d-%d-socket" % (os.getpid(), start_time())


def text(s):
    data = s.encode("utf-16-le") + b"\0\0"
    return struct.pack("<I", len(data) // 2) + data


def message(command, payload=b"", size=None):
    size = 20 + len(payload) if size is None else size
    return MAGIC + struct.pack("<HBBH", size, 0xff, command, 0) + payload


def process_info(entrypoint="Checkout", pid=None, version="10.0.0+evil"):
    return message(OK, struct.pack("<IQ", 1, pid or os.getpid()) + bytes(16) + text("/app/Checkout hot") + text("Linux") + text("x64")
                   + text(entrypoint) + text(version) + text("linux-x64"))


def environment(*variables, size=None, count=None):
    """The answer to what the process's environment is; `size` and `count` lie."""
    block = struct.pack("<I", len(variables) if count is None else count) + b"".join(map(text, variables))
    return message(OK, struct.pack("<IH", len(block) if size is None else size, 0)) + block


def exactly(s, count):
    data = b""
    while len(data) < count:
        more = s.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def request(s):
    """(set, command, payload)"""
    head = exactly(s, 20)
    size, which, command = struct.unpack("<HBB", head[14:18])
    return which, command, exactly(s, size - 20)


class Port:
    """A diagnostics port; answer(s, set, command, payload) does what the trap is."""

    def __init__(self, answer, name=None, serve=None, backlog=64):
        self.answer = answer
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(name or socket_name())
        self.listener.listen(backlog)
        threading.Thread(target=serve or self.serve, daemon=True).start()

    def serve(self):
        while True:
            s, _ = self.listener.accept()
            threading.Thread(target=self.one, args=(s,), daemon=True).start()

    def one(self, s):
        try:
            self.answer(s, *request(s))
        except (EOFError, OSError, struct.error):
            pass
        finally:
            try:
                s.close()
            except OSError:
                pass


def honest(s, which, command, _):
    s.sendall(process_info() if which == 4 else message(ERROR, struct.pack("<I", 0x80131384)))


# The port ---------------------------------------------------------------------------------------------------------------------

def lasting(s, write):
    """Writes for as long as the other end bears it."""
    while True:
        write(s)


def drip(s):
    s.sendall(b"D")
    time.sleep(0.2)


def slow_drip(s, *_):
    for i in range(20000):
        s.sendall(process_info()[i % 60:][:1])
        time.sleep(0.2)


def pass_descriptors(s, which, command, payload):
    """Descriptors come with each byte of an honest answer; closing the last one lingers."""
    answer = process_info()
    with open("/etc/passwd", "rb") as f, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        lingering = socket.socket()
        lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
        lingering.connect(listener.getsockname())
        far, _ = listener.accept()
        lingering.setblocking(False)
        try:
            while True:
                lingering.send(bytes(65536))
        except BlockingIOError:
            pass
        for i in range(len(answer)):
            try:
                socket.send_fds(s, [answer[i:i + 1]], [f.fileno()] * 100 + ([os.dup(lingering.fileno())] if i == 30 else []))
            except OSError:  # who does not want any is not sent any
                s.sendall(answer[i:i + 1])
        lingering.close()
        globals()["kept"] = far


PORTS = {
    "honest": honest,
    "garbage": lambda s, *_: s.sendall(os.urandom(60000)),
    "endless": lambda s, *_: lasting(s, lambda x: x.sendall(MAGIC + bytes(4000))),
    "endless-big": lambda s, *_: (s.sendall(message(OK, size=65535)), lasting(s, lambda x: x.sendall(bytes(4000)))),
    "drip": lambda s, *_: lasting(s, drip),
    "slow-drip": slow_drip,
    "silent": lambda s, *_: time.sleep(3600),
    "closes": lambda s, *_: None,
    "short": lambda s, *_: s.sendall(process_info()[:70]),
    "tiny-length": lambda s, *_: s.sendall(message(OK, size=3)),
    "huge-string": lambda s, *_: s.sendall(message(OK, struct.pack("<IQ", 1, os.getpid()) + bytes(16) + struct.pack("<I", 0xfffffff0))),
    "other-process": lambda s, *_: s.sendall(process_info(pid=2)),
    "evil-words": lambda s, *_: s.sendall(process_info(entrypoint=EVIL * 40, version=EVIL)),
    "descriptors": pass_descriptors,
}


def never_accepts():
    full = []
    p = Port(None, serve=lambda: time.sleep(3600), backlog=0)
    try:
        while True:
            s = socket.socket(socket.AF_UNIX)
            s.setblocking(False)
            s.connect(p.listener.getsockname())
            full.append(s)
    except BlockingIOError:
        return p, full


def ports(_):
    """A process for each of PORTS, and one whose port accepts nobody; says {kind: pid}."""
    pids = {}
    for kind in [*PORTS, "never-accepts"]:
        said, say = os.pipe()
        pids[kind] = os.fork()
        if pids[kind] == 0:
            kept = Port(PORTS[kind]) if kind in PORTS else never_accepts()
            os.write(say, b"1")
            burn(kept)
        os.read(said, 1)
    wait(kinds=pids)


# The profiler -----------------------------------------------------------------------------------------------------------------

HELLO, READY, FUNCTION, RESOLVED, SAMPLING, SAMPLES, STATS, DETACHING, DETACHED, FAILED, COLLECTIONS = range(0x201, 0x20c)
RESOLVE, SAMPLE_START, SAMPLE_STOP, STATS_REQUEST, DETACH = range(0x101, 0x106)


def frame(kind, payload=b"", length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, 0) + payload


def word(s):
    data = s if isinstance(s, bytes) else s.encode("utf-8", "surrogatepass")
    return struct.pack("<H", len(data)) + data


def function(number, name, module="Evil.dll", kind="Evil.Type", tail=b""):
    words = word(module) + word(kind) + b"\xff\xff" + word(name) + b"\xff\xff" + word("")
    return frame(FUNCTION, struct.pack("<QHQ", number, 0, 0) + words + tail)


FLOODS = {"flood": frame(0x2ff) * 8000, "flood-big": frame(0x2ff, bytes(65536)) * 16}
LENGTHS = {"lies-about-size": 65536, "huge-size": 0xfffffff0}
ACCOUNT = struct.pack("<8Q", *[0] * 8)


CODE_BYTES = 1 << 28


class Library:
    """Takes the attach order as the runtime would, and speaks the channel's protocol as `how` has it."""

    def __init__(self, how):
        self.how = how
        self.code = mmap.mmap(-1, CODE_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)  # to be executed, as a JIT's
        self.base = stalled_code() if how == "stalled-symbols" else ctypes.addressof(ctypes.c_char.from_buffer(self.code))
        self.image = evil_symbols.load() if how == "endless-lines" else 0
        self.port = Port(self.answer)

    def answer(self, s, which, command, payload):
        if (which, command) == (4, 2):
            self.tell_environment(s)
            return
        if which != 3:
            s.sendall(process_info())
            return
        path_units, = struct.unpack_from("<I", payload, 20)
        at = 24 + 2 * path_units
        size, = struct.unpack_from("<I", payload, at)
        data = payload[at + 4:at + 4 + size]
        length, = struct.unpack_from("<H", data, 20)
        nonce, path = data[4:20], data[22:22 + length].decode()
        s.sendall(message(OK, struct.pack("<I", 0)))
        self.channel(nonce, path)

    def tell_environment(self, s):
        if self.how == "huge-environment":
            s.sendall(environment("A=1", size=0xfffffff0))
        elif self.how == "endless-environment":
            s.sendall(environment("CORECLR_A=1", size=16 << 20, count=4000000))
            lasting(s, lambda x: x.sendall(bytes(4000)))
        elif self.how == "lying-environment":
            s.sendall(environment("A=1", "B=2", count=3))
        elif self.how == "dripping-environment":
            s.sendall(environment(size=1 << 20, count=1000))
            lasting(s, lambda x: (x.sendall(b"\0"), time.sleep(0.1)))
        else:
            s.sendall(environment("CORECLR_x=" + EVIL, *("V%d=%s" % (n, "v" * 1000) for n in range(1000))))

    def hello(self, nonce, version=1, pid=None):
        return frame(HELLO, struct.pack("<HH", version, 1) + nonce + struct.pack("<IHHH", pid or os.getpid(), 10, 0, 0) + word(EVIL))

    def connect(self, path):
        c = socket.socket(socket.AF_UNIX)
        c.connect(path)
        return c

    def channel(self, nonce, path):
        if self.how == "strangers":  # many come and say nothing, or the wrong word, before the library does
            globals()["kept"] = [self.connect(path) for _ in range(8)]
            for c in globals()["kept"][:4]:
                c.sendall(self.hello(bytes(16)))
            return
        if self.how == "from-another":  # another process of the pod knows the word
            if os.fork() == 0:
                c = self.connect(path)
                c.sendall(self.hello(nonce) + frame(READY))
                time.sleep(3600)
            return
        c = self.connect(path)
        if self.how == "half-hello":
            c.sendall(self.hello(nonce)[:20])
            time.sleep(3600)
        c.sendall(self.hello(nonce) + frame(READY))
        self.serve(c)

    def serve(self, c):
        how = self.how
        if how in FLOODS:
            lasting(c, lambda x: x.sendall(FLOODS[how]))
        elif how == "endless-functions":
            n = 0
            while True:
                n += 1
                c.sendall(function(n, "M%d" % n + "x" * 60000))
        elif how in LENGTHS:
            c.sendall(frame(FUNCTION, bytes(100), length=LENGTHS[how]))
        elif how == "wrong-order":
            c.sendall(frame(DETACHED) + frame(RESOLVED, struct.pack("<I", 4)) + frame(SAMPLING, bytes(24)) + frame(READY) * 3)
        elif how != "says-nothing":
            self.obey(c)
        time.sleep(3600)

    def obey(self, c):
        sampling = threading.Event()
        lock = threading.Lock()

        def say(data):
            with lock:
                c.sendall(data)

        def samples():
            n, many, reach = random.getrandbits(40), self.how == "many-stacks" or self.image, 1 << 14 if self.image else CODE_BYTES
            while sampling.is_set():
                records = []
                for _ in range(60):
                    n += 1
                    tid = random.getrandbits(32) if self.how == "many-stacks" else os.getpid()
                    when = random.getrandbits(64) if self.how == "many-stacks" else time.monotonic_ns()
                    ips = [self.base + random.randrange(reach) for _ in range(127)] if many else [self.base + i for i in range(1, 7)]
                    records.append(struct.pack("<QIHH%dQ" % len(ips), when, tid, 0, len(ips), *ips))
                say(frame(SAMPLES, b"".join(records)[:65536 - 65536 % len(records[0])]))
                time.sleep(0.002 if many else 0.02)

        while True:
            size, kind = struct.unpack("<IHH", exactly(c, 8))[:2]
            payload = exactly(c, size)
            if kind == SAMPLE_START:
                say(frame(SAMPLING, struct.pack("<IIQQ", 99, 1, 0, 0)))
                sampling.set()
                threading.Thread(target=samples, daemon=True).start()
            elif kind == SAMPLE_STOP:
                sampling.clear()
                say(frame(SAMPLING, struct.pack("<IIQQ", 0, 1, 2 ** 64 - 1, 2 ** 64 - 1)))
            elif kind == RESOLVE:
                self.resolve(say, payload)
            elif kind == evil_symbols.IL_ASK:
                say(frame(*evil_symbols.il_offsets(payload)))
            elif kind == STATS_REQUEST:
                big = struct.pack("<QQII", 2 ** 63 - 2, 2 ** 63 - 1, os.getpid(), 2 ** 32 - 1)
                say(frame(COLLECTIONS, big * 2000) + frame(STATS, struct.pack("<8Q", *[2 ** 64 - 1] * 8)))
            elif kind == DETACH:
                if self.how == "never-leaves":
                    lasting(c, lambda x: x.sendall(frame(READY) * 10))
                say(frame(DETACHING, ACCOUNT) + frame(DETACHED))

    def resolve(self, say, payload):
        count, = struct.unpack_from("<I", payload)
        ips = struct.unpack_from("<%dQ" % count, payload, 4)
        if self.how == "never-resolves":
            while True:
                say(frame(READY) * 10)
                time.sleep(0.001)
        if self.image:
            return say(function(1, "M", tail=evil_symbols.function_tail(self.image)) + frame(RESOLVED, payload[:4] + struct.pack("<QI", 1, 0) * count))
        answer = []
        for ip in ips:
            number = ip - self.base + 1
            if self.how == "many-stacks":
                say(function(number, "M%d" % number))
            else:
                say(function(number, (EVIL + "%d" % number + "A" * (30000 if number == 2 else 1)), module=EVIL, kind=EVIL + "<" * 2000))
            answer.append(struct.pack("<QI", number, 0))
        say(frame(RESOLVED, struct.pack("<I", count) + b"".join(answer)))


def library(how):
    libc.prctl(15, b"\x1b[31m<i>\xe2\x80\xae", 0, 0, 0)
    Library(how)
    wait()


# Files ------------------------------------------------------------------------------------------------------------------------

def links(_):
    """The pod's folder is full of things that lead elsewhere; /canary is a folder that the pod shares with its test."""
    own = os.path.basename(socket_name())
    Port(honest, name="/tmp/real")
    os.symlink("/canary/socket", "/tmp/" + own)
    names = ["/tmp/dotnet-diagnostic-%d-%d-socket" % (os.getpid(), n) for n in range(1, 8)]
    os.mkfifo(names[0])
    os.mknod(names[1], stat.S_IFCHR | 0o666, os.makedev(1, 5))
    os.symlink("/canary/secret", names[2])
    os.symlink("/proc/1/root/canary/secret", names[3])
    os.mkdir(names[4])
    with open(names[5], "w") as f:
        f.write("no socket")
    for n in range(40):
        os.symlink("/canary", "/tmp/.drdotnet-%016x" % n)
    for n in range(40, 60):
        os.mkdir("/tmp/.drdotnet-%016x" % n)
        os.symlink("/canary/secret", "/tmp/.drdotnet-%016x/c" % n)
        os.symlink("/canary", "/tmp/.drdotnet-%016x/libdrdotnet-%016x.so" % (n, n))
        os.utime("/tmp/.drdotnet-%016x" % n, (1, 1))
    for n in range(60, 70):
        os.mkfifo("/tmp/.drdotnet-%016x" % n)
    os.rename("/tmp/real", "/tmp/dotnet-diagnostic-%d-9-socket" % os.getpid())
    wait()


def racing(_):
    """An honest port in a folder where a thread puts links in the place of whatever appears."""
    Library("honest")

    def swap():
        while True:
            for name in os.listdir("/tmp"):
                if name.startswith(".drdotnet-") and not os.path.islink("/tmp/" + name):
                    try:
                        os.rename("/tmp/" + name, "/tmp/was" + name)
                        os.symlink("/canary", "/tmp/" + name)
                    except OSError:
                        pass
    threading.Thread(target=swap, daemon=True).start()
    wait()


def crowd(counts):
    """Many processes with ports, threads, mappings and socket files."""
    processes, threads, files, mappings = map(int, counts.split(","))
    for n in range(files):
        s = socket.socket(socket.AF_UNIX)
        s.bind("/tmp/dotnet-diagnostic-%d-%d-socket" % (os.getpid(), n))
        s.close()
    for _ in range(processes):
        if os.fork() == 0:
            Port(PORTS["silent"])
            time.sleep(3600)
    memory = mmap.mmap(-1, 2 * mmap.PAGESIZE * (mappings + 1))
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for n in range(mappings):
        check(libc.mprotect(ctypes.c_void_p(address + 2 * n * mmap.PAGESIZE), mmap.PAGESIZE, 5), "mprotect")
    threading.stack_size(65536)
    stop = threading.Event()
    for _ in range(threads):
        threading.Thread(target=stop.wait, daemon=True).start()
    Library("honest")
    wait()


# A file system that never answers ------------------------------------------------------------------------------------------------

def stalled_tmp(_):
    """From the start no look into /tmp returns."""
    Port(honest, name=socket_name())
    stalled_fs.Mount("/tmp")
    wait()


def stalled_code():
    """Code in a file whose contents never come."""
    os.makedirs("/tmp/evil")
    stalled_fs.Mount("/tmp/evil")
    fd = os.open("/tmp/evil/libevil.so", os.O_RDONLY)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    at = libc.mmap(None, 8192, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, fd, 0)
    if at == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    return at


# Words ------------------------------------------------------------------------------------------------------------------------

def words(_):
    """A name with a bracket and escape sequences; its environment, huge and full of them, comes from its test."""
    libc.prctl(15, b") R 1 1\n\x1b[31m", 0, 0, 0)
    Port(honest)
    wait()


def wait(**words):
    print(json.dumps({"ready": True, "pid": os.getpid(), "runtime": "evil", "port": 0, **words}, separators=(",", ":")), flush=True)
    burn()


def burn(*_):
    """A little CPU time, so that there is something to see; and a second thread, as .NET has."""
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    while True:
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            pass
        time.sleep(0.2)


TRAPS = {"ports": ports, "library": library, "links": links, "racing": racing, "crowd": crowd,
            "stalled-tmp": stalled_tmp, "words": words}

if __name__ == "__main__":
    TRAPS[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else None)
