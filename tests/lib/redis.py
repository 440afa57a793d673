"""A real server of Redis for a test, where Debian's package is installed: on loopback, without a password, in a folder that goes with it.

    with redis.Server() as server:
        server.place  # for StackExchange.Redis
"""
import os
import random
import shutil
import signal
import socket
import tempfile

from tests.lib import proc

PROGRAM, PORT = "redis-server", 6379  # the usual port, which tells what it is: so an address of loopback of its own


def missing():
    """Why there is none, or None."""
    return None if shutil.which(PROGRAM) else "no Redis on this machine: apt-get install redis-server"


class Server(proc.Process):
    def __init__(self):
        self.folder, self.host = tempfile.mkdtemp(prefix="drdotnet-redis-"), "127.%d.%d.%d" % tuple(random.sample(range(1, 255), 3))
        try:
            super().__init__([PROGRAM, "--bind", self.host, "--port", PORT, "--dir", self.folder, "--save", "", "--appendonly", "no",
                              "--enable-debug-command", "yes"], log=os.path.join(self.folder, "log"), cwd=self.folder)
            self.wait_log("Ready to accept connections", 30)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.place = "%s:%d" % (self.host, PORT)

    def say(self, *words):
        """Its answer's first line to a command."""
        with socket.create_connection((self.host, PORT), 30) as s:
            s.sendall(b" ".join(str(word).encode() for word in words) + b"\r\n")
            return s.recv(4096).split(b"\r\n")[0].decode()

    def stop(self, how=signal.SIGTERM, seconds=10):
        try:
            return super().stop(how, seconds)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
