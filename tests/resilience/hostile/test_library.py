"""A fake profiler library in a pod, which has the channel's word from its fake diagnostics port: what it says is bounded in
memory and time, and harmless in the reports."""
import concurrent.futures
import gzip
import json
import os
import re
import subprocess
import tempfile
import time
import unittest

from tests.resilience.hostile import trap
from tests.lib import local, matrix, pod, proc, readers

PART = "hostile pod"
AGENT_LIMIT_MIB = 192  # of the shipped manifests
AGENT_SECONDS = 30  # of CPU time; without a budget it is ten minutes
WITHOUT_PERF = proc.ROOT + "/build/release/tests/deny-perf"  # so that samples come from the library, too
REPORTED = "Completed; the report holds what the library said"
UNLEFT = "the session ends in time and leaves nothing"
# trap: (what the session said, the matrix's words)
FAILED = {
    "flood": ("AttachFailed: the library floods its channel|AttachFailed: the profiler library did not", "sends frames without end"),
    "flood-big": ("AttachFailed: the library floods its channel|AttachFailed: the profiler library did not", "sends large frames without end"),
    "endless-functions": ("AttachFailed: the library floods its channel|AttachFailed: the profiler library did not", "describes functions without end"),
    "lies-about-size": ("AttachFailed: the profiler library did not start sampling", "announces more than it sends"),
    "huge-size": ("AttachFailed: the library sent what is no frame", "announces a frame of 4 GB"),
    "wrong-order": ("AttachFailed: the library sent a malformed answer", "answers what nobody asked"),
    "says-nothing": ("AttachFailed: the profiler library did not start sampling", "says hello and nothing more"),
    "strangers": ("AttachFailed: .* did not connect|AttachFailed: only strangers", "comes without the session's word, many times"),
    "from-another": ("AttachFailed: .* did not connect|AttachFailed: only strangers", "is another process of the pod that has the word"),
    "huge-environment": ("AttachFailed: .*the runtime announces an environment of 4294967280 bytes", "has an environment of 4 GB"),
    "endless-environment": ("AttachFailed: .*description of its environment is malformed", "has an environment without end"),
    "lying-environment": ("AttachFailed: .*description of its environment is malformed", "announces more variables than it has"),
    "dripping-environment": ("AttachFailed: .*did not answer in time", "tells its environment a byte at a time"),
    "half-hello": ("AttachFailed: the profiler library did not connect", "stops within its hello"),
}
TOLD = {
    "obey": "has names full of markup, escape sequences and newlines",
    "many-stacks": "sends other stacks, threads and times with each sample",
    "never-leaves": "does not leave when it is asked to",
}


@unittest.skipIf(pod.unavailable(), pod.unavailable())
class Library(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def session(self, kind):
        """(exit code, what it said, MiB, seconds, what is left in the pod's folder)"""
        folder = os.path.join(self.folder, kind)
        os.makedirs(folder)
        made = trap.Trap(folder, "library", kind)
        try:
            began = time.monotonic()
            with open(folder + "/log", "w") as log:
                run = subprocess.Popen([WITHOUT_PERF, local.DRDOTNET, "run", "--profiler", "CPUHotpaths", "--duration", "2s", "--pid",
                                        str(made.pid), "-o", folder + "/out"], stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
            with open(folder + "/log", errors="replace") as log:
                return (run.returncode, log.read(), used.ru_maxrss / 1024, time.monotonic() - began,
                        [name for name in os.listdir(made.tmp) if name.startswith(".drdotnet")])
        finally:
            made.stop()

    def test_it_is_bounded_and_told_apart(self):
        kinds = [*FAILED, *TOLD]
        with concurrent.futures.ThreadPoolExecutor(len(kinds)) as pool:
            ended = dict(zip(kinds, pool.map(self.session, kinds)))
        for kind, (code, said, memory, seconds, left) in ended.items():
            with self.subTest(kind):
                self.assertEqual(left, [])
                self.assertLess(memory, AGENT_LIMIT_MIB)
                self.assertLess(seconds, 90)
                if kind in FAILED:
                    self.assertNotEqual(code, 0, said)
                    self.assertRegex(said, FAILED[kind][0])
                else:
                    self.assertEqual(code, 0, said)
                    self.assert_harmless(os.path.join(self.folder, kind, "out"))
            matrix.row(self, PART, "attach" if kind in FAILED else "profile",
                       "the process in the library's place " + (FAILED[kind][1] if kind in FAILED else TOLD[kind]),
                       ("AttachFailed; " if kind in FAILED else REPORTED + "; ") + UNLEFT)
        self.assert_names_shown(os.path.join(self.folder, "obey/out"))

    def assert_harmless(self, out):
        for name in os.listdir(out):
            if name.endswith(".gz"):
                with gzip.open(os.path.join(out, name)) as f:
                    data = b"".join(text for number, text in readers.fields(f.read()) if number == 6)  # pprof's table of strings
                self.assertFalse(b"\x1b[" in data or "\u202e".encode() in data, name)
                continue
            with open(os.path.join(out, name), encoding="utf-8") as f:
                text = f.read()
            odd = re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", text)
            self.assertEqual(odd, [], name)
            if name.endswith((".html", ".md")):
                shown = re.sub("(`+)[^`]+\\1", "", text)  # Markdown's code is text; a backslash makes text of the next character
                self.assertIsNone(re.search(r"(?<!\\)<script>alert", shown), name)
            self.assertLess(len(text), 64 << 20, name)

    def test_symbols_are_read_within_a_budget(self):
        code, said, memory, _, left = self.session("endless-lines")
        self.assertEqual((code, left), (0, []), said)
        self.assertLess(memory, AGENT_LIMIT_MIB)
        with open(self.folder + "/endless-lines/out/report.json", encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual(["Not all source lines were read" in limit["meaning"] for limit in report["limitsReached"] if limit["name"] == "work"], [True])
        self.assertEqual(report["symbols"]["modules"], [{"module": "Evil.dll", "used": True, "reason": None}])
        self.assertLess(report["cost"]["agentCPUMilliseconds"], AGENT_SECONDS * 1000)
        matrix.row(self, PART, "profile", "the process in the library's place has symbols whose lines would be read for hours",
                   "Completed; the report names the limit of work; " + UNLEFT)

    def assert_names_shown(self, out):
        """They are there to be read, escaped."""
        with open(out + "/report.json", encoding="utf-8") as f:
            self.assertTrue("alert(1)" in json.dumps(json.load(f)))
        with open(out + "/stacks.folded", encoding="utf-8") as f:
            self.assertTrue("\\u{202E}" in f.read())


if __name__ == "__main__":
    unittest.main()
