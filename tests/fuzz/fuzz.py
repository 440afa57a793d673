#!/usr/bin/env python3
"""Runs the fuzzers for long, and says how much of the parsers they reach.

usage: fuzz.py run [--seconds N] [--jobs N] [NAME...]   each fuzzer for so long, at low priority; it goes on with the inputs of the last run
       fuzz.py coverage                                replays seeds and found inputs; writes the table of docs/fuzzing.md

The inputs that a fuzzer has found stay in build/fuzz-corpus/<name>/, what was run in build/fuzz-corpus/<name>.json. An input that breaks a
fuzzer is written to build/fuzz-finds/; mend the parser and put the input (minimized: -minimize_crash=1) into tests/fuzz/corpus/<name>/,
where the suite replays it for ever.
"""
import argparse
import concurrent.futures
import datetime
import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
SEEDS = os.path.join(ROOT, "tests/fuzz/corpus")
CORPUS = os.path.join(ROOT, "build/fuzz-corpus")
FINDS = os.path.join(ROOT, "build/fuzz-finds")
PROGRAMS = os.path.join(ROOT, "build/fuzz/fuzz")
COVERING = os.path.join(ROOT, "build/cover/fuzz")
DOCUMENT = os.path.join(ROOT, "docs/fuzzing.md")
BEGIN, END = "<!-- figures: written by make fuzz-coverage -->", "<!-- end of figures -->"


def fuzzers():
    return sorted(os.path.basename(p)[len("fuzz_"):-2] for p in glob.glob(os.path.join(ROOT, "tests/fuzz/fuzz_*.c")))


def parsers():
    """{file: [fuzzer]} as tests/fuzz/parsers.txt lists them; no fuzzer where it says why."""
    table = {}
    with open(os.path.join(ROOT, "tests/fuzz/parsers.txt"), encoding="utf-8") as f:
        for line in f:
            words = line.partition("#")[0].split()
            if words:
                table[words[0]] = [w for w in words[1:] if w != "-"]
    return table


# running ----------------------------------------------------------------------------------------------------------------
def history(name):
    try:
        with open(os.path.join(CORPUS, name + ".json"), encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return {"executions": 0, "seconds": 0}


def note(name, text, seconds):
    found = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    past = history(name)
    past["executions"] += int(found.group(1)) if found else 0
    past["seconds"] += seconds
    past["date"] = datetime.date.today().isoformat()
    with open(os.path.join(CORPUS, name + ".json"), "w", encoding="utf-8") as f:
        json.dump(past, f)


def run_one(name, seconds):
    """None, or what the fuzzer said when it broke."""
    corpus, seeds = os.path.join(CORPUS, name), os.path.join(SEEDS, name)
    os.makedirs(corpus, exist_ok=True)
    words = ["nice", "-n", "19", os.path.join(PROGRAMS, "fuzz_" + name), "-max_total_time=%d" % seconds, "-timeout=10", "-rss_limit_mb=1024",
             "-print_final_stats=1", "-artifact_prefix=%s/%s-" % (FINDS, name)]
    words_of = os.path.join(ROOT, "tests/fuzz/words", name + ".dict")
    if os.path.exists(words_of):
        words.append("-dict=" + words_of)
    done = subprocess.run([*words, corpus, *([seeds] if os.path.isdir(seeds) else [])], cwd=FINDS, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    note(name, done.stdout, seconds)
    return None if done.returncode == 0 else done.stdout[-6000:]


def run(options):
    os.makedirs(FINDS, exist_ok=True)
    names, bad = options.names or fuzzers(), []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, broke in zip(names, pool.map(lambda n: run_one(n, options.seconds), names)):
            past = history(name)
            print("%-6s %-16s %d s and %d inputs in all" % ("BROKE" if broke else "fine", name, past["seconds"], past["executions"]), flush=True)
            if broke:
                bad.append(name)
                print(broke, flush=True)
    print("%d of %d fuzzers broke%s" % (len(bad), len(names), ": " + ", ".join(bad) + "; see build/fuzz-finds/" if bad else ""))
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


def figures(table):
    lines = ["| Parser | Fuzzers | Functions entered | Their lines | Their regions |", "| --- | --- | --- | --- | --- |"]
    lines += [row(source, names, table.get(source, [])) for source, names in sorted(p for p in parsers().items() if p[1])]
    lines += ["", "| Fuzzer | Inputs run | Minutes | Last on |", "| --- | --- | --- | --- |"]
    for name in fuzzers():
        past = history(name)
        lines.append("| %s | %s | %.1f | %s |" % (name, "{:,}".format(past["executions"]), past["seconds"] / 60, past.get("date", "never")))
    return "\n".join(lines)


def coverage(_):
    folder = os.path.join(ROOT, "build/cover")
    table = covered(fuzzers(), sorted(s for s, names in parsers().items() if names), folder)
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
    runs.add_argument("--seconds", type=int, default=3600)
    runs.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1)))
    runs.add_argument("names", nargs="*")
    runs.set_defaults(function=run)
    covers = verbs.add_parser("coverage")
    covers.set_defaults(function=coverage)
    options = options.parse_args()
    return options.function(options)


if __name__ == "__main__":
    sys.exit(main())
