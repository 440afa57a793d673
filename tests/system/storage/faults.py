"""A TCP proxy before a real server that does what networks and servers do on bad days, and counts what comes through.

The proxy's own address is the endpoint, so signed requests stay valid.
"""
import re
import socket
import struct
import threading
import time

from tests.lib import proc

CHUNK = 16384


class Proxy:
    """Set `fault` to one of these for the next `times` connections (None: for all that follow):

    ("cut", n)           closes both ends after n bytes from the client
    ("answer", bytes)    reads the request's head, answers this without reading the body, closes
    ("swallow",)         accepts and reads nothing, for ever
    ("throttle", n, s)   passes n bytes, then waits s seconds, and so on
    ("answer to", part, bytes)  answers so where the request's path has this part; others pass
    ("gone",)            resets the connection
    """

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.fault, self.times = None, None
        self.puts = []          # paths (without query) of requests whose whole exchange went through
        self.connections = 0
        self.last = None        # the client's port of the last connection whose fault has been chosen
        self.stopping = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.listener.close()

    def set(self, *fault, times=None):
        with self.lock:
            self.fault, self.times = fault or None, times

    def settle(self):
        """Waits until each connection that is there has met the fault of its time; so that of a client that has been killed does."""
        with socket.create_connection(("127.0.0.1", self.port)) as own:
            proc.wait_until(lambda: self.last == own.getsockname()[1], 60, "the proxy has taken all connections", 0.01)

    def _next_fault(self):
        with self.lock:
            self.connections += 1
            if self.fault and self.times is not None:
                self.times -= 1
                if self.times < 0:
                    self.fault = None
            return self.fault

    def _accept(self):
        while not self.stopping.is_set():
            try:
                client, address = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client, self._next_fault()), daemon=True).start()
            self.last = address[1]

    def _serve(self, client, fault):
        try:
            kind = fault[0] if fault else ""
            if kind == "swallow":
                self.stopping.wait(60)
            elif kind == "answer":
                self._answer(client, fault[1])
            elif kind == "gone":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif kind == "answer to":
                if fault[1].encode() in client.recv(CHUNK, socket.MSG_PEEK).split(b"\r\n")[0]:
                    self._answer(client, fault[2])
                else:
                    self._pass(client, None)
            else:
                self._pass(client, fault)
        except OSError:
            pass
        finally:
            client.close()

    @staticmethod
    def _answer(client, text):
        head = b""
        while b"\r\n\r\n" not in head:
            got = client.recv(CHUNK)
            if not got:
                return
            head += got
        client.sendall(text)
        client.shutdown(socket.SHUT_WR)
        client.settimeout(10)
        while client.recv(CHUNK):  # a close with unread bytes would reset the connection and lose the answer
            pass

    def _pass(self, client, fault):
        with socket.create_connection(self.target) as server:
            back = threading.Thread(target=self._copy_back, args=(server, client), daemon=True)
            back.start()
            passed, head = 0, b""
            while True:
                piece = CHUNK if not fault else min(CHUNK, fault[1])
                got = client.recv(piece)
                if not got:
                    break
                if fault and fault[0] == "cut" and passed + len(got) > fault[1]:
                    return
                if b"\r\n" not in head:
                    head += got
                server.sendall(got)
                passed += len(got)
                if fault and fault[0] == "throttle":
                    time.sleep(fault[2])
            server.shutdown(socket.SHUT_WR)
            back.join(20)
            found = re.match(rb"PUT (\S+?)(\?\S*)? HTTP", head)
            if found:
                self.puts.append(found.group(1).decode())

    @staticmethod
    def _copy_back(server, client):
        try:
            while True:
                got = server.recv(CHUNK)
                if not got:
                    client.shutdown(socket.SHUT_WR)
                    return
                client.sendall(got)
        except OSError:
            pass
