"""Heaps of real processes, walked through the agent's own end of the channel (tests/system/walk/walk_tool.c)."""
import glob
import json
import os
import shutil
import subprocess
import tempfile

from tests.lib import dotnet, proc

TOOL = os.path.join(proc.ROOT, "build/release/tests/walk-tool")
LIBRARY = os.path.join(proc.ROOT, "build/release/libdrdotnet.so")


class Walked(dotnet.MemoryApp):
    """The application whose heap is known, with the library beside its socket."""

    def __init__(self, framework, modes, arguments=(), env=None, library=LIBRARY, **more):
        self.folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        os.chmod(self.folder, 0o755)
        self.library = os.path.join(self.folder, "libdrdotnet-test.so")
        shutil.copy(library, self.library)
        try:
            super().__init__(modes, framework, self.folder, arguments, env={"TMPDIR": self.folder, **(env or {})}, **more)
            pattern = "%s/dotnet-diagnostic-%d-*-socket" % (self.folder, self.pid)
            self.socket = proc.wait_until(lambda: glob.glob(pattern), 10, "its socket")[0]
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def start(self, roots="Exact", budget_ms=60000, *words):
        command = [TOOL, self.pid, self.folder, self.socket, self.library, roots, budget_ms, *words]
        return subprocess.Popen([str(w) for w in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def try_to_walk(self, *args):
        """One dict for each walk; the last one has ok False when it failed."""
        tool = self.start(*args)
        try:
            out, err = tool.communicate(timeout=180)
        except BaseException:
            tool.kill()
            tool.communicate()
            raise
        if not out:
            raise AssertionError("no answer (%s): %s\n%s" % (tool.returncode, err, self.log()[-3000:]))
        return [json.loads(line) for line in out.splitlines()]

    def answer(self, *args):
        """The answer to one walk, the first in which the library was not kept from running for longer than its budget."""
        def run():
            answer = self.try_to_walk(*args)[-1]
            return None if not answer["ok"] and answer["reason"] == "PauseBudgetExceeded" else answer
        return proc.wait_until(run, 60, "a walk whose stop is within its budget")

    def walk(self, *args):
        answers = self.try_to_walk(*args)
        if not all(a["ok"] for a in answers):
            raise AssertionError(answers[-1])
        return answers[0] if len(answers) == 1 else answers

    def rss_kb(self, key="VmRSS"):
        with open("/proc/%d/status" % self.pid) as f:
            return next(int(line.split()[1]) for line in f if line.startswith(key + ":"))

    def mapped(self):
        with open("/proc/%d/maps" % self.pid) as f:
            return "libdrdotnet" in f.read()

    def stop(self, *args, **kwargs):
        try:
            return super().stop(*args, **kwargs)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
