"""`drdotnet run -- COMMAND` as a test starts it."""
import glob
import json
import os
import signal
import subprocess
import tempfile

from tests.lib import local, proc


class LaunchCase(local.LocalCase):
    def launch(self, words, command, env=None, **how):
        """A drdotnet with the command under it, in a folder for temporary files of its own."""
        self.tmp = tempfile.mkdtemp(prefix="tmp-", dir=self.folder)
        self.out = os.path.join(self.folder, "report")
        p = subprocess.Popen([local.DRDOTNET, "run", *words, "-o", self.out, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             stdin=subprocess.DEVNULL, cwd=proc.ROOT, env={**os.environ, "TMPDIR": self.tmp, **(env or {})}, **how)
        self.addCleanup(self.end, p)
        return p

    def end(self, p):
        if p.poll() is None:
            p.send_signal(signal.SIGTERM)
        p.communicate(timeout=60)

    def report(self):
        with open(os.path.join(self.out, "report.json")) as f:
            return json.load(f)

    def await_report(self):
        proc.wait_until(lambda: os.path.exists(os.path.join(self.out, "report.json")), 120, "a report")

    def nothing_left(self):
        self.assertEqual(glob.glob(self.tmp + "/drdotnet-port-*"), [])
        self.assertEqual(glob.glob(self.tmp + "/.drdotnet-*"), [])
