"""A sample of the corpus (`make corpus` runs all of it): what the profilers say of an application whose truth is known. And what holds the corpus
together: each application has a truth, each truth an application, and the judge tells right from wrong."""
import dataclasses
import glob
import os
import re
import unittest

from tests.corpus import judge, machine, session, truth
from tests.lib import proc

FRAMEWORK = "net10.0"
SAMPLE = ("sort-ranking", "linq-reports", "collect-batches", "held-watches", "dup-texts", "heap-high")


def sources():
    for path in glob.glob(os.path.join(proc.ROOT, "tests/apps/CorpusApp/*/*.cs")):
        with open(path, encoding="utf-8") as f:
            yield os.path.basename(os.path.dirname(path)), f.read()


class Truth(unittest.TestCase):
    def test_each_application_has_a_truth(self):
        for folder, cases in (("Sick", truth.SICK), ("Healthy", truth.HEALTHY)):
            there = {name for where, text in sources() if where == folder for name in re.findall(r'\[Load\("([\w-]+)"\)\]', text)}
            own = {case.load for case in cases if not (case.app and case.app not in there)}
            self.assertEqual(there, own)
            self.assertGreaterEqual(len(there), 40)

    def test_names_are_unique(self):
        names = [case.name for case in truth.CASES]
        self.assertEqual(len(names), len(set(names)))

    def test_expressions_compile(self):
        for case in truth.CASES:
            for pattern in (*case.first, *case.text, *case.never, case.finding):
                re.compile(pattern)


class Judge(unittest.TestCase):
    SICK = truth.sick("x", truth.LEAK, "", r"Entries", r"grow", r"no leak", finding="StaticField")
    WELL = truth.well("y", truth.LEAK, "", r"no leak")

    def outcome(self, case, headline, text="", findings=None):
        return judge.judge(case, {"headline": headline, "diagnosis": headline + "\n" + text, "findings": findings})[0]

    def test_sick(self):
        self.assertEqual(self.outcome(self.SICK, "A.Entries grows by 1 MB/min"), judge.RIGHT)
        self.assertEqual(self.outcome(self.SICK, "A.Entries", "it grows"), judge.RIGHT)
        self.assertEqual(self.outcome(self.SICK, "A.Entries"), judge.WRONG)
        self.assertEqual(self.outcome(self.SICK, "No leak: Entries grows"), judge.WRONG)

    def test_findings_count_where_there_are_some(self):
        found = {"id": "StaticField", "state": "Found", "message": "m"}
        self.assertEqual(self.outcome(self.SICK, "A.Entries grows", findings=[found]), judge.RIGHT)
        self.assertEqual(self.outcome(self.SICK, "A.Entries grows", findings=[]), judge.WRONG)

    def test_healthy(self):
        self.assertEqual(self.outcome(self.WELL, "No leak: nothing grew"), judge.RIGHT)
        self.assertEqual(self.outcome(self.WELL, "Nothing to compare"), judge.WRONG)
        self.assertEqual(self.outcome(self.WELL, "A.Entries grows by 1 MB/min"), judge.FALSE_ALARM)
        alarm = {"id": "Leak", "state": "Found", "message": "A.Entries grows"}
        self.assertEqual(self.outcome(self.WELL, "No leak", findings=[alarm]), judge.FALSE_ALARM)
        self.assertEqual(self.outcome(self.WELL, "No leak", findings=[{**alarm, "state": "Possible"}]), judge.RIGHT)

    FULL_HERE = {"seconds": 6, "ran": 1, "waited": 20, "others": 10, "cpus": 2}
    CALM_HERE = {"seconds": 6, "ran": 1, "waited": 0.1, "others": 1, "cpus": 2}

    def of_node(self, case, seen, *findings, headline="The node is full: its threads waited for a CPU 95% of the time"):
        found = [{"id": "NodeIsFull", "state": "Found", "message": headline}, *findings]
        text = "\n".join(f["message"] for f in found)
        return judge.judge(case, {"headline": headline, "diagnosis": text, "findings": found, "machine": seen})[0]

    def test_of_a_full_node_the_next_finding_is_judged(self):
        grows = {"id": "StaticField", "state": "Found", "message": "A.Entries grows"}
        for seen, outcome in ((self.FULL_HERE, judge.RIGHT), (self.CALM_HERE, judge.WRONG), (None, judge.WRONG)):
            self.assertEqual(self.of_node(self.SICK, seen, grows), outcome)
        self.assertEqual(self.of_node(self.SICK, self.FULL_HERE), judge.WRONG)
        paused = "40% of the time paused, longest 80 ms: the node has no free CPU"
        self.assertEqual(self.of_node(self.SICK, self.FULL_HERE, grows, headline=paused), judge.RIGHT)

    def test_a_full_node_is_an_alarm_where_it_is_not(self):
        self.assertEqual(self.of_node(self.WELL, self.FULL_HERE), judge.RIGHT)
        self.assertEqual(self.of_node(self.WELL, self.CALM_HERE), judge.FALSE_ALARM)
        grows = {"id": "Leak", "state": "Found", "message": "A.Entries grows"}
        self.assertEqual(self.of_node(self.WELL, self.FULL_HERE, grows), judge.FALSE_ALARM)

    def test_who_lacks_cpu(self):
        self.assertTrue(machine.lacked_cpu(self.FULL_HERE))
        self.assertFalse(machine.lacked_cpu(self.CALM_HERE))
        self.assertFalse(machine.lacked_cpu({**self.FULL_HERE, "others": 2}))  # it waits for itself
        self.assertIsNone(machine.lacked_cpu(None))

    def test_what_failed_is_neither(self):
        self.assertEqual(judge.judge(self.SICK, {"error": "gone"})[0], judge.FAILED)

    def test_summary(self):
        results = [{"outcome": o} for o in (judge.RIGHT, judge.RIGHT, judge.WRONG, judge.FALSE_ALARM)]
        self.assertEqual(judge.summary(results), {"cases": 4, "right": 2, "percent": 50.0, "falseAlarms": 1, "wrong": 1, "failed": 0})


class Sample(unittest.TestCase):
    time_limit = 120

    def check(self, name):
        case = dataclasses.replace(next(case for case in truth.CASES if case.name == name), warm=session.SHORT_WARM)
        said = session.run(case, FRAMEWORK)
        outcome, why = judge.judge(case, said)
        self.assertEqual(outcome, judge.RIGHT, "%s\n%s\n%s" % (case.truth, why, said.get("diagnosis")))


def _sample(name):
    return lambda self: self.check(name)


for _name in SAMPLE:
    setattr(Sample, "test_" + _name.replace("-", "_"), _sample(_name))

if __name__ == "__main__":
    unittest.main()
