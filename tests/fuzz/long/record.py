"""How long each fuzzer has run, and on which state of the sources: tests/fuzz/long/runs.json, which `make fuzz` writes and which is committed.

Time counts for the state it was run on alone: a fuzzer whose own source or one of whose parsers has changed since begins anew, and what was
run before is kept apart ("earlier"). Seconds are CPU seconds of the fuzzer, so that a machine with other work counts for less.

usage: record.py    fails, and says why, where a fuzzer has not run for an hour on the sources as they are, or a parser has no fuzzer
"""
import datetime
import fcntl
import glob
import hashlib
import json
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
RUNS = os.path.join(ROOT, "tests/fuzz/long/runs.json")
RELEASE_SECONDS = 3600
ROOMS = ("common", "agent", "controller", "profiler")
PARSES = re.compile(r"^[a-z][\w \*]*?\b(\w+_(?:parse|decode|from_json|from_hex|inspect|read|load|unescape)(?:_\w+)?)\(", re.M)
NOTHING = {"state": "", "seconds": 0, "executions": 0, "earlier_seconds": 0, "earlier_executions": 0, "last": "never"}


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def fuzzers():
    return sorted(os.path.basename(p)[len("fuzz_"):-2] for p in glob.glob(os.path.join(ROOT, "tests/fuzz/fuzz_*.c")))


def parsers(text=None):
    """{file: [fuzzer]} as tests/fuzz/parsers.txt lists them; none where it says why."""
    table = {}
    for line in (text_of("tests/fuzz/parsers.txt") if text is None else text).split("\n"):
        words = line.partition("#")[0].split()
        if words:
            table[words[0]] = [w for w in words[1:] if w != "-"]
    return table


def state(name):
    """A digest of a fuzzer's source and of its parsers', headers with them."""
    sum_of = hashlib.sha256()
    sources = [source for source, names in parsers().items() if name in names]
    for source in sorted(["tests/fuzz/fuzz_%s.c" % name, *sources, *(s[:-2] + ".h" for s in sources)]):
        if os.path.exists(os.path.join(ROOT, source)):
            sum_of.update((source + "\n" + text_of(source)).encode())
    return sum_of.hexdigest()[:16]


# the record -------------------------------------------------------------------------------------------------------------
def runs():
    try:
        with open(RUNS, encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        return {}


def on_state(past, now):
    """A fuzzer's record as it counts for the state `now`: what it ran on another one is earlier."""
    past = {**NOTHING, **(past or {})}
    if past["state"] == now:
        return past
    return {"state": now, "seconds": 0, "executions": 0, "earlier_seconds": past["earlier_seconds"] + past["seconds"],
            "earlier_executions": past["earlier_executions"] + past["executions"], "last": past["last"]}


def added(past, now, seconds, executions, day):
    past = on_state(past, now)
    return {**past, "seconds": round(past["seconds"] + seconds, 1), "executions": past["executions"] + executions, "last": day}


def note(name, now, seconds, executions):
    """Adds a run. Several programs may: the file is read and written under a lock."""
    with open(os.path.join(ROOT, "build/fuzz-runs.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        table = runs()
        table[name] = added(table.get(name), now, seconds, executions, datetime.date.today().isoformat())
        lines = ",\n".join("%s: %s" % (json.dumps(n), json.dumps(table[n])) for n in sorted(table))
        with open(RUNS + ".new", "w", encoding="utf-8") as f:
            f.write("{\n" + lines + "\n}\n")
        os.rename(RUNS + ".new", RUNS)


# the release's check ----------------------------------------------------------------------------------------------------
def definitions():
    """{function: file} of all that is not static."""
    found = {}
    for path in glob.glob(os.path.join(ROOT, "*/**/*.c"), recursive=True):
        name = os.path.relpath(path, ROOT)
        if name.split("/")[0] in ROOMS:
            for function in re.findall(r"^(?!static)[a-z][\w \*]*?\b(\w+)\([^;{]*\)\n\{", text_of(path), re.M):
                found[function] = name
    return found


def unlisted():
    """Public functions that parse by their names, in files that tests/fuzz/parsers.txt does not speak of."""
    where, listed, missing = definitions(), parsers(), []
    for header in glob.glob(os.path.join(ROOT, "*/**/*.h"), recursive=True):
        if os.path.relpath(header, ROOT).split("/")[0] in ROOMS:
            missing += ["%s: %s() is in no line of tests/fuzz/parsers.txt" % (where[f], f) for f in PARSES.findall(text_of(header))
                        if f in where and where[f] not in listed]
    return missing


def lacking(table, states, needed):
    """What keeps a release back: the fuzzers of `states` ({name: state}) that have run for less than `needed` seconds on it."""
    short = []
    for name, now in sorted(states.items()):
        past = on_state(table.get(name), now)
        if past["seconds"] < needed:
            earlier = ", %d on earlier ones" % (past["earlier_seconds"] // 60) if past["earlier_seconds"] >= 60 else ""
            short.append("fuzz_%s has run for %d of %d minutes on these sources%s" % (name, past["seconds"] // 60, needed // 60, earlier))
    return short


def main():
    wrong = unlisted() + lacking(runs(), {name: state(name) for name in fuzzers()}, RELEASE_SECONDS)
    if wrong:
        print("\n".join(wrong), "%d reasons not to release: `make fuzz` goes on where it stopped; commit tests/fuzz/long/runs.json" % len(wrong), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
