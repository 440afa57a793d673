"""Fake diagnostics ports in a pod: each is found, named with a reason in bounded time, and harmless to who looks at the list."""
import json
import re
import tempfile
import time
import unittest

from tests.resilience.hostile import trap
from tests.lib import local, matrix, pod, proc

PART = "hostile pod"
# What the list says of each. None: the process can be profiled, whatever its words are.
VERDICTS = {
    "honest": None,
    "evil-words": None,
    "descriptors": None,
    "garbage": "did not answer in its protocol",
    "endless": "announced a message of 0 bytes",
    "endless-big": "answers for process 0",
    "drip": "does not answer",
    "slow-drip": "does not answer",
    "silent": "does not answer",
    "never-accepts": "cannot connect|does not answer|accepts",
    "closes": "closed the connection",
    "short": "closed the connection",
    "tiny-length": "announced a message of 3 bytes",
    "huge-string": "ends early",
    "other-process": "answers for process 2",
}


@unittest.skipIf(pod.unavailable(), pod.unavailable())
class Ports(unittest.TestCase):
    def test_each_is_named_in_time(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        made = trap.Trap(folder.name, "ports")
        self.addCleanup(made.stop)
        kinds = made._lines()[0]["kinds"]
        self.assertEqual(set(VERDICTS), set(kinds))
        # On a busy machine even an honest port may be too slow once.
        try:
            proc.wait_until(lambda: not self.wrong(made.uid, kinds), 90, "the verdicts hold")
        except AssertionError:
            self.fail("wrong verdicts: %s" % self.last_wrong)
        for kind, verdict in VERDICTS.items():
            matrix.row(self, PART, "find the process", "a diagnostics port of a pod: " + kind.replace("-", " "),
                       "taken for what it says" if verdict is None else "AttachFailed; the others are listed")
        self.assert_harmless(self.text)
        self.assert_harmless(local.drdotnet("ps")[1])

    def wrong(self, uid, kinds):
        """The processes of which the list does not say what it should."""
        began = time.monotonic()
        code, self.text, errors = local.drdotnet("ps", "--json")
        self.assertEqual(code, 0, errors)
        self.assertLess(time.monotonic() - began, 30)
        found = {p["innerPid"]: p for p in json.loads(self.text)["processes"] if p["podUID"] == uid}
        wrong = []
        for kind, verdict in VERDICTS.items():
            process = found.get(kinds[kind], {"profilable": False, "reason": None, "message": "not listed"})
            right = process["profilable"] if verdict is None else \
                process["reason"] == "AttachFailed" and re.search(verdict, process["message"])
            if not right:
                wrong.append((kind, process))
        self.last_wrong = wrong
        return wrong

    def assert_harmless(self, text):
        """Nothing that moves a terminal's cursor or turns its text round."""
        odd = re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]", text)
        self.assertEqual(odd, [])


if __name__ == "__main__":
    unittest.main()
