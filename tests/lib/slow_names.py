"""A server of names that takes its time: each is 127.0.0.1, and has no other address.

    names = SlowNames(40)
    App("load", "net10.0", folder, prefix=names.asked_by(folder))
"""
import itertools
import os
import socket
import threading

PORT = 53
ANSWERS = 0x8180  # a response, recursion as asked for
TYPE_A = 1
hosts = itertools.count(11)


class SlowNames:
    def __init__(self, ms):
        self.seconds = ms / 1000
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.host = "127.53.%d.%d" % (os.getpid() % 251, next(hosts))  # more than one suite may run
        self.socket.bind((self.host, PORT))
        threading.Thread(target=self._serve, daemon=True).start()

    def stop(self):
        self.socket.close()

    def asked_by(self, folder):
        """What a command begins with that asks it for names, in a mount namespace of its own."""
        path = os.path.join(folder, "resolv.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write("nameserver %s\noptions timeout:30\n" % self.host)
        return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', path]

    def _serve(self):
        while True:
            try:
                query, client = self.socket.recvfrom(512)
            except OSError:
                return
            threading.Timer(self.seconds, self._answer, (query, client)).start()

    def _answer(self, query, client):
        end = query.index(0, 12) + 5  # of the question: a name, type and class
        address = query[end - 3] == TYPE_A
        head = query[:2] + ANSWERS.to_bytes(2, "big") + b"\0\1" + (b"\0\1" if address else b"\0\0") + b"\0\0\0\0"
        found = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1" if address else b""
        try:
            self.socket.sendto(head + query[12:end] + found, client)
        except OSError:
            pass  # nobody waits for it any more
