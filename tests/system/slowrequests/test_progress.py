"""What a session of SlowRequests tells while it runs, on a terminal."""
import os
import pty
import re
import signal
import subprocess
import termios
import threading
import unittest

from tests.lib import proc
from tests.lib.local import DRDOTNET
from tests.system.slowrequests.target import RequestsCase


class Progress(RequestsCase):
    def test_what_is_seen_so_far(self):
        app = self.target("net10.0")
        ours, its = pty.openpty()
        termios.tcsetwinsize(its, (50, 200))
        session = subprocess.Popen([DRDOTNET, "run", "--slow-requests", str(app.pid), "--duration", "600s", "-o", os.path.join(self.folder, "report")],
                                   stdin=its, stdout=its, stderr=its)
        os.close(its)
        shown = []

        def read():
            try:
                while data := os.read(ours, 65536):
                    shown.append(data.decode(errors="replace"))
            except OSError:
                pass  # nobody has the other end any more
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        self.addCleanup(os.close, ours)
        self.addCleanup(reader.join)
        self.addCleanup(session.wait)
        self.addCleanup(session.kill)

        def told():
            app.load("--requests", 20, "--connections", 4, "/delay/30")
            return re.findall(r"([\d,]+) requests, ([\d.]+)/s, \d+ in flight; most waiting: GET /delay/\{id\}, p95 [\d.]+ ms", "".join(shown))
        proc.wait_until(lambda: len(set(told())) > 2, 60, "what is seen so far, as it grows", 0.2)
        session.send_signal(signal.SIGINT)
        self.assertEqual(session.wait(proc.patience(60)), 0, "".join(shown)[-2000:])


if __name__ == "__main__":
    unittest.main()
