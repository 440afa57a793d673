"""The application that pauses on request (tests/apps/PauseApp), and a session on it that lasts until the test has asked for all."""
import json
import os
import signal
import subprocess
import tempfile

from tests.lib import dotnet, local, proc

SCHEMA = "report-schema-runtimepauses.json"


class PauseApp(proc.Process):
    def __init__(self, framework, folder, server=False, env=None):
        self.tmp = tempfile.mkdtemp(prefix="tmp-", dir=folder)
        super().__init__([dotnet.path(framework, "PauseApp")], log=os.path.join(folder, "pause-app-%s.log" % os.path.basename(self.tmp)),
                         env={"TMPDIR": self.tmp, "DOTNET_gcServer": str(int(server)), **(env or {})}, stdin=subprocess.PIPE)
        try:
            self.wait_log(r'^\{"ready":true', 60)
        except BaseException:
            self.stop()
            raise
        self.answers = 0

    def ask(self, request, seconds=60):
        """The truth of it: {"before": ..., "after": ...}."""
        self.popen.stdin.write((request + "\n").encode())
        self.popen.stdin.flush()
        self.answers += 1

        def answer():
            lines = [line for line in self.log().splitlines(keepends=True) if line.startswith('{"did"') and line.endswith("\n")]
            return json.loads(lines[self.answers - 1]) if len(lines) >= self.answers else None
        return proc.wait_until(answer, seconds, "an answer to %r: %s" % (request, self.log()[-500:]), 0.01)

    def stop(self, how=signal.SIGKILL, seconds=10):
        code = super().stop(how, seconds)
        self.popen.stdin.close()
        return code


class Session(proc.Process):
    """`drdotnet run` with RuntimePauses, from the moment on which the runtime tells of its pauses."""

    def __init__(self, app, folder):
        self.out = tempfile.mkdtemp(prefix="out-", dir=folder)
        super().__init__([local.DRDOTNET, "run", "--profiler", "RuntimePauses", "--duration", "10m", "--pid", app.pid, "-o", self.out + "/r", "-v"],
                         log=os.path.join(folder, "session-%s.log" % os.path.basename(self.out)))
        self.wait_log("the runtime tells of its pauses", 60)

    def end(self):
        """The report, after Ctrl-C."""
        self.popen.send_signal(signal.SIGINT)
        code = self.popen.wait(60)
        assert code == 0, "drdotnet run ended with %s:\n%s" % (code, self.log())
        return self.report()

    def report(self):
        with open(self.out + "/r/report.json", encoding="utf-8") as f:
            return json.load(f)

    def summary(self):
        with open(self.out + "/r/summary.md", encoding="utf-8") as f:
            return f.read()


def delta(first, last):
    """Collections of each generation and paused milliseconds between the beginning of one answer and the end of another."""
    return {key: last["after"][key] - first["before"][key] for key in ("Gen0", "Gen1", "Gen2", "PausedMs")}


def counted(report):
    """The same from a report, as GC.CollectionCount counts."""
    by = [sum(g["collections"] for g in report["generations"] if g["generation"] >= least) for least in range(3)]
    return {"Gen0": by[0], "Gen1": by[1], "Gen2": by[2], "PausedMs": report["pauses"]["length"]["totalMicroseconds"] / 1000}
