"""docs/channel-protocol.md against the headers and against the library: an agent written from both drives a real one."""
import errno
import os
import re
import socket
import struct
import time
import unittest
import uuid

from tests.lib import proc
from tests.system.profiler import tools

PAGE = os.path.join(proc.ROOT, "docs/channel-protocol.md")
SOURCES = ("common/proto/channel.h", "common/proto/channel_allocs.h", "common/proto/channel_exceptions.h", "common/proto/channel_requests.h",
           "common/proto/channel_stops.h",
           "common/proto/heap_frames.h", "common/proto/channel_code.h", "common/proto/channel.c",
           "profiler/base/channel_io.h", "profiler/stacks/sampler.h", "profiler/stacks/thread_timers.h", "agent/attach/function_cache.h",
           "agent/attach/channel_accept.c")
NOTIFICATION_CLASS = uuid.UUID("6d2f3c5e-8a41-4f0b-9c37-d2d07e70a5e2")
SECRET = bytes(range(1, 17))


def read(path):
    with open(os.path.join(proc.ROOT, path)) as f:
        return f.read()


class Page(unittest.TestCase):
    def test_its_numbers_are_those_of_the_headers(self):
        source = "\n".join(read(name) for name in SOURCES)
        rows = re.findall(r"^\| `(\w+)` \| (0x[0-9a-f]+|\d+) \|", read(PAGE), re.M)
        self.assertGreater(len(rows), 25)
        for name, value in rows:
            found = re.search(r"\b%s\s*(?:=\s*)?(0x[0-9a-f]+|\d+)u?\b" % name, source)
            self.assertTrue(found, name)
            self.assertEqual(int(found.group(1), 0), int(value, 0), name)

    def test_it_has_every_type(self):
        page, headers = read(PAGE), "".join(read(name) for name in SOURCES if name.startswith("common/proto/"))
        types = re.findall(r"^\t((?:CHANNEL|HEAP_FRAME)_\w+) = (0x0[12]\w\w)\b", headers, re.M)
        self.assertGreater(len(types), 40)
        for name, value in types:
            self.assertIn("| `%s` | %s |" % (name, value), page)

    def test_its_classes_are_those_of_the_code(self):
        page, source = read(PAGE), read("common/proto/channel.c")
        for name in ("channel_clsid", "channel_clsid_notification"):
            listed = re.search(r"\b%s\[16\] = \{([^}]*)\}" % name, source).group(1)
            self.assertIn("`%s`" % uuid.UUID(bytes_le=bytes(int(b, 16) for b in re.findall(r"0x\w\w", listed))), page)


class Reader:
    def __init__(self, data):
        self.data = data

    def take(self, layout):
        size = struct.calcsize("<" + layout)
        values, self.data = struct.unpack("<" + layout, self.data[:size]), self.data[size:]
        return values if len(values) > 1 else values[0]

    def text(self):
        n = self.take("H")
        if n == 0xffff:
            return None
        value, self.data = self.data[:n].decode(), self.data[n:]
        return value


class Agent:
    """The agent's end, by the page and the headers."""

    def __init__(self, app, name, folder=None):
        self.app, self.path = app, os.path.join(folder or app.folder, name)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.buffer, self.connection, self.features, self.lease_ms = b"", None, 0, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        if self.connection:
            self.connection.close()

    def client_data(self, version=1, path=None):
        path = (path or self.path).encode()
        return struct.pack("<HH16sH", version, 1, SECRET, len(path)) + path + struct.pack("<III", 0, self.features, self.lease_ms)

    def attach(self, version=1, path=None):
        """The HRESULT of AttachProfiler."""
        client = self.client_data(version, path)
        library = self.app.library + "\0"
        payload = (struct.pack("<I", 5000) + NOTIFICATION_CLASS.bytes_le + struct.pack("<I", len(library)) + library.encode("utf-16-le")
                   + struct.pack("<I", len(client)) + client)
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(proc.patience(10))
            s.connect(self.app.socket)
            s.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 3, 1, 0) + payload)
            reply = s.recv(4096)
        return struct.unpack("<I", reply[20:24])[0]

    def accept(self):
        self.listener.settimeout(proc.patience(10))
        self.connection = self.listener.accept()[0]
        self.connection.settimeout(proc.patience(10))

    def send(self, kind, payload=b""):
        self.connection.sendall(struct.pack("<IHH", len(payload), kind, 0) + payload)

    def more(self):
        got = self.connection.recv(65536)
        self.buffer += got
        return bool(got)

    def next(self):
        """(type, reader); (None, None) at the stream's end."""
        while len(self.buffer) < 8 or len(self.buffer) < 8 + struct.unpack("<I", self.buffer[:4])[0]:
            if not self.more():
                assert not self.buffer, "the stream ends in a frame"
                return None, None
        size, kind, zero = struct.unpack("<IHH", self.buffer[:8])
        assert size <= 65536 and zero == 0
        payload, self.buffer = self.buffer[8:8 + size], self.buffer[8 + size:]
        return kind, Reader(payload)

    def begin(self):
        assert self.attach() == 0
        self.accept()
        kind, hello = self.next()
        assert kind == 0x0201 and self.next()[0] == 0x0202
        return hello

    def until(self, wanted):
        """The frames up to the one of this type."""
        frames = [self.next()]
        while frames[-1][0] not in (wanted, None):
            frames.append(self.next())
        assert frames[-1][0] == wanted, frames
        return frames


