"""A TCP proxy between agent and controller that does what networks do: pass, stand still with both ends open, drip, cut.

    with Proxy(port) as proxy:
        proxy.freeze()     what is open stays open, and no byte comes through any more, in either direction; new connections hang too
        proxy.drip(64, 0.1)  64 bytes each 0.1 s and direction
        proxy.cut()        resets what is open and refuses what comes
        proxy.flow()       passes again what is new; frozen connections stay frozen for ever, as behind a lost firewall state
"""
import socket
import struct
import threading
import time

RESET = struct.pack("ii", 1, 0)


class Connection:
    def __init__(self, proxy, client):
        self.proxy, self.client, self.server = proxy, client, None
        self.mode = proxy.mode
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while self.mode == "freeze" and not self.proxy.stopping:
            time.sleep(0.05)
        try:
            self.server = socket.create_connection(self.proxy.target)
        except OSError:
            self.end()
            return
        back = threading.Thread(target=self._copy, args=(self.server, self.client), daemon=True)
        back.start()
        self._copy(self.client, self.server)
        back.join(5)
        self.end()

    def _copy(self, source, sink):
        try:
            while True:
                got = source.recv(16384)
                while self.mode == "freeze" and not self.proxy.stopping:
                    time.sleep(0.05)
                if not got:
                    sink.shutdown(socket.SHUT_WR)
                    return
                while got:
                    size, wait = self.proxy.rate or (len(got), 0)
                    sink.sendall(got[:size])
                    got = got[size:]
                    time.sleep(wait)
        except OSError:
            self.end()

    def end(self, reset=False):
        for s in (self.client, self.server):
            if not s:
                continue
            try:
                if reset:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                else:
                    s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()


class Proxy:
    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.mode, self.rate, self.stopping = "flow", None, False
        self.connections, self.accepted = [], 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping = True
        self.listener.close()
        for c in self.connections:
            c.end()

    def _accept(self):
        while not self.stopping:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            self.accepted += 1
            if self.mode == "cut":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                client.close()
            else:
                self.connections.append(Connection(self, client))

    def freeze(self):
        self.mode = "freeze"
        for c in self.connections:
            c.mode = "freeze"

    def cut(self):
        self.mode = "cut"
        for c in self.connections:
            c.end(reset=True)

    def flow(self):
        self.mode, self.rate = "flow", None

    def drip(self, size, seconds):
        self.mode, self.rate = "flow", (size, seconds)
