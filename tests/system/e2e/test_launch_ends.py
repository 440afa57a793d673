"""Whatever becomes of `drdotnet run -- COMMAND`, and whoever the command's processes are: no .NET process waits at its start for a drdotnet that it cannot
reach, or that is no more."""
import glob
import os
import signal
import subprocess
import sys

from tests.lib import dotnet, launch, local, pod, proc, public

OTHER_USER = "setpriv --reuid 12345 --regid 12345 --clear-groups"
ADVERTISE = """
import glob, socket, sys, time
while not (path := glob.glob(sys.argv[1] + "/drdotnet-port-*/port")):
    time.sleep(0.01)
s = socket.socket(socket.AF_UNIX)
s.connect(path[0])
s.sendall(b"ADVR_V1\\0" + bytes(16) + (7).to_bytes(8, "little") + bytes(2))
print("there", flush=True)
time.sleep(60)
"""


def status(pid, field):
    with open("/proc/%d/status" % pid) as f:
        return next(line.split(":")[1].split()[0] for line in f if line.startswith(field + ":"))


class LaunchEnds(launch.LaunchCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.log = self.folder + "/log"
        with open(self.log, "w"):
            os.chmod(self.log, 0o666)

    def shell(self, script, app=None, framework="net10.0"):
        """$app: the application, works in one thread; its output goes to the log, and it holds nothing of ours."""
        return ["/bin/sh", "-c", 'app="%s idle --threads 1"; exec >> %s 2>&1 < /dev/null; %s' % (app or dotnet.path(framework), self.log, script)]

    def app_works(self):
        def look():
            with open(self.log) as f:
                return '"t_s"' in f.read()
        proc.wait_until(look, 30, "the application is past its start")

    def app_pid(self):
        """Its process, which names the port."""
        def look():
            for path in glob.glob("/proc/[0-9]*/environ"):
                pid = int(path.split("/")[2])
                try:
                    with open(path, "rb") as f:
                        if (self.tmp + "/drdotnet-port-").encode() in f.read() and os.readlink("/proc/%d/exe" % pid).endswith("/Checkout"):
                            return pid
                except OSError:
                    pass
            return None
        return proc.wait_until(look, 30, "the application's process", 0.001)

    def kill_app(self):
        os.kill(self.app_pid(), signal.SIGKILL)

    def kill(self, p):
        p.kill()
        p.wait()

    def test_one_that_cannot_reach_the_port(self):
        """It runs on, and drdotnet says who it is."""
        for how, script in (("another user", "chmod 700 $TMPDIR; exec env TMPDIR=/tmp %s $app" % OTHER_USER),
                            ("another mount namespace", "exec unshare -m sh -c 'mount -t tmpfs none $TMPDIR && exec '\"$app\"")):
            with self.subTest(how):
                app = public.copy(self, os.path.dirname(dotnet.path("net10.0"))) + "/Checkout"
                p = self.launch(["--cpu", "3s"], self.shell(script, app))
                self.app_works()
                said = p.stderr.readline()
                self.assertRegex(said, "NoDotnetProcess: process %d runs .NET, and has not come to the port %s" % (self.app_pid(), self.tmp))
                self.assertIsNone(p.poll(), "the command goes on")
                self.kill_app()
                p.communicate(timeout=60)
                self.assertEqual(p.returncode, 128 + signal.SIGKILL)
                self.nothing_left()

    def test_another_user_is_profiled(self):
        app = public.copy(self, os.path.dirname(dotnet.path("net8.0"))) + "/Checkout"
        p = self.launch(["--cpu", "3s"], self.shell("chmod 1777 $TMPDIR; exec %s $app" % OTHER_USER, app))
        self.await_report()
        self.app_works()
        self.assertEqual(status(self.app_pid(), "Uid"), "12345")
        self.kill_app()
        _, errors = p.communicate(timeout=60)
        self.assertIn("Checkout, pid", errors)
        self.nothing_left()

    def test_a_stranger_is_not_taken_for_the_command(self):
        p = self.launch(["--cpu", "2s"], self.shell("while [ ! -e $TMPDIR/go ]; do sleep 0.1; done; exec $app"))
        os.chmod(self.tmp, 0o755)
        stranger = subprocess.Popen([*OTHER_USER.split(), sys.executable, "-c", ADVERTISE, self.tmp], cwd="/", stdout=subprocess.PIPE, text=True)
        self.addCleanup(stranger.communicate)
        self.addCleanup(stranger.kill)
        self.assertEqual(stranger.stdout.readline(), "there\n")
        with open(self.tmp + "/go", "w"):
            pass
        self.await_report()
        self.kill_app()
        _, errors = p.communicate(timeout=60)
        self.assertIn("Checkout, pid", errors)

    def check_dead(self, framework, moment):
        open(self.log, "w").close()
        p = self.launch(["--cpu", "30s"], self.shell("sleep 0.2; $app", framework=framework))
        pid = moment(p)
        self.kill(p)
        self.app_works()
        self.assertEqual(status(pid or self.app_pid(), "TracerPid"), "0")
        self.kill_app()

    def test_drdotnet_is_killed_before_it_begins(self):
        self.check_dead("net8.0", lambda p: proc.wait_until(lambda: pod.children(p.pid), 10, "the shell") and None)

    def test_drdotnet_is_killed_as_the_process_appears(self):
        for framework in dotnet.FRAMEWORKS:
            with self.subTest(framework):
                self.check_dead(framework, lambda p: self.app_pid())

    def test_drdotnet_is_killed_while_it_holds_the_process(self):
        def held(p):
            pid = self.app_pid()
            proc.wait_until(lambda: status(pid, "TracerPid") != "0" or os.path.getsize(self.log), 30, "it is held, or was", 0.0005)
            return pid
        for framework in dotnet.FRAMEWORKS:
            with self.subTest(framework):
                self.check_dead(framework, held)

    def test_one_that_starts_when_the_command_and_drdotnet_are_gone(self):
        """Nor can anybody else open a port in their place."""
        p = self.launch(["--cpu", "3s"], self.shell("(while [ ! -e $TMPDIR/go ]; do sleep 0.1; done; exec $app) & exit 3"))
        p.communicate(timeout=60)
        self.assertEqual(p.returncode, 3)
        self.assertEqual([os.listdir(folder) for folder in glob.glob(self.tmp + "/drdotnet-port-*")], [[]])
        with open(self.tmp + "/go", "w"):
            pass
        self.app_works()
        self.kill_app()

    def test_a_stop_reaches_the_command_and_ends_the_session(self):
        p = self.launch(["--cpu", "60s"], self.shell("exec $app"), process_group=0)
        proc.wait_until(lambda: glob.glob(self.tmp + "/.drdotnet-*"), 60, "a session")
        p.send_signal(signal.SIGTSTP)
        pids = [p.pid, self.app_pid()]
        proc.wait_until(lambda: {status(pid, "State") for pid in pids} == {"T"}, 30, "both are stopped")
        p.send_signal(signal.SIGCONT)
        self.await_report()
        proc.wait_until(lambda: "T" not in {status(pid, "State") for pid in pids}, 30, "both go on")
        p.send_signal(signal.SIGTERM)
        _, errors = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 128 + signal.SIGTERM, errors)
        self.assertRegex(errors, r"(?m)^drdotnet: Ctrl-Z has ended the session")
        self.nothing_left()

    def test_a_stop_ends_the_session_of_a_process_that_runs(self):
        app = self.start("hot")
        before = dotnet.Traces(app)
        p = subprocess.Popen([local.DRDOTNET, "run", "--cpu", str(app.pid), "60s", "-o", self.folder + "/report"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, process_group=0)
        self.addCleanup(p.kill)
        proc.wait_until(lambda: glob.glob(app.tmp + "/.drdotnet-*"), 60, "a session")
        now = app.progress()["t_s"]
        proc.wait_until(lambda: app.progress()["t_s"] > now + 2, 60, "two seconds of it")
        p.send_signal(signal.SIGTSTP)
        out, errors = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 0, errors)
        self.assertIn("Checkout, pid %d" % app.pid, out)
        self.assertIn("drdotnet: Ctrl-Z has ended the session", errors)
        self.assert_nothing_left(app, before)
