"""Readers of the report files, written after the formats' own specifications and not after our writers."""
import gzip
import json
import os

MEDIA = ("summary.md", "report.html", "report.json", "profile.pb.gz", "stacks.folded", "profile.speedscope.json")


class Samples:
    """Stacks from the root to the leaf with their weights."""

    def __init__(self, stacks):
        self.stacks = stacks
        self.total = sum(weight for _, weight in stacks)

    def self_share(self, text):
        """The share of the weight whose leaf contains `text`."""
        return sum(w for s, w in self.stacks if s and text in s[-1]) / (self.total or 1)

    def share(self, text):
        """The share of the weight with a frame that contains `text` anywhere."""
        return sum(w for s, w in self.stacks if any(text in f for f in s)) / (self.total or 1)

    def leaves(self):
        found = {}
        for stack, weight in self.stacks:
            found[stack[-1]] = found.get(stack[-1], 0) + weight
        return dict(sorted(found.items(), key=lambda x: -x[1]))


def folded(folder):
    """Brendan Gregg's folded stacks: `root;...;leaf COUNT`."""
    stacks = []
    with open(os.path.join(folder, "stacks.folded"), encoding="utf-8") as f:
        for line in f:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            stacks.append((stack.split(";"), int(count)))
    return Samples(stacks)


def speedscope(folder):
    """https://www.speedscope.app/file-format-schema.json, `sampled` profiles only."""
    with open(os.path.join(folder, "profile.speedscope.json"), encoding="utf-8") as f:
        file = json.load(f)
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json", file.get("$schema")
    names = [frame["name"] for frame in file["shared"]["frames"]]
    stacks = []
    for profile in file["profiles"]:
        assert profile["type"] == "sampled" and len(profile["samples"]) == len(profile["weights"])
        assert abs(profile["endValue"] - profile["startValue"] - sum(profile["weights"])) <= 1e-6 * max(1, profile["endValue"])
        stacks += [([names[i] for i in sample], weight) for sample, weight in zip(profile["samples"], profile["weights"])]
    return Samples(stacks)


def fields(data):
    """The fields of one protobuf message: [(number, value)]; value is an int or bytes."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        key = varint()
        number, kind = key >> 3, key & 7
        if kind == 0:
            found.append((number, varint()))
        elif kind == 2:
            size = varint()
            assert at + size <= len(data), "a field is longer than its message"
            found.append((number, data[at:at + size]))
            at += size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            found.append((number, int.from_bytes(data[at:at + size], "little")))
            at += size
        else:
            raise AssertionError("wire type %d" % kind)
    return found


def numbers(message, number):
    """A repeated integer, packed or not."""
    found = []
    for n, value in message:
        if n == number and isinstance(value, int):
            found.append(value)
        elif n == number:
            found += _packed(value)
    return found


def _packed(data):
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            found.append(value)
            value = shift = 0
    return found


def one(message, number, otherwise=0):
    for n, value in message:
        if n == number:
            return value
    return otherwise


class Pprof(Samples):
    """profile.proto of github.com/google/pprof. Weights are those of the first sample type. `places`: the same stacks, of (function, file, line)."""

    def __init__(self, folder):
        with gzip.open(os.path.join(folder, "profile.pb.gz")) as f:
            profile = fields(f.read())
        strings = [value.decode() for number, value in profile if number == 6]
        assert strings[0] == "", "the string table begins with the empty string"
        self.types = [tuple(strings[one(fields(v), n)] for n in (1, 2)) for number, v in profile if number == 1]
        functions = {one(f, 1): (strings[one(f, 2)], strings[one(f, 4)]) for f in (fields(v) for n, v in profile if n == 5)}
        locations = {}
        for location in (fields(v) for n, v in profile if n == 4):
            lines = [fields(v) for n, v in location if n == 4]
            locations[one(location, 1)] = [(*functions[one(line, 1)], one(line, 2)) for line in lines]
        stacks, self.places = [], []
        for sample in (fields(v) for n, v in profile if n == 2):
            values = numbers(sample, 2)
            assert len(values) == len(self.types), "one value for each sample type"
            frames = [f for location in numbers(sample, 1) for f in locations[location]]
            self.places.append((frames[::-1], values[0]))
            stacks.append(([name for name, _, _ in frames[::-1]], values[0]))
        self.duration_ns = one(profile, 10)
        self.period = one(profile, 12)
        super().__init__(stacks)
