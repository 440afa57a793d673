#!/usr/bin/env python3
"""Runs the fuzzers for long, and says how much of the parsers they reach.

usage: fuzz.py run [--seconds N] [--round N] [--jobs N] [NAME...]
                          until each fuzzer has run for N CPU seconds on the sources as they are, at low priority: those that have run least
                          come first, a round each, and again; what other runs and machines have done counts (tests/fuzz/long/runs.json)
       fuzz.py coverage   replays seeds and found inputs; writes the tables of docs/fuzzing.md

The inputs that a fuzzer has found stay in build/fuzz-corpus/<name>/. An input that breaks a fuzzer is written to build/fuzz-finds/, and that
fuzzer rests until the next run; mend the parser and put the input (minimized: -minimize_crash=1) into tests/fuzz/corpus/<name>/, where the
suite replays it for ever.
"""
import argparse
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.realpath(os.path.join(os.path.dirname(__file__), "../../..")))
from tests.fuzz.long import record  # noqa: E402

ROOT = record.ROOT
SEEDS = os.path.join(ROOT, "tests/fuzz/corpus")
CORPUS = os.path.join(ROOT, "build/fuzz-corpus")
FINDS = os.path.join(ROOT, "build/fuzz-finds")
PROGRAMS = os.path.join(ROOT, "build/fuzz/fuzz")
COVERING = os.path.join(ROOT, "build/cover/fuzz")
DOCUMENT = os.path.join(ROOT, "docs/fuzzing.md")
BEGIN, END = "<!-- figures: written by make fuzz-coverage -->", "<!-- end of figures -->"


