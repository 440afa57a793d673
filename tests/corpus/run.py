#!/usr/bin/env python3
"""The corpus: what the profilers say of sick applications and of healthy ones that look ill, held against the truth (tests/corpus/truth.py).
Results are kept in build/corpus/ by application, framework and product: a run that was stopped goes on where it was.

usage: run.py [--only TEXT]... [--framework net10.0]... [--jobs N] [--json FILE] [--again] [--program PATH] [--results DIR] [--show]
  --only TEXT    cases whose name, profiler or kind (sick, healthy) contains it
  --json FILE    all that was said, with the outcomes
  --again        forgets what it knows of the chosen ones
  --program PATH the drdotnet to try (build/release/drdotnet), beside its libdrdotnet.so
  --results DIR  where results and reports are kept (build/corpus)
  --show         the lines of all cases, not only of the wrong ones
exit status: 0 when at least 95% are right and there is no false alarm
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import sys
import threading

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, ROOT)
from tests.corpus import judge, session, truth  # noqa: E402
from tests.lib import dotnet, local  # noqa: E402

PLACE = os.path.join(ROOT, "build/corpus")
WANTED_PERCENT = 95
PATIENT = 4  # times as many at once of those that mostly wait
lock = threading.Lock()


def checksum(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()[:16]


def chosen(only):
    def matches(case):
        names = (case.name, case.profiler, "sick" if case.sick else "healthy")
        return not only or any(text.lower() in name.lower() for text in only for name in names)
    return [case for case in truth.CASES if matches(case)]


class Known:
    """What earlier runs saw, a file for each framework."""

    def __init__(self, folder, framework, product):
        self.path, self.product = os.path.join(folder, framework + ".json"), product
        self.sources = os.path.join(os.path.dirname(dotnet.path(framework, "CorpusApp")), ".sources")
        try:
            with open(self.path, encoding="utf-8") as f:
                self.said = json.load(f)
        except FileNotFoundError:
            self.said = {}

    def key(self, case):
        with open(self.sources, encoding="ascii") as f:
            return [self.product, f.read().strip(), case.load, sorted(case.env.items()), case.memory, case.cpus, case.seconds, case.warm]

    def get(self, case):
        entry = self.said.get(case.name)
        return entry["said"] if entry and entry["key"] == json.loads(json.dumps(self.key(case))) else None

    def put(self, case, said):
        with lock:
            self.said[case.name] = {"key": self.key(case), "said": said}
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(self.path + ".new", "w", encoding="utf-8") as f:
                json.dump(self.said, f, indent=1)
            os.replace(self.path + ".new", self.path)


def one(case, framework, known, options):
    said = None if options.again else known.get(case)
    if said is None or said.get("error"):
        said = session.run(case, framework, options.program, os.path.join(options.results, framework, case.name))
        known.put(case, said)
    outcome, why = judge.judge(case, said)
    result = {"name": case.name, "framework": framework, "profiler": case.profiler, "sick": case.sick, "truth": case.truth, "outcome": outcome, "why": why,
              **{key: value for key, value in said.items() if key != "measured"}}
    with lock:
        print("%-11s %-8s %-24s %-17s %s" % (outcome, framework, case.name, case.profiler, said.get("headline") or said.get("error") or ""), flush=True)
        if outcome != judge.RIGHT or options.show:
            print("%22s truth: %s\n%22s %s" % ("", case.truth, "", why), flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--only", action="append")
    parser.add_argument("--framework", action="append", choices=dotnet.FRAMEWORKS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--program", default=local.DRDOTNET)
    parser.add_argument("--results", default=PLACE)
    options = parser.parse_args()
    product, results = checksum(options.program), []
    cases = chosen(options.only)
    for framework in options.framework or dotnet.FRAMEWORKS:
        known = Known(options.results, framework, product)
        here = []
        on = [c for c in cases if c.is_on(framework)]
        for patient in (False, True):
            with concurrent.futures.ThreadPoolExecutor(options.jobs * (PATIENT if patient else 1)) as pool:
                here += pool.map(lambda case: one(case, framework, known, options), [c for c in on if (c.profiler == truth.LEAK) == patient])
        print("%s: %s" % (framework, json.dumps(judge.summary(here))), flush=True)
        results += here
    total = judge.summary(results)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump({"summary": total, "product": product, "results": results}, f, indent=1)
    print("%(cases)d cases, %(right)d right (%(percent)s%%), %(wrong)d wrong, %(falseAlarms)d false alarms, %(failed)d failed" % total)
    return 0 if total["percent"] >= WANTED_PERCENT and not total["falseAlarms"] else 1


if __name__ == "__main__":
    sys.exit(main())
