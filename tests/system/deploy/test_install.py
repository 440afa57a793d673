"""`make install` puts everything where it belongs, and it works from there."""
import os
import shutil
import subprocess
import tempfile
import unittest

from tests.lib import proc

ENV = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}


def make(*words):
    return subprocess.run(["make", "-s", *words], cwd=proc.ROOT, env=ENV, check=True, capture_output=True, text=True)


class Install(unittest.TestCase):
    one_process = True
    time_limit = 300

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def files(self):
        return sorted(os.path.relpath(os.path.join(folder, n), self.folder) for folder, _, names in os.walk(self.folder) for n in names)

    def test_install_and_uninstall(self):
        make("install", "DESTDIR=" + self.folder, "PREFIX=/usr")
        programs = ["drdotnet", "drdotnet-agent", "drdotnet-controller", "kubectl-drdotnet"]
        found = self.files()
        self.assertLessEqual({"usr/bin/" + n for n in programs + ["kubectl_complete-drdotnet"]}, set(found))
        self.assertLessEqual({"usr/share/man/man1/%s.1" % n for n in programs}, set(found))
        self.assertIn("usr/lib/drdotnet/libdrdotnet.so", found)
        for name in programs:
            done = subprocess.run([self.folder + "/usr/bin/" + name, "--version"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout.split()[0]), (0, name))
        if shutil.which("man"):
            page = subprocess.run(["man", "-l", self.folder + "/usr/share/man/man1/drdotnet-controller.1"], capture_output=True, text=True).stdout
            self.assertIn("--watch-namespaces", page)
        make("uninstall", "DESTDIR=" + self.folder, "PREFIX=/usr")
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
