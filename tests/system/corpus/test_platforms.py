"""What the emulated machine of arm64 is given to run, and what is made of its console (tests/platforms/arm64; `make platforms-arm64` runs it)."""
import base64
import contextlib
import io
import json
import tarfile
import unittest

from tests.corpus import truth
from tests.platforms.arm64 import judge

READY = '{"ready":true,"runtime":"10.0.12"}\n'
RIGHT = {"headline": "Deadlock: 5 threads wait for each other, in Shop.Robot.Assemble", "diagnosis": "... Assemble ..."}


def line(name, app=READY, status="0", said=None, **files):
    """As the machine prints it."""
    everything = {"app.log": app, "status": status, "said.json": json.dumps(said or {}), "said.err": "", "report/report.json": '{"findings": []}', **files}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, text in everything.items():
            entry = tarfile.TarInfo("./" + path)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return "RESULT %s %s\n" % (name, base64.b64encode(packed.getvalue()).decode())


def verdict(console):
    case = next(c for c in judge.CASES if c.profiler == truth.LOCKS)
    with contextlib.redirect_stdout(io.StringIO()):
        return judge.verdict("KERNEL Linux 6.1.0-arm64\n" + console, [case])


class Arm64(unittest.TestCase):
    def test_each_profiler_has_one_case(self):
        self.assertEqual(sorted(c.profiler for c in judge.CASES), sorted(truth.ALARMS))
        lines = judge.script(judge.CASES).splitlines()
        self.assertEqual(sum(words.startswith("one ") for words in lines), 12)
        self.assertIn("one lock-circle lock-circle", "\n".join(lines))
        self.assertTrue(all("--pid" not in words and " -o " not in words for words in lines), "the machine knows them")

    def test_what_is_right_has_passed(self):
        found = verdict(line("lock-circle", said=RIGHT, **{"report/report.json": '{"findings": [{"id": "Deadlock", "message": "Deadlock"}]}'}))
        self.assertEqual(found["profilers"], {"Deadlocks": {"result": "passed", "case": "lock-circle"}})
        self.assertEqual((found["kernel"], found["runtime"]), ("Linux 6.1.0-arm64", "10.0.12"))

    def test_what_is_wrong_has_failed(self):
        found = verdict(line("lock-circle", said={"headline": "No deadlock was found", "diagnosis": ""}))
        self.assertEqual(found["profilers"]["Deadlocks"]["result"], "failed")
        self.assertEqual(verdict(line("lock-circle", said=RIGHT, ended="ended"))["profilers"]["Deadlocks"]["result"], "failed")

    def test_what_did_not_take_place_is_not_measured(self):
        for console in ("", "RESULT lock-circle AAA\n", line("lock-circle", app=""), line("another", said=RIGHT),
                        line("lock-circle", status="1", said={"reason": "AttachFailed", "message": "not in time"})):
            found = verdict(console)["profilers"]["Deadlocks"]
            self.assertEqual(found["result"], "not measured", console[:40])
            self.assertTrue(found["why"])


if __name__ == "__main__":
    unittest.main()
