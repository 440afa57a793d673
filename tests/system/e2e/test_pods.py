"""Containers of "pods" on one machine (tests/lib/pod.py): the right process is profiled and nothing is left in any."""
import json
import os
import socket
import unittest

from tests.lib import dotnet, install, local, pod, proc, readers, shares

# The longest folder for temporary files in which the runtime's own socket still has a name of 107 bytes.
LONG_TMPDIR = "/tmp/" + "long/" * 12 + "folders"
TOO_LONG_TMPDIR = "/tmp/" + "long/" * 20 + "folders"


@unittest.skipIf(pod.unavailable(), pod.unavailable())
class Pods(local.LocalCase):
    def pod(self, load, **how):
        made = pod.Pod(self.folder, load, **how)
        self.addCleanup(made.stop)
        return made

    def processes(self):
        code, text, errors = local.drdotnet("ps", "--json")
        self.assertEqual(code, 0, errors)
        return {p["pid"]: p for p in json.loads(text)["processes"]}

    def test_they_are_listed_with_pod_and_container(self):
        one = self.pod("idle", framework="net8.0", user=10001, readonly=True, driver="systemd")
        two = self.pod("idle", driver="cgroupfs", beside=["idle"])
        sidecar = self.pod("idle", uid=one.uid)
        silent = self.pod("idle", tmpdir=TOO_LONG_TMPDIR)
        found = self.processes()
        for made, user in ((one, 10001), (two, 0), (sidecar, 0)):
            process = found[made.pid]
            self.assertEqual(process["innerPid"], 1)
            self.assertEqual(process["podUID"], made.uid)
            self.assertEqual(process["containerID"], made.container_id)
            self.assertEqual(process["uid"], user)
            self.assertTrue(process["profilable"], process)
        second = found[two.beside[0]]
        self.assertEqual((second["podUID"], second["containerID"]), (two.uid, two.container_id))
        self.assertGreater(second["innerPid"], 1)
        self.assertEqual(found[silent.pid]["reason"], "PathTooLong", found[silent.pid])

    def test_the_right_one_is_profiled_and_nothing_is_left(self):
        ill = self.pod("hot", framework="net8.0", user=10001, readonly=True)
        well = self.pod("shares")
        ill.warm()
        well.warm(400)
        before = {made: dotnet.Traces(made) for made in (ill, well)}
        shares.check_hot(self, readers.folded(self.run_session(ill, 4, "--frequency", "499")))
        samples = readers.folded(self.run_session(well, 4, "--frequency", "499"))
        shares.check(self, samples, well.shares(well.during))
        self.assertEqual(samples.share(shares.TAX), 0)
        for made in (ill, well):
            made.assert_progress()
            self.assert_nothing_left(made, before[made])

    def test_a_crowded_container(self):
        """Two processes, a deep TMPDIR, a read-only root, another uid, and sockets of processes that are no more."""
        made = self.pod("hot", user=10001, readonly=True, tmpdir=LONG_TMPDIR, beside=["shares"])
        made.warm()
        here = os.open(made.tmp, os.O_RDONLY)
        self.addCleanup(os.close, here)
        for name in ("dotnet-diagnostic-1-1-socket", "dotnet-diagnostic-1-99999999999-socket"):
            with socket.socket(socket.AF_UNIX) as stale:
                stale.bind("/proc/self/fd/%d/%s" % (here, name))
        other = dotnet.seen(made.beside[0], made.tmp)
        before = {p: dotnet.Traces(p) for p in (made, other)}
        shares.check_hot(self, readers.folded(self.run_session(made, 3, "--frequency", "499")))
        out = self.folder + "/other"
        code, text, errors = local.drdotnet("run", "--profiler", "CPUHotpaths", "--duration", "3s",
                                          "--frequency", "499", "--pid", other.pid, "-o", out)
        self.assertEqual(code, 0, text + errors)
        samples = readers.folded(out)
        self.assertGreater(samples.share("Checkout.Loads.Threaded"), 0.7, samples.leaves())
        self.assertEqual(samples.share(shares.TAX), 0)
        made.assert_progress()
        for process in (made, other):
            self.assert_nothing_left(process, before[process])

    def test_the_cpu_limit_is_told(self):
        made = self.pod("hot", cpu_limit=0.5)
        out = self.run_session(made, 4)
        with open(out + "/summary.md") as f:
            self.assertRegex(f.read(), r"(?i)limit|throttl")


@unittest.skipIf(pod.unavailable(), pod.unavailable())
class Capabilities(local.LocalCase):
    """`drdotnet run` as uid 0 without any right but these, on a pod of another uid."""

    def setUp(self):
        super().setUp()
        self.made = pod.Pod(self.folder, "warm", user=10001, readonly=True)
        self.addCleanup(self.made.stop)
        self.made.warm()
        self.before = dotnet.Traces(self.made)

    def profile(self, capabilities, prefix=()):
        """(exit code, what it said); the reports are in self.out."""
        self.out = self.folder + "/out"
        words = [*install.with_capabilities(capabilities), *prefix, local.DRDOTNET, "run", "--profiler", "CPUHotpaths",
                 "--duration", "4s", "--frequency", "499", "--pid", str(self.made.pid), "-o", self.out]
        with proc.Process(words, log=self.folder + "/run.log") as run:
            proc.wait_until(run.ended, 60, "drdotnet ends")
            code = run.popen.returncode
        self.assert_nothing_left(self.made, self.before)
        return code, run.log()

    def sampling(self):
        with open(self.out + "/report.json") as f:
            return json.load(f)["sampling"]

    def test_three_are_enough(self):
        words = [*install.with_capabilities(install.HOST_PID_CAPABILITIES), "cat", "/proc/self/status"]
        with proc.Process(words, log=self.folder + "/status.log") as status:
            status.wait_log("(?m)^CapEff:\t0000004000080002$")
        code, text = self.profile(install.HOST_PID_CAPABILITIES)
        self.assertEqual(code, 0, text)
        shares.check_hot(self, readers.folded(self.out))
        shares.check_rate(self, self.out, 499)
        self.assertEqual(self.sampling()["method"], "perf-cpu")

    def test_without_sys_ptrace_it_says_so(self):
        code, text = self.profile("+dac_override,+perfmon")
        self.assertNotEqual(code, 0, text)
        self.assertRegex(text, r"PermissionDenied.*SYS_PTRACE")

    def test_without_dac_override_it_says_so(self):
        code, text = self.profile("+sys_ptrace,+perfmon")
        self.assertNotEqual(code, 0, text)
        self.assertRegex(text, r"PermissionDenied.*DAC_OVERRIDE")

    def test_without_perfmon_timers_in_the_process_sample(self):
        """The default seccomp profile of container runtimes forbids perf events to who lacks PERFMON."""
        code, text = self.profile("+sys_ptrace,+dac_override", [proc.ROOT + "/build/release/tests/deny-perf"])
        self.assertEqual(code, 0, text)
        shares.check_hot(self, readers.folded(self.out))
        sampling = self.sampling()
        self.assertEqual((sampling["method"], sampling["fallbackReason"]), ("signal-timer", "PerfEventsForbidden"))
        self.assertIn("CAP_PERFMON", sampling["fallbackMessage"])


if __name__ == "__main__":
    unittest.main()
