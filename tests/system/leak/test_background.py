"""MemoryLeak beside an application whose collections run in the background: they go on. Only in the moments of a walk that forces a collection does
the runtime do without."""
import os
import re
import unittest

from tests.system.leak.driven import LeakCase, Session
from tests.system.leak.test_leak_report import load
from tests.lib import dotnet, proc

SERVER = {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"}
WITH_SERVER = dotnet.FRAMEWORKS if os.environ.get("DRDOTNET_EVERY_RUNTIME") else dotnet.FRAMEWORKS[-1:]


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
        """How many of its collections stopped the application from the session's beginning to its end, and how many the report counts."""
        self.goes_on(app)
        blocking = self.counts(app)[1]
        session = Session(self.folder, app, 1, 3, "--roots", roots)
        self.addCleanup(session.stop)
        while session.wait():
            self.goes_on(app)
            session.go()
        self.assertEqual(session.end(), 0, session.log())
        self.goes_on(app)
        return self.counts(app)[1] - blocking, load(session.out)["cost"]["blockingCollections"]

    def blocked_meanwhile(self, app):
        """A session that forces collections, and stands at each walk's end until the application has asked for some in the background: they stop it.
        Returns the report's cost, how many the application counted at these ends, and how many in all (the runtime tells of none while it lets the
        library go)."""
        self.goes_on(app)
        first = self.counts(app)[1]
        session, known = Session(self.folder, app, 1, 2, "--roots", "Exact", step="walked"), 0
        self.addCleanup(session.stop)
        while session.wait():
            before = self.counts(app)[1]
            proc.wait_until(lambda: self.counts(app)[1] >= before + 2, 60, "collections that stop the application")
            known += self.counts(app)[1] - before
            session.go()
        self.assertEqual(session.end(), 0, session.log())
        self.goes_on(app)
        with open(os.path.join(session.out, "summary.md"), encoding="utf-8") as f:
            said = re.search(r"; (\d+) blocking garbage collections while attached, ([0-9.]+) ms;", f.read())
        cost = load(session.out)["cost"]
        self.assertEqual(said.groups(), (str(cost["blockingCollections"]), "%.1f" % (cost["blockingCollectionMicroseconds"] / 1000)))
        return cost, known, self.counts(app)[1] - first

    def test_what_stopped_the_application_is_counted(self):
        for framework in dotnet.FRAMEWORKS:
            for env in ({}, SERVER) if framework in WITH_SERVER else ({},):
                with self.subTest(framework, **env):
                    app = self.start("static,background", framework, objects=500_000, env=env)
                    cost, known, blocked = self.blocked_meanwhile(app)
                    self.assertGreaterEqual(known, 4)
                    self.assertGreaterEqual(cost["blockingCollections"], known + 2, "two were forced")
                    self.assertLessEqual(cost["blockingCollections"], blocked + 2 + 2, "of two it may not have seen what they were")
                    self.assertGreater(cost["blockingCollectionMicroseconds"], 0)
                    app.stop()

    def check(self, framework, env=()):
        app = self.start("static,background", framework, objects=500_000, env=env)  # in a heap of some MB all of them stop it
        if framework != "net8.0":
            self.assertEqual(self.session(app, "NoCollection"), (0, 0))
        self.session(app, "Exact")
        app.assert_progress()

    def test_on_each_runtime(self):
        for framework in dotnet.FRAMEWORKS:
            with self.subTest(framework):
                self.check(framework)

    def test_with_the_servers_collector(self):
        for framework in WITH_SERVER:
            with self.subTest(framework):
                self.check(framework, SERVER)


if __name__ == "__main__":
    unittest.main()
