"""`drdotnet run -- COMMAND`: the command is what it would be without, and its first .NET process is profiled from its beginning."""
import glob
import json
import os
import re
import signal
import socket
import threading
import time
import unittest

from tests.lib import dotnet, launch, proc


class Launch(launch.LaunchCase):
    def check_from_the_beginning(self, framework):
        p = self.launch(["--cpu", "4s"], [dotnet.path(framework), "hot"])
        self.await_report()
        self.assertIsNone(p.poll(), "the command goes on after the session")
        p.send_signal(signal.SIGTERM)
        out, errors = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 128 + signal.SIGTERM, errors)
        self.assertTrue(all(line.startswith("{") for line in out.splitlines()), "the application's output is its own: %s" % out[:300])
        self.assertIn("Checkout.Pricing.Tax.Compute", errors)
        names = json.dumps(self.report())
        self.assertIn("Checkout.Program", names, "what ran once, at the beginning")
        self.nothing_left()

    def test_from_the_beginning_on_net11(self):
        self.check_from_the_beginning("net11.0")

    def test_from_the_beginning_on_net8(self):
        self.check_from_the_beginning("net8.0")

    def database(self, seconds):
        """A server that answers late; its address."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(1)
                time.sleep(seconds)
                connection.send(b"x")
                connection.recv(1)
        threading.Thread(target=serve, daemon=True).start()
        return "127.0.0.1:%d" % server.getsockname()[1]

    def check_what_the_start_waits_for(self, how, thread):
        address = self.database(2)
        before, began = proc.waited_for_cpu(), time.monotonic()
        p = self.launch(["--cpu", "4s", "--frequency", "999"], [dotnet.path("net11.0", "WaitApp"), "slow-start"], env={"SLOW_START": address + how})
        self.await_report()
        unseen = 0.5 * (proc.waited_for_cpu() - before) / (time.monotonic() - began)  # who waits is known by looks, which come late on a full machine
        p.send_signal(signal.SIGTERM)
        _, errors = p.communicate(timeout=60)
        report = self.report()
        start, path = report["start"], report["start"]["path"]
        waits = {(w["kind"], w["method"], w["peer"], w["thread"]): w["nanoseconds"] / 1e9 for w in path["waits"]}
        database, pause = (waits.get(k, 0) for k in (("socket", "Shop.Migrations.Run", address, thread), ("sleep", "Shop.Retry.Pause", None, "main")))
        self.assertAlmostEqual(database, 2, delta=0.25 + unseen, msg=waits)
        self.assertAlmostEqual(pause, 0.5, delta=0.2, msg=waits)
        self.assertEqual(start["of"], "process")
        self.assertGreater(start["listensNanoseconds"], 2.4e9)
        self.assertLess(start["listensNanoseconds"] - path["toNanoseconds"], 1e9)
        found = {f["id"]: f for f in report["findings"]}["StartWaits"]
        self.assertEqual((found["state"], found["place"]), ("Found", "Shop.Migrations.Run"), found)
        self.assertRegex(errors, r"^\d\.\d s until port %d: \d\d%% waiting for %s in Shop.Migrations.Run" % (start["port"], re.escape(address)))
        self.assertRegex(errors, r"\n.*% sleeping in Shop.Retry.Pause, .*% computing")

    def test_what_a_start_waits_for(self):
        self.check_what_the_start_waits_for("", "main")

    def test_what_an_async_start_waits_for(self):
        self.check_what_the_start_waits_for(",async", "pool")

    def test_one_look_at_the_heap_comes_later(self):
        """Not at its beginning, when it is empty."""
        began = time.monotonic()
        p = self.launch(["--memory", "2s"], [dotnet.path("net11.0"), "names"])
        self.await_report()
        self.assertGreater(time.monotonic() - began, 2)
        p.send_signal(signal.SIGTERM)
        _, errors = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 128 + signal.SIGTERM, errors)
        self.nothing_left()

    @unittest.skipUnless(os.environ.get("DRDOTNET_EVERY_RUNTIME"), "make runtimes")
    def test_each_profiler(self):
        waits = [dotnet.path("net11.0", "WaitApp"), "mixed"]
        for words, command in ((["--pauses", "2s"], [dotnet.path("net11.0"), "alloc"]), (["--waits", "2s"], waits), (["--threads", "2s"], waits),
                               (["--deadlocks", "2s"], waits), (["--stuck-tasks", "2s"], [dotnet.path("net11.0", "AsyncApp"), "periodic"]),
                               (["--exceptions", "2s"], [dotnet.path("net11.0", "ThrowApp"), "parse"]),
                               (["--slow-requests", "2s"], [dotnet.path("net11.0", "RequestApp"), "bare"]),
                               (["--leak", "5s"], [dotnet.path("net11.0"), "alloc"]), (["--strings", "1s"], [dotnet.path("net11.0"), "alloc"])):
            with self.subTest(words[0]):
                p = self.launch(words, ["timeout", "15", *command])
                _, errors = p.communicate(timeout=90)
                self.assertEqual(p.returncode, 124, errors)
                self.assertTrue(self.report()["findings"] is not None, errors)
                self.nothing_left()

    @unittest.skipUnless(os.environ.get("DRDOTNET_EVERY_RUNTIME"), "make runtimes")
    def test_single_files_and_trimmed_ahead_of_time_publishes(self):
        for name in ("LineSingle", "LineReady"):
            with self.subTest(name):
                p = self.launch(["--cpu", "3s"], [dotnet.path("net11.0", name), "all"])
                self.await_report()
                p.send_signal(signal.SIGTERM)
                p.communicate(timeout=60)
                self.assertIn("Lines.Program.Main", json.dumps(self.report()["methods"]), "what ran once, at the beginning")

    def test_a_process_that_ends_at_once(self):
        p = self.launch(["--cpu", "3s"], [dotnet.path("net11.0"), "nonsense"])
        _, errors = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 2, errors)
        self.assertIn("exit code 2", errors)
        self.nothing_left()

    def test_a_process_that_is_killed(self):
        p = self.launch(["--cpu", "60s"], [dotnet.path("net10.0"), "hot"])
        proc.wait_until(lambda: glob.glob(self.tmp + "/.drdotnet-*"), 60, "a session")
        time.sleep(1)
        with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
            for child in f.read().split():
                if os.readlink("/proc/%s/exe" % child).endswith("/Checkout"):
                    os.kill(int(child), signal.SIGKILL)
        _, errors = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 128 + signal.SIGKILL, errors)
        self.assertIn("the process ended with exit code 137 (SIGKILL).", errors)
        self.assertEqual(self.report()["time"]["processExit"], {"code": 137, "signal": "SIGKILL"})
        self.nothing_left()

    def test_allocations(self):
        p = self.launch(["--allocations", "3s"], [dotnet.path("net10.0"), "alloc"])
        self.await_report()
        p.send_signal(signal.SIGTERM)
        _, errors = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 128 + signal.SIGTERM, errors)
        self.nothing_left()

    def test_other_net_processes_of_the_command_go_on(self):
        script = "%s idle --threads 1 >/dev/null & first=$!; sleep 1; timeout 5 %s idle --threads 1; kill $first; wait; exit 9"
        p = self.launch(["--cpu", "3s"], ["/bin/sh", "-c", script % (dotnet.path("net11.0"), dotnet.path("net8.0"))])
        out, errors = p.communicate(timeout=120)
        self.assertEqual(p.returncode, 9, errors)
        self.assertIn('"t_s"', out, "the second one ran: %s" % errors)
        self.nothing_left()

    def test_a_signal_ends_the_session_and_reaches_the_command(self):
        script = "trap 'echo asked; kill $app; exit 5' TERM; %s hot >/dev/null & app=$!; wait"
        p = self.launch(["--cpu", "60s"], ["/bin/sh", "-c", script % dotnet.path("net11.0")])
        proc.wait_until(lambda: glob.glob(self.tmp + "/.drdotnet-*"), 60, "a session")
        time.sleep(2)
        p.send_signal(signal.SIGTERM)
        out, errors = p.communicate(timeout=60)
        self.assertEqual((p.returncode, out), (5, "asked\n"), errors)
        self.nothing_left()

    def test_commands_without_a_runtime(self):
        for command, code, out, says in (
                (["/bin/sh", "-c", "echo hello; exit 7"], 7, "hello\n", "NoDotnetProcess: the command ended before a .NET process"),
                (["/bin/sh", "-c", "kill -KILL $$"], 137, "", "NoDotnetProcess"),
                ([self.folder + "/missing"], 127, "", "No such file or directory"),
                (["/etc/passwd"], 126, "", "Permission denied")):
            with self.subTest(command=command):
                p = self.launch(["--cpu", "3s"], command)
                got, errors = p.communicate(timeout=60)
                self.assertEqual((p.returncode, got), (code, out), errors)
                self.assertIn(says, errors)
                self.nothing_left()

    def test_a_runtime_that_opens_no_port_goes_on(self):
        p = self.launch(["--cpu", "3s"], ["timeout", "3", dotnet.path("net11.0"), "idle", "--threads", "1"], env={"DOTNET_EnableDiagnostics": "0"})
        out, errors = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 124, errors)
        self.assertIn('"t_s"', out)
        self.assertIn("NoDotnetProcess", errors)
        self.nothing_left()
