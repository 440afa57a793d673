"""An agent that stands still while the application is asked all the time: what costs the application something ends before the library does."""
import os
import signal
import time

from tests.lib import proc
from tests.system.slowrequests.target import HOSTING, load
from tests.system.slowrequests.test_ends import MANY, EndsCase


class StalledAgent(EndsCase):
    framework = "net10.0"

    def looks(self, app, until):
        """Whether the application makes events for the session, about each tenth of a second."""
        told = []
        while not until(told):
            told.append(HOSTING in app.told())
            time.sleep(0.1)
        return told

    def stalled(self, app, session):
        """Requests come so fast that what is to be sent finds no room soon."""
        proc.wait_until(lambda: HOSTING in app.told(), 60, "the session listens", 0.01)
        session.send_signal(signal.SIGSTOP)

    def test_events_end_while_the_library_waits_for_its_agent(self):
        app = self.target(self.framework)
        session = self.begun(app)
        with self.busy(app, *MANY):
            self.stalled(app, session)
            told = self.looks(app, lambda _: app.library_threads() == 0)
        self.assertLess(sum(told), len(told) / 2, "told: %s" % "".join("01"[t] for t in told))

    def test_a_session_goes_on_when_its_agent_does(self):
        app = self.target(self.framework)
        session = self.begun(app)
        with self.busy(app, *MANY):
            self.stalled(app, session)
            self.looks(app, lambda told: told[-8:] == [False] * 8)
            self.assertGreater(app.library_threads(), 0)
            session.send_signal(signal.SIGCONT)
            proc.wait_until(lambda: HOSTING in app.told(), 60, "requests are followed again", 0.01)
        session.send_signal(signal.SIGINT)
        text = session.communicate(timeout=proc.patience(120))[0]
        self.assertEqual(session.returncode, 0, text)
        self.assertGreater(load(os.path.join(app.folder, "report"))["requests"]["count"], 0)
