"""Pods whose owner is an enemy (attacker.py in a pod of tests/lib/pod.py), and canaries: what no trap may lead the agent to."""
import ctypes
import os
import socket
import struct

from tests.lib import pod

HERE = os.path.dirname(os.path.abspath(__file__))
libc = ctypes.CDLL(None, use_errno=True)
MS_STRICTATIME = 1 << 24
IN_ALL_EVENTS, IN_NONBLOCK = 0xfff, os.O_NONBLOCK
NAMES = {1: "read", 2: "written", 4: "attributes changed", 8: "closed", 16: "closed", 32: "opened", 64: "moved", 128: "moved",
         256: "created", 512: "deleted", 1024: "deleted", 2048: "moved"}


class Trap(pod.Pod):
    """`kind` and `argument` as attacker.py takes them."""

    def __init__(self, folder, kind, argument="", **how):
        super().__init__(folder, "trap", program=(HERE, ["/usr/bin/python3", "-B", "/app/attacker.py", kind, str(argument)]), **how)


class Canary:
    """A folder with a secret, a script and a listening socket. seen() tells all that anybody has done to them since arm()."""

    def __init__(self, folder):
        self.folder = os.path.join(os.path.realpath(folder), "canary")
        os.makedirs(self.folder)
        if libc.mount(b"canary", self.folder.encode(), b"tmpfs", MS_STRICTATIME, b"size=1m,mode=777") != 0:
            raise OSError(ctypes.get_errno(), "mount")
        for name in ("secret", "c", "libdrdotnet-0000000000000028.so"):
            with open(os.path.join(self.folder, name), "w") as f:
                f.write("secret words")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.folder + "/socket")
        self.listener.listen()
        self.listener.setblocking(False)
        self.inotify = libc.inotify_init1(IN_NONBLOCK | os.O_CLOEXEC)

    def arm(self):
        """From now on nobody has business here, its test neither."""
        for path in (self.folder, *(os.path.join(self.folder, name) for name in os.listdir(self.folder))):
            if libc.inotify_add_watch(self.inotify, path.encode(), IN_ALL_EVENTS) < 0:
                raise OSError(ctypes.get_errno(), path)
        self.seen()

    def seen(self):
        found = []
        try:
            data = os.read(self.inotify, 1 << 16)
        except BlockingIOError:
            data = b""
        while data:
            _, mask, _, size = struct.unpack_from("<iIII", data)
            name = data[16:16 + size].rstrip(b"\0").decode(errors="replace")
            found.append("%s %s" % (NAMES.get(mask & IN_ALL_EVENTS, hex(mask)), name))
            data = data[16 + size:]
        try:
            self.listener.accept()[0].close()
            found.append("connected to")
        except (BlockingIOError, ValueError):
            pass
        return found

    def close(self):
        self.listener.close()
        os.close(self.inotify)
        libc.umount2(self.folder.encode(), 2)


def descriptors(pid):
    """How many a process has open, but for those by which it cancels the jobs that it remembers."""
    count = 0
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            count += os.readlink("/proc/%d/fd/%s" % (pid, fd)) != "anon_inode:[eventfd]"
        except FileNotFoundError:
            pass
    return count


def memory_mib(pid):
    """The most memory that a process has had at once."""
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM:")) / 1024


