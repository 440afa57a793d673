"""A file system that never answers, made within a pod: the kernel's FUSE protocol (linux/fuse.h) with nothing behind it."""
import ctypes
import os
import stat
import struct

libc = ctypes.CDLL(None, use_errno=True)


class Mount:
    """Mounts one that answers what mounting, opening /file and leaving need; all else is read and never answered. A process of its own
    serves it: when that ends, the kernel ends all that waits."""

    def __init__(self, point):
        mounted, say = os.pipe()
        if os.fork() == 0:
            os.close(mounted)
            self.serve(point, say)
        os.close(say)
        os.read(mounted, 1)

    def serve(self, point, say):
        if not os.path.exists("/dev/fuse"):
            os.mknod("/dev/fuse", stat.S_IFCHR | 0o600, os.makedev(10, 229))
        fd = os.open("/dev/fuse", os.O_RDWR)
        if libc.mount(b"evil", point.encode(), b"fuse", 0, b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fd) != 0:
            os._exit(1)
        while True:
            data = os.read(fd, 1 << 20)
            _, opcode, unique, node = struct.unpack_from("<IIQQ", data)
            body = self.reply(opcode, node)
            if body is not None:
                os.write(fd, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
            if opcode == 26:
                os.write(say, b"1")

    def reply(self, opcode, node):
        def attributes(inode):
            return struct.pack("<QQQQQQIIIIIIIIII", inode, 8192, 16, 0, 0, 0, 0, 0, 0, 0o40755 if inode == 1 else 0o100644, 1, 0, 0, 0, 512, 0)
        if opcode == 26:  # INIT
            return struct.pack("<IIIIHHIIHHIII", 7, 31, 65536, 0, 16, 12, 65536, 1, 1, 0, 0, 0, 0) + bytes(20)
        if opcode == 1:  # LOOKUP
            return struct.pack("<QQQQII", 2, 0, 3600, 3600, 0, 0) + attributes(2)
        if opcode == 3:  # GETATTR
            return struct.pack("<QII", 3600, 0, 0) + attributes(node)
        if opcode == 14:  # OPEN of the file; the folder is not opened, the file's contents are not read
            return struct.pack("<QII", 1, 0, 0)
        return b"" if opcode in (18, 25) else None  # RELEASE, FLUSH: who has it open may leave
