"""Two "pods" on one machine (tests/lib/pod.py): the right process is profiled and nothing is left in either."""
import json
import os
import subprocess
import unittest

from tests.lib import dotnet, local, pod, proc, readers

AGENT_CAPABILITIES = ["setpriv", "--bounding-set=-all,+sys_ptrace,+dac_override,+perfmon", "--inh-caps=-all",
                      "--no-new-privs", "--"]


@unittest.skipIf(pod.unavailable(), pod.unavailable())
class Pods(local.LocalCase):
    def pod(self, load, **how):
        made = pod.Pod(self.folder, load, **how)
        self.addCleanup(made.stop)
        return made

    def test_they_are_listed_with_pod_and_container(self):
        one = self.pod("idle", framework="net8.0", user=10001, readonly=True, driver="systemd")
        two = self.pod("idle", driver="cgroupfs")
        code, text, errors = local.drdotnet("ps", "--json")
        self.assertEqual(code, 0, errors)
        found = {p["pid"]: p for p in json.loads(text)["processes"]}
        for made, user in ((one, 10001), (two, 0)):
            process = found[made.pid]
            self.assertEqual(process["innerPid"], 1)
            self.assertEqual(process["podUID"], made.uid)
            self.assertEqual(process["containerID"], made.container_id)
            self.assertEqual(process["uid"], user)
            self.assertTrue(process["profilable"], process)

    def test_the_right_one_is_profiled_and_nothing_is_left(self):
        ill = self.pod("hot", framework="net8.0", user=10001, readonly=True)
        well = self.pod("shares")
        before = {made: dotnet.Traces(made) for made in (ill, well)}
        samples = readers.folded(self.run_session(ill, 4))
        self.assertGreater(samples.self_share("Checkout.Pricing.Tax.Compute"), 0.7)
        self.assertEqual(samples.share("Checkout.Payment.Charge"), 0)
        samples = readers.folded(self.run_session(well, 4))
        self.assertGreater(samples.share("Checkout.Payment.Charge"), 0.2)
        self.assertEqual(samples.share("Checkout.Pricing.Tax.Compute"), 0)
        for made in (ill, well):
            made.assert_progress()
            self.assert_nothing_left(made, before[made])

    def test_three_capabilities_are_enough(self):
        made = self.pod("hot", user=10001, readonly=True)
        before = dotnet.Traces(made)
        status = subprocess.run([*AGENT_CAPABILITIES, "grep", "CapEff", "/proc/self/status"], capture_output=True, text=True)
        self.assertEqual(bin(int(status.stdout.split()[1], 16)).count("1"), 3, status.stdout)
        out = self.folder + "/out"
        run = proc.Process([*AGENT_CAPABILITIES, local.DRDOTNET, "run", "--profiler", "CPUHotpaths", "--duration", "4s",
                            "--pid", str(made.pid), "-o", out], log=self.folder + "/run.log")
        self.addCleanup(run.stop)
        proc.wait_until(run.ended, 40, "drdotnet ends")
        self.assertEqual(run.popen.returncode, 0, run.log())
        samples = readers.folded(out)
        self.assertGreater(samples.self_share("Checkout.Pricing.Tax.Compute"), 0.7)
        self.assertGreater(samples.total, 99 * 4 * 0.8, "perf events, not the fallback")
        self.assert_nothing_left(made, before)

    def test_the_cpu_limit_is_told(self):
        made = self.pod("hot", cpu_limit=0.5)
        out = self.run_session(made, 4)
        with open(out + "/summary.md") as f:
            self.assertRegex(f.read(), r"(?i)limit|throttl")


if __name__ == "__main__":
    unittest.main()