def samples_of(frames):
    for kind, reader in frames:
        while kind == 0x0206 and reader.data:
            time, tid, flags, depth = reader.take("qIHH")
            yield time, tid, flags, [reader.take("Q") for _ in range(depth)]


class ByThePage(unittest.TestCase):
    def setUp(self):
        tools.build()
        self.app = tools.Names("net10.0", "loaded", "1")
        self.addCleanup(self.app.stop)

    def error(self, agent):
        kind, reader = agent.next()
        self.assertEqual(kind, 0x020a)
        request, code, text = *reader.take("HI"), reader.text()
        self.assertTrue(text)
        return request, code

    def resolve(self, agent, ips):
        agent.send(0x0101, struct.pack("<I%dQ" % len(ips), len(ips), *ips))
        *functions, (_, resolved) = agent.until(0x0204)
        described = {}
        for kind, r in functions:
            self.assertEqual(kind, 0x0203)
            number, flags, start = r.take("QHQ")
            described[number] = (flags, start, *(r.text() for _ in range(6)))
            token, image = r.take("IQ")
            path = r.text()
            self.assertEqual(token >> 24 if token else 6, 6)  # a MethodDef
            self.assertEqual(image != 0, bool(path))
            self.assertEqual(r.data, b"")
        self.assertEqual(resolved.take("I"), len(ips))
        answers = [resolved.take("QI") for _ in ips]
        self.assertEqual(resolved.data, b"")
        return described, answers

    def check_hello(self, hello):
        version, flags, secret, pid = hello.take("HH16sI")
        self.assertEqual((version, flags, secret, pid), (1, 1, SECRET, self.app.pid))
        self.assertEqual(hello.take("HHH")[:2], (10, 0))
        self.assertEqual(hello.text(), read("VERSION").strip())

    def sample(self, agent):
        agent.send(0x0102, struct.pack("<I", 0))
        self.assertEqual(self.error(agent), (0x0102, errno.EINVAL))
        agent.send(0x0102, struct.pack("<I", 500) + b"of a later version")
        hertz, threads, taken, dropped = agent.until(0x0205)[-1][1].take("IIQQ")
        self.assertEqual((hertz, dropped), (500, 0))
        self.assertGreater(threads, 3)
        samples = []
        while len(samples) < 100:
            samples += samples_of([agent.next()])
        agent.send(0x0103)
        frames = agent.until(0x0205)
        samples += samples_of(frames)
        hertz, threads, taken, dropped = frames[-1][1].take("IIQQ")
        self.assertEqual((hertz, threads, taken), (0, 0, len(samples)))
        threads = {int(t) for t in os.listdir("/proc/%d/task" % self.app.pid)}
        self.assertTrue(all(tid in threads and flags < 32 and 0 < len(ips) <= 127 for _, tid, flags, ips in samples))
        return samples

    def collections(self, agent):
        """Those since the last time, and the statistics."""
        agent.send(0x0104, b"of a later version")
        *frames, (_, stats) = agent.until(0x0207)
        found = []
        for kind, r in frames:
            self.assertEqual(kind, 0x020b)
            while r.data:
                found.append(r.take("QQII"))
        return found, stats.take("8Q")

    def check_collections(self, agent):
        begin = time.monotonic_ns()
        found = self.collections(agent)[0]
        while len(found) < 5:
            found += self.collections(agent)[0]
        ends = [end for _, end, _, _ in found]
        self.assertEqual(ends, sorted(ends))
        threads = {int(t) for t in os.listdir("/proc/%d/task" % self.app.pid)}
        for start, end, tid, generation in found:
            self.assertTrue(begin - 600e9 < start <= end <= time.monotonic_ns() and tid in threads and generation <= 2, (start, end, tid, generation))

    def test_a_session(self):
        with Agent(self.app, "a") as agent:
            self.check_hello(agent.begin())
            agent.send(0x0199)
            self.assertEqual(self.error(agent), (0x0199, errno.ENOSYS))
            ips = sorted({ip for s in self.sample(agent) for ip in s[3]})
            described, answers = self.resolve(agent, ips)
            self.assertTrue(all(number in described for number, status in answers if status == 0))
            self.assertTrue(all(number == 0 and status >> 31 for number, status in answers if status))
            self.assertIn("names.dll", {d[2] for d in described.values()})
            again = self.resolve(agent, (ips * (4096 // len(ips) + 1))[:4096])
            self.assertEqual(again[0], {})
            self.assertEqual(again[1][:len(ips)], answers)
            self.check_collections(agent)
            stats = self.collections(agent)[1]
            self.assertEqual(stats[3] + stats[4], len(ips) + 4096)
            self.assertEqual(stats[5], len(described))
            agent.send(0x0105)
            last = agent.until(0x0208)[-1][1].take("8Q")
            self.assertEqual(last[1:6], stats[1:6])
            self.assertEqual(agent.next()[0], 0x0209)
            self.assertEqual(agent.next()[0], None)
            self.app.wait_unmapped(5)

    def stops_of(self, frames):
        """[(number, times, reason, collections)], and the stacks' (number, kind, depth)."""
        stops, stacks = [], []
        for kind, r in frames:
            while kind == 0x0231 and r.data:
                number, *times = r.take("5Q")
                _, reason, flags, *_, count = r.take("IHHIIQIQH")
                self.assertEqual(flags & ~1, 0)
                stops.append((number, times, reason, [r.take("QQBBBB") for _ in range(min(count, 4))]))
            while kind == 0x0232 and r.data:
                number, _, _, what, depth = r.take("QQIHH")
                stacks.append((number, what, len([r.take("Q") for _ in range(depth)])))
        return stops, stacks

    def test_the_runtime_s_stops(self):
        with Agent(self.app, "s") as agent:
            agent.features = 2
            agent.begin()
            agent.send(0x0130)
            seen, dropped, begun, flags = agent.until(0x0230)[-1][1].take("QQQI")
            self.assertEqual((seen, dropped, flags), (0, 0, 1))
            frames, asked = [], False
            while not asked:  # the application calls GC.Collect
                frames.append(agent.next())
                stops = self.stops_of([(k, Reader(r.data)) for k, r in frames])[0]
                asked = len(stops) >= 5 and any(c[3] & 1 for s in stops for c in s[3])
            agent.send(0x0131)
            frames += agent.until(0x0230)
            seen, dropped, ended, _ = frames.pop()[1].take("QQQI")
            stops, stacks = self.stops_of(frames)
            self.assertEqual(([s[0] for s in stops], dropped), (list(range(1, len(stops) + 1)), 0))
            self.assertLessEqual(len(stops), seen)
            for number, (start, stopped, resume, end), reason, collections in stops:
                self.assertTrue(begun <= start <= stopped <= resume <= end <= ended and reason in (0, 1, 7, 8), (start, end, reason))
                self.assertTrue(all(stopped <= c[0] <= c[1] <= resume and c[2] <= 2 and c[3] & 4 for c in collections if c[1]),
                                (number, start, stopped, resume, end, reason, collections))
            self.assertTrue(any(what == 1 and depth > 1 for _, what, depth in stacks), stacks)
            agent.send(0x0105)
            agent.until(0x0209)

    def test_a_lease(self):
        """Each word renews it; after the last one the library leaves, and says why."""
        with Agent(self.app, "l") as agent:
            agent.lease_ms = 5000
            agent.begin()
            end = time.monotonic() + 1.5 * agent.lease_ms / 1000
            while time.monotonic() < end:
                agent.send(0x0106)
                time.sleep(0.1)
            self.assertTrue(self.app.mapped())
            kind, lapsed = agent.next()
            self.assertEqual((kind, lapsed.take("I")), (0x020d, 5000))
            self.assertEqual([agent.next()[0] for _ in range(3)], [0x0208, 0x0209, None])
            self.app.wait_unmapped(5)

    def test_what_is_not_the_protocol_ends_the_session(self):
        for name, bad in (("long", struct.pack("<IHH", 65537, 0x0101, 0)), ("reserved", struct.pack("<IHH", 0, 0x0104, 1)),
                          ("count", struct.pack("<IHHI", 12, 0x0101, 0, 2) + bytes(8)),
                          ("many", struct.pack("<IHHI", 4 + 4097 * 8, 0x0101, 0, 4097) + bytes(4097 * 8))):
            with self.subTest(name), Agent(self.app, name) as agent:
                agent.begin()
                agent.connection.sendall(bad)
                agent.until(0x0209)
                self.assertEqual(agent.next()[0], None)
                self.app.wait_unmapped(5)

    def test_an_attach_that_cannot_be_is_refused_and_leaves_nothing(self):
        with Agent(self.app, "b") as agent:
            self.assertEqual(agent.attach(version=2), 0x80070057)
            self.app.wait_unmapped(5)
            self.assertEqual(agent.attach(path=agent.path + "-not"), 0x80070000 | errno.ENOENT)
            self.app.wait_unmapped(5)
            agent.listener.close()
            self.assertEqual(agent.attach(), 0x80070000 | errno.ECONNREFUSED)
            self.app.wait_unmapped(5)
