"""One session of `drdotnet run` on one application of the corpus."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from tests.corpus import machine, truth
from tests.lib import dotnet, local, proc
from tests.lib.cpu_group import cpu_group, set_limit
from tests.lib.memory_group import memory_group, within

SECONDS = {truth.CPU: 6, truth.ALLOCS: 5, truth.LEAK: 12, truth.PAUSES: 8, truth.WAITS: 6, truth.THREADS: 4, truth.LOCKS: 3, truth.TASKS: 4,
           truth.THROWS: 6, truth.REQUESTS: 8}  # the others look once
WALKS = 3
WARM = {truth.LEAK: 62}  # seconds of work before the session: MemoryLeak says of a process of less than a minute that it just started
SHORT_WARM = 3
BUDGET_MS = 5000


class CorpusApp(dotnet.App):
    NAME = "CorpusApp"


def words(case, pid, out):
    seconds = case.seconds or SECONDS.get(case.profiler)
    line = ["run", "--profiler", case.profiler, "--pid", pid, "-o", out, "--json"]
    if seconds:
        line += ["--duration", "%ds" % seconds]
    if case.profiler == truth.LEAK:
        line += ["--walks", WALKS]
    if case.profiler in (truth.LEAK, truth.HEAP, truth.STRINGS):
        line += ["--pause-budget", BUDGET_MS]
    return [str(word) for word in line]


def answer(done, out):
    """What it said, as judge() takes it; "findings" is None where the report has none of the kind."""
    try:
        said = json.loads(done.stdout)
    except ValueError:
        return {"error": "no answer: %s %s" % (done.returncode, done.stderr[-500:])}
    if done.returncode != 0:
        return {"error": "%s: %s" % (said.get("reason"), said.get("message"))}
    result = {"headline": said.get("headline"), "diagnosis": said.get("diagnosis"), "reason": said.get("reason"), "findings": None}
    path = os.path.join(out, "report.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            report = json.load(f)
        result.update({key: report.get(key) for key in ("findings", "excluded", "notMeasured", "measured")})
    return result


def run(case, framework, program=local.DRDOTNET, keep=None):
    """What was said of the application; `keep`: a folder for the report, otherwise it goes."""
    folder = tempfile.mkdtemp(prefix="drdotnet-corpus-")
    try:
        with memory_group(case.memory << 20) if case.memory else contextlib.nullcontext() as group, \
                cpu_group() if case.cpus else contextlib.nullcontext() as cpu:
            tmp = os.path.join(folder, "tmp")
            os.mkdir(tmp)
            env = {"TMPDIR": tmp, **case.env}
            prefix = within(group, within(cpu, []))
            with CorpusApp(case.load, framework, folder, env=env, prefix=prefix) as app:
                try:
                    if cpu:
                        set_limit(cpu, case.cpus)
                    time.sleep(case.warm or WARM.get(case.profiler, SHORT_WARM))
                    out = os.path.join(folder, "report")
                    witness = machine.Witness(app.pid)
                    done = subprocess.run([program, *words(case, app.pid, out)], capture_output=True, text=True, timeout=proc.patience(150), cwd=proc.ROOT,
                                          stdin=subprocess.DEVNULL)
                    said = {**answer(done, out), "machine": witness.says()}
                    if app.ended():
                        said = {"error": "the application ended with %s: %s" % (app.popen.returncode, app.log()[-300:])}
                    if keep and os.path.isdir(out):
                        shutil.rmtree(keep, ignore_errors=True)
                        shutil.copytree(out, keep)
                    return said
                finally:
                    app.stop(signal.SIGKILL)
    except (AssertionError, subprocess.TimeoutExpired, OSError) as e:
        return {"error": "%s: %s" % (type(e).__name__, str(e)[-300:])}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
