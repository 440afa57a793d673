"""How the local command behaves towards people and scripts: completion, the progress line, --json, one clear line on failure."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest

from tests.lib import local, proc, public, readers, shares

COMPLETE = """
source <("$1" completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_drdotnet && printf '%s\\n' "${COMPREPLY[@]}"
"""


def complete(*words):
    """What bash offers for the last word."""
    done = subprocess.run(["bash", "-uc", COMPLETE, "bash", local.DRDOTNET, *words], capture_output=True, text=True, timeout=20,
                          cwd=proc.ROOT, stdin=subprocess.DEVNULL)
    if done.stderr:
        raise AssertionError(done.stderr)
    return [word for word in done.stdout.split("\n") if word]


def on_terminal(words, until, limit=40, width=80, env=None):
    """(exit code, what stood on the terminal) of the command with a terminal; `until` gets the text so far and may end it."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(proc.ROOT)
        os.execve(words[0], words, {**os.environ, "TERM": "xterm", **(env or {})})
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", 24, width, 0, 0))
    text, end, status = "", time.monotonic() + limit, None
    try:
        while status is None and time.monotonic() < end:
            if select.select([fd], [], [], 0.2)[0]:
                try:
                    text += os.read(fd, 65536).decode(errors="replace")
                except OSError:  # the other end is closed
                    status = os.waitpid(pid, 0)[1]
                    break
            until(text, fd)
        if status is None:
            raise AssertionError(text)
    finally:
        if status is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(fd)
    return os.waitstatus_to_exitcode(status), text


class Completion(local.LocalCase):
    def test_commands_and_options(self):
        self.assertEqual(complete(""), ["ps", "run", "diff", "explain", "rules", "serve", "completion", "--help", "--version"])
        self.assertEqual(complete("r"), ["run", "rules"])
        self.assertEqual(complete("ps", "--"), ["--json", "--verbose", "--help"])
        self.assertEqual(complete("run", "--du"), ["--duration"])
        self.assertEqual(complete("nonsense", "x"), [])
        self.assertEqual(complete("run", "--profiler", "CPU"), ["CPUHotpaths"])
        self.assertEqual(complete("run", "--roots", ""), ["Auto", "Exact", "NoCollection"])
        self.assertEqual(complete("serve", "--no-"), ["--no-web-ui", "--no-rest-api"])
        self.assertEqual(complete("serve", "--bind", "127"), ["127.0.0.1"])
        self.assertEqual(complete("completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(complete("completion", "z"), ["zsh"])

    def test_every_option_of_the_help_is_offered(self):
        for command in ("ps", "run", "diff", "serve", "completion"):
            _, text, _ = local.drdotnet(command, "--help")
            self.assertEqual(sorted(re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", text)), sorted(complete(command, "-")))

    def test_files(self):
        self.assertEqual(complete("run", "-f", "deploy/samples/cpu-hotpaths."), ["deploy/samples/cpu-hotpaths.yaml"])
        self.assertEqual(complete("run", "-f", "LICEN"), [])
        self.assertEqual(complete("run", "-o", "deploy/samp"), ["deploy/samples"])

    def test_processes(self):
        app = self.start("idle", arguments=["--threads", "3"])
        self.assertIn(str(app.pid), complete("run", "--pid", str(app.pid)[:2]))
        self.assertIn(str(app.pid), complete("run", "--cpu", ""))
        self.assertIn("Checkout", complete("run", "--name", "Check"))

    def test_scripts_are_those_of_the_packages(self):
        for shell, name in (("bash", "drdotnet.bash"), ("zsh", "_drdotnet"), ("fish", "drdotnet.fish")):
            with open("%s/deploy/completion/%s" % (proc.ROOT, name)) as f:
                self.assertEqual(local.drdotnet("completion", shell), (0, f.read(), ""))
        code, text, errors = local.drdotnet("completion", "tcsh")
        self.assertEqual((code, text), (2, ""))
        self.assertIn("expected bash, zsh or fish", errors)

    def test_the_tabulator_key_in_bash(self):
        """In a shell as people start it."""
        typed = []

        def press(text, fd):
            for sign, keys in (("ready>", b"drdotnet completion b\t\n"), ("complete -F _drdotnet", b"exit\n")):
                if sign in text and keys not in typed:
                    typed.append(keys)
                    os.write(fd, keys)
        with open(self.folder + "/rc", "w") as f:
            f.write('PS1="ready""> "; bind "set enable-bracketed-paste off"; PATH="%s:$PATH"; source <(drdotnet completion bash)\n' %
                    os.path.dirname(local.DRDOTNET))
        code, text = on_terminal(["/bin/bash", "--rcfile", self.folder + "/rc", "-i"], press)
        self.assertEqual(len(typed), 2, text)
        self.assertRegex(text, r"drdotnet completion bash ")

    def test_zsh_registers_it(self):
        if not shutil.which("zsh"):
            self.skipTest("zsh is not installed")
        script = 'autoload -U compinit; compinit -u -D; source <("$1" completion zsh); print -r -- $_comps[drdotnet]'
        done = subprocess.run(["zsh", "-f", "-c", script, "zsh", local.DRDOTNET], capture_output=True, text=True, timeout=60, cwd=proc.ROOT,
                              stdin=subprocess.DEVNULL)
        self.assertEqual((done.stdout, done.stderr), ("_drdotnet\n", ""))

    def test_in_fish_and_zsh(self):
        """The same words, as these shells ask for them."""
        env = {**os.environ, "PATH": os.path.dirname(local.DRDOTNET) + ":" + os.environ["PATH"], "HOME": self.folder, "TERM": "dumb"}

        def shell(*words):
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=proc.ROOT, env=env, stdin=subprocess.DEVNULL)
            self.assertEqual(done.stderr, "")
            return done.stdout
        for words, fish, zsh in (("run --ro", ["--roots"], ["--roots"]),
                                 ("run -f deploy/samples/cpu-hotpaths.", ["deploy/samples/cpu-hotpaths.yaml"], ["files -g *.(yaml|yml|json)"]),
                                 ("run -f LICEN", [], ["files -g *.(yaml|yml|json)"]), ("serve --tls-cert LICEN", ["LICENSE"], ["files "])):
            if shutil.which("fish"):
                text = shell("fish", "-N", "-c", 'source deploy/completion/drdotnet.fish; complete -C "drdotnet %s"' % words)
                self.assertEqual([line.partition("\t")[0] for line in text.split("\n") if line], fish, words)
            if shutil.which("zsh"):
                self.assertEqual(shell("zsh", "-f", "tests/system/cpu/complete.zsh", words).splitlines(), zsh, words)
        if not shutil.which("fish") or not shutil.which("zsh"):
            self.skipTest("fish or zsh is not installed")


class FirstContact(local.LocalCase):
    """What somebody sees who knows nothing yet."""

    def test_alone_it_lists_processes_and_says_what_to_do_next(self):
        app = self.start("idle", arguments=["--threads", "3"])
        code, text, errors = local.drdotnet()
        self.assertEqual((code, errors), (0, ""))
        self.assertRegex(text, r"(?m)^%d +\d+ +\d+ +%s +Checkout +.* yes$" % (app.pid, re.escape(app.runtime)))
        self.assertEqual(len(re.findall(r"(?m)^  drdotnet run ", text)), 3, text)
        self.assertRegex(text, r"(?m)^  drdotnet run --cpu +\d+ +where does the CPU time go\?$")

    def test_run_alone_says_what_is_missing_and_lists_processes(self):
        app = self.start("idle", arguments=["--threads", "3"])
        code, text, errors = local.drdotnet("run")
        self.assertEqual((code, text), (2, ""))
        self.assertEqual(errors.splitlines()[0], "drdotnet: say which process to profile, by its id or its name")
        self.assertRegex(errors, r"(?m)^%d +.* Checkout +.* yes$" % app.pid)
        self.assertRegex(errors, r"(?m)^  drdotnet run --memory +\d+ ")
        code, text, errors = local.drdotnet("run", "--json")
        self.assertEqual((code, errors, json.loads(text)["reason"]), (2, "", "InvalidSpec"))

    def test_a_process_alone_is_profiled_for_its_cpu_time(self):
        app = self.start("warm")
        app.warm(100)
        code, text, errors = local.drdotnet("run", app.pid, "1s", "-o", self.folder + "/out", "--json")
        self.assertEqual((code, errors), (0, ""), text)
        with open(self.folder + "/out/report.json") as f:
            self.assertEqual(json.load(f)["profiler"], "CPUHotpaths")

    def test_names_in_any_case_and_names_that_are_mistyped(self):
        app = self.start("idle", arguments=["--threads", "3", "Mark-%d" % os.getpid()])
        other = self.start("idle", arguments=["--threads", "3", "Mark-%d" % os.getpid()])
        mark = "mark-%d" % os.getpid()
        code, text, errors = local.drdotnet("run", "--cpu", mark, "1s", "-o", self.folder + "/out")
        self.assertEqual((code, text), (1, ""))
        self.assertRegex(errors, r"\Adrdotnet: AmbiguousProcess: 2 \.NET processes match: Checkout \(pid \d+\), Checkout \(pid \d+\)\. .* by its id\.\n\n")
        for one in (app, other):
            self.assertRegex(errors, r"(?m)^%d .* yes$" % one.pid)
        self.assertNotRegex(errors.splitlines()[0], r"spec\.|pod|agent")
        code, text, errors = local.drdotnet("run", "--cpu", "Chekout", "-o", self.folder + "/out")
        self.assertEqual((code, text), (1, ""))
        self.assertRegex(errors, r"\Adrdotnet: ProcessNotFound: no \.NET process has \"Chekout\" .*; did you mean Checkout\?")

    def test_processes_of_other_users_are_counted(self):
        app = self.start("idle", arguments=["--threads", "3"])
        place = public.copy(self, local.DRDOTNET, os.path.join(os.path.dirname(local.DRDOTNET), "libdrdotnet.so"))
        words = ["setpriv", "--reuid", "12346", "--regid", "12346", "--clear-groups", place + "/drdotnet", "ps"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^\d+ \.NET process(es)? belongs? to other users: use sudo to profile (it|them)$")
        words[-1:] = ["run", "--pid", str(app.pid)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd="/")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Adrdotnet: PermissionDenied: .*drdotnet may not look into process %d: .*Run drdotnet with sudo" % app.pid)
        words[-3:] = ["run", "--cpu"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd="/")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Adrdotnet: NoDotnetProcess: no \.NET process of this user was found; \d+ belongs? to other users: use sudo")

    def test_by_symptom_and_place_of_the_report(self):
        app = self.start("warm")
        app.warm(100)
        code, text, errors = local.drdotnet("run", "--cpu", str(app.pid), "2s", "-o", self.folder + "/out")
        self.assertEqual((code, errors), (0, ""), text)
        self.assertRegex(text.splitlines()[0], r"^\d+% of CPU in |^No verdict: only \d+ samples came$")  # few on a full machine
        self.assertIn("\nReport: %s/out/report.html\n" % os.path.realpath(self.folder), text)
        self.assertNotRegex(text, r"[|`]|\x1b")


class OnATerminal(local.LocalCase):
    """How a report is set, by what it is written to."""

    @staticmethod
    def none(text, fd):
        pass

    def test_colours_a_link_and_the_width(self):
        app = self.start("warm")
        app.warm(100)
        words = [local.DRDOTNET, "run", "-q", "--cpu", str(app.pid), "1s", "-o", self.folder + "/out"]
        code, text = on_terminal(words, self.none, width=60)
        self.assertEqual(code, 0, text)
        page = os.path.realpath(self.folder + "/out/report.html")
        self.assertIn("\x1b[1m", text)
        self.assertRegex(text, r"\x1b\]8;;file://[^/]*%s\x1b\\%s\x1b\]8;;\x1b\\" % (re.escape(page), re.escape(page)))
        plain = re.sub(r"\x1b\[\d*m|\x1b\]8;;.*?\x1b\\", "", text).replace("\r", "")
        summary = plain.partition("\nReport:")[0]
        self.assertLessEqual(max(len(line) for line in summary.splitlines()[1:]), 60, plain)
        self.assertNotRegex(plain, r"\*\*|`|\|")
        code, text = on_terminal(words, self.none, width=60, env={"NO_COLOR": "1"})
        self.assertEqual((code, "\x1b" in text), (0, False), text)

    def test_a_pipe_gets_whole_lines(self):
        app = self.start("warm")
        app.warm(100)
        code, text, _ = local.drdotnet("run", "--cpu", app.pid, "1s", "-o", self.folder + "/out", env={"COLUMNS": "40"})
        self.assertEqual(code, 0, text)
        self.assertNotIn("\x1b", text)
        with open(self.folder + "/out/report.json") as f:
            said = json.load(f)["diagnosis"]["text"].splitlines()  # in which names may be short, wherever it is read
        self.assertEqual([line for line in text.splitlines() if "…" in line and line not in said], [])
        with open(self.folder + "/out/summary.md") as f:
            first = f.read().splitlines()[2].replace("\\", "").replace("`", "").strip()
        self.assertIn(first, text.splitlines())


class Words(local.LocalCase):
    def test_progress_on_a_terminal_and_ctrl_c_there(self):
        """The key itself, not a signal from elsewhere: what was collected until then is reported."""
        app = self.start("warm")
        app.warm()
        out, pressed = self.folder + "/out", []

        def press(text, fd):
            samples = re.findall(r"(\d+) samples", text)
            if samples and int(samples[-1]) > 20 and not pressed:
                pressed.append(os.write(fd, b"\x03"))
        words = [local.DRDOTNET, "run", "--profiler", "CPUHotpaths", "--duration", "60s", "--pid", str(app.pid), "-o", out]
        code, text = on_terminal(words, press)
        self.assertEqual((code, len(pressed)), (0, 1), text)
        self.assertRegex(text, r"\r\x1b\[KProfiling \d+ s of 60 s, \d+ samples")
        self.assertIn("ended early on request", text)
        shares.check_hot(self, readers.folded(out))
        with open(out + "/report.json") as f:
            self.assertTrue(json.load(f)["time"]["endedEarly"])

    def test_no_progress_without_a_terminal_and_all_of_json(self):
        app = self.start("warm")
        app.warm(100)
        out = self.folder + "/out"
        code, text, errors = local.drdotnet("run", "--profiler", "CPUHotpaths", "--duration", "2s", "--pid", app.pid, "-o", out, "--json")
        self.assertEqual((code, errors), (0, ""), text)
        said = json.loads(text)
        self.assertEqual((said["phase"], said["reason"], said["remedy"]), ("Succeeded", "Completed", None))
        self.assertEqual(said["target"]["pid"], app.pid)
        self.assertEqual(sorted(r["name"] for r in said["reports"]), sorted(readers.MEDIA))
        for report in said["reports"]:
            self.assertEqual(os.path.getsize(report["path"]), report["sizeBytes"])
        self.assertGreaterEqual(said["firstSampleTime"], said["startTime"])
        self.assertEqual(said["diagnosis"].splitlines()[0], said["headline"])
        self.assertEqual(said["cost"]["droppedSamples"], 0)

    def test_a_baseline_is_checked_first_and_compared_with_at_the_end(self):
        app = self.start("warm")
        app.warm(100)
        first, second = self.folder + "/first", self.folder + "/second"
        words = ("run", "--profiler", "CPUHotpaths", "--duration", "1s", "--pid", app.pid)
        self.assertEqual(local.drdotnet(*words, "-o", first)[0], 0)
        code, text, errors = local.drdotnet(*words, "-o", second, "--baseline", first)
        self.assertEqual((code, errors), (0, ""), text)
        lines = text.partition("\nCompared with the baseline:\n")[2]
        self.assertRegex(lines, r"(?m)^Compared \d+ samples with \d+: ")
        code, text, _ = local.drdotnet(*words, "-o", second, "--baseline", first + "/report.json", "--json")
        self.assertIn("samples with", json.loads(text)["comparison"])
        with open(first + "/report.json") as f:
            other = json.load(f)
        other["profiler"] = "GCSurvivors"
        for name, content, words_of_it in (("other", json.dumps(other), "a report of GCSurvivors, not of CPUHotpaths"), ("none", "{}", "no report.json"),
                                           ("bad", "[", "line 1"), ("missing", None, "No such file")):
            path = "%s/%s.json" % (self.folder, name)
            if content is not None:
                with open(path, "w") as f:
                    f.write(content)
            code, text, errors = local.drdotnet(*words, "-o", self.folder + "/none", "--baseline", path)
            self.assertEqual((code, text, errors.count("\n")), (2, "", 1), errors)
            self.assertRegex(errors, r"\Adrdotnet: BaselineUnusable: --baseline: .*%s" % words_of_it)
        self.assertFalse(os.path.exists(self.folder + "/none"), "nothing was begun")

    def test_failures_are_one_line_or_one_object(self):
        words = ("run", "--profiler", "CPUHotpaths", "--pid", "4194303", "-o", self.folder + "/o")
        code, text, errors = local.drdotnet(*words)
        self.assertEqual((code, text), (1, ""))
        self.assertRegex(errors, r"\Adrdotnet: ProcessNotFound: process 4194303 [^\n]+\n\Z")
        code, text, errors = local.drdotnet(*words, "--json")
        self.assertEqual((code, errors), (1, ""))
        said = json.loads(text)
        self.assertEqual((said["phase"], said["reason"], said["reports"]), ("Failed", "ProcessNotFound", []))
        self.assertFalse(os.path.exists(self.folder + "/o"), "no empty folder is left")
        self.assertIn("did you mean --cpu?", local.drdotnet("run", "--cpuu")[2])
        for wrong in (("walk",), ("run", "--pid", "x"), ("completion",), ("run", "--profiler", "CPUHotpaths", "--duration", "2h")):
            code, text, errors = local.drdotnet(*wrong)
            self.assertEqual((code, text, errors.count("\n")), (2, "", 1), errors)


class Benches(unittest.TestCase):
    """They run; what they measure is for a machine that does nothing else."""
    time_limit = 240

    def bench(self, *words):
        done = subprocess.run(["python3", *words], capture_output=True, text=True, timeout=220, cwd=proc.ROOT,
                              env={**os.environ, "PYTHONPATH": proc.ROOT}, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_overhead(self):
        self.assertRegex(self.bench("tests/bench/overhead.py", "--quick"), r"\| *-")

    def test_latency(self):
        text = self.bench("tests/bench/latency.py", "--sessions", "1", "--framework", "net10.0")
        self.assertRegex(text, r"\| net10.0 \| end to unmapped \| \d+\.\d")

    def test_accuracy(self):
        text = self.bench("tests/bench/accuracy.py", "--seconds", "2", "--loads", "hot")
        self.assertRegex(text, r"\| one thread \| \d+ \| \d+\.\d")


if __name__ == "__main__":
    unittest.main()
