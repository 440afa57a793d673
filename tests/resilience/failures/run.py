#!/usr/bin/env python3
"""Lets every allocation and system call of the daemons' unit tests fail once (tests/resilience/failures/main.c), several programs at a time.

usage: run.py each|every [--jobs N] [--part I/N] [--no-memory] [TEXT...]
  each       the first call of each call chain, in each way in which it can fail
  every      every call
  --part     only that part of the call chains (they are dealt by a hash)
  TEXT       only programs whose name contains one of these
"""
import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
PROGRAMS = os.path.join(ROOT, "build/asan/failures/unit")
ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=1:exitcode=77:handle_abort=0:strict_string_checks=1", "LSAN_OPTIONS": "exitcode=77",
               "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=77"}


def programs(texts=()):
    names = sorted(os.path.relpath(p, PROGRAMS) for p in glob.glob(os.path.join(PROGRAMS, "**/test_*"), recursive=True))
    sources = {os.path.relpath(p, os.path.join(ROOT, "tests/unit"))[:-2] for p in glob.glob(os.path.join(ROOT, "tests/unit/**/test_*.c"), recursive=True)}
    return [n for n in names if n in sources and (not texts or any(t in n for t in texts))]


def run(name, words, limit=None):
    """(counts, what was found) of one program."""
    done = subprocess.run(["nice", os.path.join(PROGRAMS, name), "run", *words], cwd=ROOT, env=dict(os.environ, **ENVIRONMENT), text=True,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit, check=False)
    said = re.search(r"^DONE (.*)$", done.stdout, re.M)
    if not said:
        return {"finds": 1}, "%s ended with %d\n%s" % (name, done.returncode, done.stdout[-4000:])
    counts = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", said.group(1))}
    return counts, done.stdout if "FIND " in done.stdout or "SKIP " in done.stdout else ""


def run_all(words, texts=(), jobs=2):
    """The same of all programs together; the texts are kept apart by program."""
    total, said = {}, {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        names = programs(texts)
        for name, (counts, text) in zip(names, pool.map(lambda n: run(n, words), names)):
            for key, value in counts.items():
                total[key] = total.get(key, 0) + value
            if text:
                said[name] = text
            yield name, total, text


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("which", choices=("each", "every"))
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--part")
    options.add_argument("--no-memory", action="store_true")
    options.add_argument("texts", nargs="*")
    options = options.parse_intermixed_args()
    words = [options.which, *(["--part", options.part] if options.part else []), *(["--no-memory"] if options.no_memory else [])]
    start, total = time.monotonic(), {}
    for name, total, text in run_all(words, options.texts, options.jobs):
        print("%-40s %6d failures so far, %d finds" % (name, total.get("runs", 0), total.get("finds", 0)), flush=True)
        print(text, end="", flush=True)
    print("%s in %d s" % (", ".join("%d %s" % (v, k) for k, v in total.items()), time.monotonic() - start))
    return 1 if total.get("finds") or not total.get("runs") else 0


if __name__ == "__main__":
    sys.exit(main())