# running ----------------------------------------------------------------------------------------------------------------
def run_one(name, seconds):
    """For so long by the clock: (CPU seconds, inputs, what the fuzzer said when it broke or None)."""
    corpus, seeds = os.path.join(CORPUS, name), os.path.join(SEEDS, name)
    os.makedirs(corpus, exist_ok=True)
    # by the clock, on a machine that others use: an input of a second may take a minute there
    words = ["nice", "-n", "19", os.path.join(PROGRAMS, "fuzz_" + name), "-max_total_time=%d" % seconds, "-timeout=60", "-rss_limit_mb=1024",
             "-print_final_stats=1", "-artifact_prefix=%s/%s-" % (FINDS, name)]
    words_of = os.path.join(ROOT, "tests/fuzz/words", name + ".dict")
    if os.path.exists(words_of):
        words.append("-dict=" + words_of)
    with subprocess.Popen([*words, corpus, *([seeds] if os.path.isdir(seeds) else [])], cwd=FINDS, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as fuzzer:
        said = fuzzer.stdout.read()
        _, status, used = os.wait4(fuzzer.pid, 0)
        fuzzer.returncode = os.waitstatus_to_exitcode(status)
    counted = re.search(r"stat::number_of_executed_units:\s*(\d+)", said)
    return used.ru_utime + used.ru_stime, int(counted.group(1)) if counted else 0, said[-6000:] if fuzzer.returncode else None


class Rounds:
    """Hands out turns: the fuzzer that has run least on its state comes next, until each has run for `needed` seconds."""

    def __init__(self, states, needed, round_seconds):
        self.states, self.needed, self.round_seconds, self.lock = states, needed, round_seconds, threading.Lock()
        table = record.runs()
        self.done = {name: record.on_state(table.get(name), now)["seconds"] for name, now in states.items()}
        self.busy, self.broke = set(), {}

    def take(self):
        """(fuzzer, seconds), or None when nothing is left that nobody does."""
        with self.lock:
            free = [n for n in self.done if n not in self.busy and n not in self.broke and self.done[n] < self.needed]
            if not free:
                return None
            name = min(free, key=lambda n: (self.done[n], n))
            self.busy.add(name)
            return name, max(1, min(self.round_seconds, round(self.needed - self.done[name] + 0.5)))

    def give_back(self, name, seconds, broke):
        with self.lock:
            self.busy.remove(name)
            self.done[name] += seconds
            if broke:
                self.broke[name] = broke

    def work(self):
        while (turn := self.take()):
            name, seconds = turn
            cpu, executions, broke = run_one(name, seconds)
            record.note(name, self.states[name], cpu, executions)
            self.give_back(name, cpu, broke)
            print("%-6s %-16s %d of %d s%s" % ("BROKE" if broke else "fine", name, self.done[name], self.needed, "\n" + broke if broke else ""), flush=True)


def run(options):
    os.makedirs(FINDS, exist_ok=True)
    rounds = Rounds({name: record.state(name) for name in options.names or record.fuzzers()}, options.seconds, options.round)
    workers = [threading.Thread(target=rounds.work) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    bad = sorted(rounds.broke)
    print("%d of %d fuzzers broke%s" % (len(bad), len(rounds.done), ": " + ", ".join(bad) + "; see build/fuzz-finds/" if bad else ""))
    return 1 if bad else 0


# coverage ---------------------------------------------------------------------------------------------------------------
def tool(name):
    for word in (name, name + "-14"):
        if subprocess.run(["sh", "-c", "command -v " + word], stdout=subprocess.DEVNULL, check=False).returncode == 0:
            return word
    sys.exit("%s is not installed" % name)


def replay(name, folder):
    """The merged profile of a fuzzer's inputs."""
    raw, merged = os.path.join(folder, name + ".profraw"), os.path.join(folder, name + ".profdata")
    places = [p for p in (os.path.join(SEEDS, name), os.path.join(CORPUS, name)) if os.path.isdir(p)]
    subprocess.run([os.path.join(COVERING, "fuzz_" + name), "-runs=0", *places], env=dict(os.environ, LLVM_PROFILE_FILE=raw), cwd=folder,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", raw, "-o", merged], check=True)
    return merged


def covered(names, sources, folder):
    """{file: [(function, regions, missed regions, lines, missed lines)]} by all these fuzzers."""
    merged = [replay(n, folder) for n in names]
    total = os.path.join(folder, "total.profdata")
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", *merged, "-o", total], check=True)
    programs = [os.path.join(COVERING, "fuzz_" + n) for n in names]
    words = [tool("llvm-cov"), "report", "-show-functions", "-instr-profile=" + total, programs[0]]
    for p in programs[1:]:
        words += ["-object", p]
    text = subprocess.run([*words, *[os.path.join(ROOT, s) for s in sources]], check=True, capture_output=True, text=True).stdout
    table, rows = {}, None
    for line in text.split("\n"):
        words = line.split()
        if line.startswith("File '"):
            rows = table.setdefault(os.path.relpath(line.split("'")[1], ROOT), [])
        elif rows is not None and len(words) >= 7 and words[1].isdigit() and words[0] != "TOTAL":
            rows.append((words[0].rpartition(":")[2], *(int(words[i]) for i in (1, 2, 4, 5))))
    return table


def share(part, whole):
    return "%d%%" % (100 * part // whole) if whole else "-"


def row(source, names, functions):
    """Of the functions that a fuzzer enters; how many it does not is said beside it."""
    entered = [f for f in functions if f[2] < f[1]]
    regions, missed, lines, missed_lines = (sum(f[i] for f in entered) for i in (1, 2, 3, 4))
    return "| `%s` | %s | %d of %d | %s | %s |" % (source, ", ".join(names), len(entered), len(functions), share(lines - missed_lines, lines),
                                                 share(regions - missed, regions))


def minutes(seconds):
    return "%.1f" % (seconds / 60)


def figures(table):
    lines = ["| Parser | Fuzzers | Functions entered | Their lines | Their regions |", "| --- | --- | --- | --- | --- |"]
    lines += [row(source, names, table.get(source, [])) for source, names in sorted(p for p in record.parsers().items() if p[1])]
    lines += ["", "| Fuzzer | Minutes on these sources | Inputs | Minutes on earlier ones | Last on |", "| --- | --- | --- | --- | --- |"]
    past = record.runs()
    for name in record.fuzzers():
        of = record.on_state(past.get(name), record.state(name))
        lines.append("| %s | %s | %s | %s | %s |" % (name, minutes(of["seconds"]), "{:,}".format(of["executions"]), minutes(of["earlier_seconds"]), of["last"]))
    return "\n".join(lines)


def coverage(_):
    folder = os.path.join(ROOT, "build/cover")
    table = covered(record.fuzzers(), sorted(s for s, names in record.parsers().items() if names), folder)
    with open(DOCUMENT, encoding="utf-8") as f:
        head, _, rest = f.read().partition(BEGIN)
    with open(DOCUMENT, "w", encoding="utf-8") as f:
        f.write(head + BEGIN + "\n" + figures(table) + "\n" + END + rest.partition(END)[2])
    print(figures(table))
    return 0


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = options.add_subparsers(required=True)
    runs = verbs.add_parser("run")
    runs.add_argument("--seconds", type=int, default=record.RELEASE_SECONDS)
    runs.add_argument("--round", type=int, default=600)
    runs.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1)))
    runs.add_argument("names", nargs="*")
    runs.set_defaults(function=run)
    covers = verbs.add_parser("coverage")
    covers.set_defaults(function=coverage)
    options = options.parse_args()
    return options.function(options)


if __name__ == "__main__":
    sys.exit(main())
