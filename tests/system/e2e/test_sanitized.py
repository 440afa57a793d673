"""The programs themselves under ASan and UBSan, on real processes: what only their own threads, sizes and moments bring about."""
import os
import re
import subprocess
import unittest

from tests.system.e2e import test_cluster
from tests.lib import install, local, proc

PROGRAMS = os.path.join(proc.ROOT, "build/asan")
FINDS = re.compile(r"ERROR: \w*Sanitizer|runtime error:|malloc\w*\(\): ")
ENV = {"ASAN_OPTIONS": "detect_leaks=1:exitcode=77:strict_string_checks=1", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=77",
       "DRDOTNET_LIBRARY": os.path.join(proc.ROOT, "build/release/libdrdotnet.so")}


class Local(local.LocalCase):
    needs = "asan"

    def command(self, *words, code=0):
        done = subprocess.run([PROGRAMS + "/drdotnet", *map(str, words)], capture_output=True, text=True, env={**os.environ, **ENV}, timeout=120)
        self.assertNotRegex(done.stderr, FINDS)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_sessions(self):
        """Also on an application whose collections of garbage are many."""
        for framework, load in (("net8.0", "names"), ("net10.0", "alloc")):
            app = self.start(load, framework)
            app.warm()
            out = self.command("run", "--profiler", "CPUHotpaths", "--duration", "2s", "--frequency", "499", "--pid", app.pid,
                               "-o", "%s/%s" % (self.folder, load))
            self.assertIn("CPU", out)
            self.assertIn("Checkout", self.command("ps"))
            app.stop()

    def test_each_profiler(self):
        app = self.start("names", "net10.0")
        for profiler, *words in (("Allocations", "--duration", "2s"), ("RuntimePauses", "--duration", "1s"), ("MemoryLeak", "--duration", "1s"),
                                 ("GCSurvivors",), ("DuplicatedStrings",)):
            with self.subTest(profiler=profiler):
                out = "%s/%s" % (self.folder, profiler)
                self.command("run", "--profiler", profiler, *words, "--pause-budget", "60000", "--pid", app.pid, "-o", out)
                self.assertIn("report.html", os.listdir(out))

    def test_refusals(self):
        self.command("run", "--profiler", "CPUHotpaths", "--pid", os.getpid(), code=1)
        self.command("run", "-f", os.path.join(proc.ROOT, "README.md"), code=1)


class Ends(unittest.TestCase):
    """A thread may end while its program ends: what OpenSSL then frees for it would be freed twice."""

    def test_openssl_is_not_taken_down(self):
        def said(*words):
            return subprocess.run([proc.ROOT + "/build/release/tests/crypto-end", *words], capture_output=True, text=True, check=True, timeout=60).stdout
        self.assertEqual(said(), "taken down\n")
        self.assertEqual(said("stay"), "")

    def test_no_program_forgets(self):
        for name in ("agent/agent_main.c", "agent/drdotnet_main.c", "controller/controller_main.c", "controller/kubectl/kubectl_main.c"):
            with open(os.path.join(proc.ROOT, name), encoding="utf-8") as f:
                self.assertRegex(f.read(), r"\tcrypto_stay\(\);\n", name)


@unittest.skipIf(test_cluster.UNAVAILABLE, test_cluster.UNAVAILABLE)
class Daemons(test_cluster.ClusterCase):
    """Without the search for leaks: it would need rights that an agent has not. tests/resilience/soak/leaks.py has them."""
    needs = "asan"

    @classmethod
    def setUpClass(cls):
        before = {name: os.environ.get(name) for name in ENV}
        os.environ.update(ENV, ASAN_OPTIONS=ENV["ASAN_OPTIONS"].replace("detect_leaks=1", "detect_leaks=0"))
        cls.addClassCleanup(cls.restore, before)
        super().setUpClass()

    @staticmethod
    def restore(before):
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})

    @classmethod
    def installation(cls, folder, cluster):
        return install.Installation(folder, cluster, cls.store, PROGRAMS)

    def test_sessions(self):
        self.agent("node-a")
        self.pod("checkout-1", "trickle")
        self.apply("one", 2)
        self.apply("other", 60)
        self.succeeded("one")
        self.i.cluster.request("DELETE", install.SESSIONS % self.namespace + "/other")
        proc.wait_until(lambda: not self.there("other"), 60, "the session is gone")
        for process in reversed(self.i.processes):
            self.assertIn(process.stop(seconds=60), (0, None), process.log()[-3000:])
            self.assertNotRegex(process.log(), FINDS)

    def there(self, name):
        items = self.i.cluster.request("GET", install.SESSIONS % self.namespace)["items"]
        return name in [s["metadata"]["name"] for s in items]


if __name__ == "__main__":
    unittest.main()
