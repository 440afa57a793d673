"""A WebSocket client that can also misbehave: frames are made by hand, nothing is answered by itself but what a test asks."""
import base64
import json
import os
import socket
import ssl
import struct

PATH, SUBPROTOCOL = "/link", "drdotnet.link.v1"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Refused(Exception):
    """The upgrade was answered with another status than 101."""

    def __init__(self, status, head):
        super().__init__(head)
        self.status = status


class Closed(Exception):
    def __init__(self, code, reason=""):
        super().__init__("%s %s" % (code, reason))
        self.code, self.reason = code, reason


def tls(ca, name="localhost", port=0, timeout=10):
    context = ssl.create_default_context(cafile=ca)
    plain = socket.create_connection(("127.0.0.1", port), timeout)
    try:
        return context.wrap_socket(plain, server_hostname=name)
    except BaseException:
        plain.close()
        raise


class WebSocket:
    def __init__(self, port, ca, token=None, subprotocol=SUBPROTOCOL, path=PATH, timeout=10, name="localhost"):
        self.sock = tls(ca, name, port, timeout)
        lines = ["GET %s HTTP/1.1" % path, "Host: localhost", "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode()]
        if subprotocol:
            lines.append("Sec-WebSocket-Protocol: " + subprotocol)
        if token:
            lines.append("Authorization: Bearer " + token)
        self.sock.sendall("\r\n".join(lines + ["", ""]).encode())
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            more = self.sock.recv(4096)
            if not more:
                self.sock.close()
                raise Refused(0, "closed")
            self.data += more
        head, self.data = self.data.split(b"\r\n\r\n", 1)
        status = int(head.split()[1])
        if status != 101:
            self.sock.close()
            raise Refused(status, head.decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def frame(self, opcode, payload, final=True):
        head = bytes([(0x80 if final else 0) | opcode])
        n = len(payload)
        if n < 126:
            head += bytes([0x80 | n])
        elif n < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", n)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", n)
        mask = os.urandom(4)
        masked = bytes(b ^ mask[i % 4] for i, b in enumerate(payload)) if n < 4096 else _mask(payload, mask)
        self.sock.sendall(head + mask + masked)

    def send(self, message):
        self.frame(TEXT, (message if isinstance(message, str) else json.dumps(message)).encode())

    def _take(self, n):
        while len(self.data) < n:
            more = self.sock.recv(65536)
            if not more:
                raise Closed(None, "end of stream")
            self.data += more
        out, self.data = self.data[:n], self.data[n:]
        return out

    def receive_frame(self):
        first, second = self._take(2)
        n = second & 0x7F
        if n == 126:
            n, = struct.unpack(">H", self._take(2))
        elif n == 127:
            n, = struct.unpack(">Q", self._take(8))
        return first & 15, self._take(n)

    def receive(self):
        """The next message, decoded; Closed when the server ends the link."""
        while True:
            opcode, payload = self.receive_frame()
            if opcode == TEXT:
                return json.loads(payload)
            if opcode == PING:
                self.frame(PONG, payload)
            if opcode == CLOSE:
                code = struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else None
                raise Closed(code, payload[2:].decode(errors="replace"))

    def closed(self):
        """Reads until the server closes; gives (code, reason)."""
        try:
            while True:
                self.receive()
        except Closed as e:
            return e.code, e.reason
        except (ConnectionError, ssl.SSLError):
            return None, "reset"


def _mask(payload, mask):
    n = len(payload)
    whole = mask * (n // 4 + 1)
    return (int.from_bytes(payload, "big") ^ int.from_bytes(whole[:n], "big")).to_bytes(n, "big")


def hello(epoch=0, jobs=(), boot="0123456789abcdef", **more):
    return {"type": "hello", "epoch": epoch, "agentVersion": "1.2.3", "bootID": boot, "mode": "hostPID", "perfEvents": True, "jobs": list(jobs), **more}
