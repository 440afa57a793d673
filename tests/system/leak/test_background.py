"""MemoryLeak beside an application whose collections run in the background: they go on. Only in the moments of a walk that forces a collection does
the runtime do without."""
import unittest

from tests.system.leak.driven import LeakCase, Session
from tests.lib import dotnet, proc


class InTheBackground(LeakCase):
    def counts(self, app):
        details = app.ask("grow background 0")["details"]
        return details["background"], details["blocking"]

    def goes_on(self, app):
        """Each collection that the application asks for runs in the background; one that it asked for before may be under way."""
        first, _ = self.counts(app)
        proc.wait_until(lambda: self.counts(app)[0] > first, 60, "a collection in the background")
        before, blocking = self.counts(app)
        proc.wait_until(lambda: self.counts(app)[0] >= before + 3, 60, "collections in the background")
        self.assertEqual(self.counts(app)[1], blocking, "none of them stopped the application")

    def session(self, app, roots):
        """How many of its collections stopped the application from the session's beginning to its end."""
        self.goes_on(app)
        blocking = self.counts(app)[1]
        session = Session(self.folder, app, 1, 3, "--roots", roots)
        self.addCleanup(session.stop)
        while session.wait():
            self.goes_on(app)
            session.go()
        self.assertEqual(session.end(), 0, session.log())
        self.goes_on(app)
        return self.counts(app)[1] - blocking

    def check(self, framework, env=()):
        app = self.start("static,background", framework, objects=500_000, env=env)  # in a heap of some MB all of them stop it
        if framework != "net8.0":
            self.assertEqual(self.session(app, "NoCollection"), 0)
        self.session(app, "Exact")
        app.assert_progress()

    def test_on_each_runtime(self):
        for framework in dotnet.FRAMEWORKS:
            with self.subTest(framework):
                self.check(framework)

    def test_with_the_servers_collector(self):
        for framework in dotnet.FRAMEWORKS:
            with self.subTest(framework):
                self.check(framework, {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"})


if __name__ == "__main__":
    unittest.main()
