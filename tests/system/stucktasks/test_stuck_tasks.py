"""StuckTasks on real applications whose async operations are known (tests/apps/AsyncApp): what is stuck and why, and no alarm where nothing is."""
import json
import os
import tempfile
import unittest

from tests.lib import dotnet, postgres, schemas
from tests.lib.local import drdotnet

FILES = {"summary.md", "report.html", "report.json"}
RULES = {"TaskNeverCompleted", "SemaphoreNotReleased", "ConnectionNotFree", "ReplyMissing", "ResponseMissing", "ChannelFull", "ThreadsBlockOnTasks",
         "TaskFaultUnseen"}


def wrong(report):
    """What the schema says against it."""
    return ["%s: %s" % (list(e.absolute_path), e.message[:200]) for e in schemas.validator("report-schema-stuck-tasks.json").iter_errors(report)][:5]


class OnEachRuntime:
    framework = None
    app = dotnet.AsyncApp

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-tasks-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def look(self, mode, **env):
        tmp = os.path.join(self.folder, "tmp-" + mode)
        os.makedirs(tmp)
        with self.app(mode, self.framework, self.folder, env={"TMPDIR": tmp, **env}) as app:
            app.tmp = tmp
            app.progress()
            before, out = dotnet.Traces(app), os.path.join(self.folder, "report-" + mode)
            code, _, errors = drdotnet("run", "--stuck-tasks", str(app.pid), "--duration", "2", "--pause-budget", "10000", "-o", out)
            self.assertEqual(code, 0, errors)
            with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
                report = json.load(f)
            self.assertEqual(wrong(report), [])
            self.assertEqual(set(os.listdir(out)), FILES)
            said = {x["id"] for part in ("findings", "excluded", "notMeasured") for x in report[part]}
            self.assertEqual(said, RULES)
            self.assertEqual(report["looks"]["collected"], self.framework == "net8.0")
            app.assert_progress()
            dotnet.assert_nothing_left(self, app, before)
            return report

    def found(self, mode, *expected, **env):
        """(id, state) of each, the leading one first."""
        report = self.look(mode, **env)
        self.assertEqual([(f["id"], f["state"]) for f in report["findings"]], list(expected), report["diagnosis"]["text"])
        self.assertEqual(report["diagnosis"]["headline"], report["findings"][0]["message"])
        return report

    def healthy(self, mode, waits_for, least, **env):
        report = self.look(mode, **env)
        self.assertEqual(report["findings"], [], report["diagnosis"]["text"])
        self.assertRegex(report["diagnosis"]["headline"], "^(Nothing is stuck|No stuck operation found): ")
        self.assertGreaterEqual(report["waits"][waits_for], least, report["waits"])
        return report

    def group(self, report, place):
        groups = [g for g in report["groups"] if g["place"] == place]
        self.assertEqual(len(groups), 1, [(g["place"], g["operations"]) for g in report["groups"]])
        return groups[0]

    def test_many_at_one_await_and_one_at_another(self):
        report = self.found("stuck", ("TaskNeverCompleted", "Found"))
        self.assertEqual(report["diagnosis"]["headline"], "666 operations are stuck in Shop.Orders.LoadAsync: nobody can complete them")
        self.assertEqual(report["findings"][0]["place"], "Shop.Orders.LoadAsync")
        for place, count, number in (("Shop.Orders.LoadAsync", 666, 1), ("Shop.Orders.CloseAsync", 1, 2)):
            g = self.group(report, place)
            self.assertEqual((g["operations"], g["lasting"], g["unheld"], g["calls"][0]["await"]), (count, count, count, number))

    def test_collections_all_the_time(self):
        report = self.found("garbage", ("TaskNeverCompleted", "Found"))
        self.assertIn(" stuck in Shop.Orders.LoadAsync", report["diagnosis"]["headline"])
        self.assertEqual(self.group(report, "Shop.Orders.LoadAsync")["operations"], 666)

    def test_replies_that_never_came(self):
        report = self.found("pending", ("ReplyMissing", "Possible"))
        self.assertRegex(report["diagnosis"]["headline"], r"^100 operations may be stuck in Shop.Rpc.CallAsync: no reply in \d+ s$")
        self.assertEqual(self.group(report, "Shop.Rpc.CallAsync")["unheld"], 0)

    def test_requests_without_a_connection(self):
        report = self.found("http", ("ConnectionNotFree", "Found"))
        self.assertEqual(report["diagnosis"]["headline"], "36 requests wait for an HTTP connection in Shop.Sick.PriceAsync: all 4 in use")
        self.assertEqual(report["pool"], {"of": "http", "open": 4, "idle": None, "most": 4, "waiting": 36, "lasting": 36})
        self.assertEqual(report["measured"]["httpOpen"], 4)

    @unittest.skipIf(postgres.missing(), postgres.missing())
    def test_requests_without_a_connection_to_the_database(self):
        with postgres.Server() as server:
            report = self.found("database", ("ConnectionNotFree", "Found"), DATABASE=server.connection)
            self.assertEqual(report["diagnosis"]["headline"], "36 requests wait for a database connection in …Pools.OrderAsync: all 4 in use")
            self.assertIn("of those with a connection 4 are in Shop.Pools.ReportAsync", json.dumps(report["findings"][0]))
            self.assertEqual(report["pool"], {"of": "database", "open": 4, "idle": 0, "most": 4, "waiting": 36, "lasting": 36})
            report = self.found("databaseleak", ("ConnectionNotFree", "Found"), DATABASE=server.connection)
            self.assertIn("or they were not given back", json.dumps(report["findings"][0]))
            self.healthy("databasebusy", "database", 1, DATABASE=server.connection)

    def test_failures_that_nobody_saw(self):
        report = self.found("faulted", ("TaskFaultUnseen", "Possible"))
        self.assertEqual(report["diagnosis"]["headline"], "200 tasks of Shop.Sick.FailAsync failed; their exceptions may be unobserved")

    def test_operations_that_were_given_up(self):
        """Nothing refers to them, and the runtime has not yet collected them: .NET 8 is looked at in a collection."""
        if self.framework == "net8.0":
            self.assertEqual(self.look("givenup")["findings"], [])
            return
        report = self.found("givenup", ("TaskNeverCompleted", "Possible"))
        self.assertEqual(report["measured"]["neverKept"], 0)


class OnNewest(OnEachRuntime):
    """On the others with DRDOTNET_EVERY_RUNTIME only (make runtimes)."""

    def test_a_semaphore_taken_twice(self):
        report = self.found("twice", ("SemaphoreNotReleased", "Possible"))
        self.assertEqual(report["diagnosis"]["headline"], "96 operations may be stuck behind a SemaphoreSlim in Shop.Cache.GetAsync")
        report = self.found("growing", ("SemaphoreNotReleased", "Found"))
        self.assertRegex(report["diagnosis"]["headline"], r"^\d+ operations wait in Shop.Cache.GetAsync: a SemaphoreSlim is not released$")

    def test_long_polls_and_timers(self):
        report = self.healthy("polls", "timer", 5000)
        self.assertRegex(report["diagnosis"]["headline"], r"^Nothing is stuck: 5,\d+ operations wait for timers, as is normal$")
        self.healthy("periodic", "timer", 50)

    def test_consumers_that_have_nothing_to_do(self):
        self.healthy("channels", "channel", 500)
        self.healthy("signal", "semaphore", 16)
        self.healthy("accept", "socket", 20)

    def test_a_web_server_with_idle_connections(self):
        self.healthy("keepalive", "server", 200)

    def test_slow_work_that_moves(self):
        self.healthy("moving", "timer", 20)
        self.healthy("streams", "timer", 50)
        self.healthy("gate", "semaphore", 20)
        self.healthy("replies", "completion", 20)
        self.healthy("churn", "timer", 1)

    def test_connections_that_go_round(self):
        self.healthy("httpbusy", "http", 0)

    def test_slow_downloads(self):
        self.healthy("downloads", "server", 30)

    def test_failures_that_were_seen(self):
        self.healthy("observed", "timer", 0)
        self.healthy("idle", "timer", 0)

    def test_chains_of_callers(self):
        report = self.found("nested", ("TaskNeverCompleted", "Found"))
        calls = [(c["name"], c["await"]) for c in self.group(report, "Shop.Orders.LoadAsync")["calls"]]
        self.assertEqual(calls, [("Shop.Orders.LoadAsync", 1), ("Shop.Stock.ReserveAsync", 1), ("Shop.Orders.PlaceAsync", 2)])

    def test_chains_over_all_kinds_of_methods(self):
        for mode, count, names in (("whenall", 20, ["Shop.Orders.LoadAsync", "Shop.Sick.AllAsync"]),
                                   ("pooled", 50, ["Shop.Pool.RentAsync", "Shop.Pool.UseAsync"]),
                                   ("iterator", 20, ["Shop.Feed.ReadAsync", "Shop.Feed.SumAsync"]), ("lambda", 30, ["Shop.Sick.Lambda.lambda"])):
            if mode == "lambda" and self.framework == "net8.0":
                continue  # nothing refers to them: the look's own collection takes them away
            with self.subTest(mode):
                report = self.found(mode, ("TaskNeverCompleted", "Found"))
                g = self.group(report, names[0])
                self.assertEqual((g["operations"], g["unheld"]), (count, count))
                self.assertEqual([c["name"] for c in g["calls"] if c["layer"] == "application"], names)

    def test_threads_that_block(self):
        report = self.found("blocked", ("TaskNeverCompleted", "Found"), ("ThreadsBlockOnTasks", "Possible"))
        self.assertEqual(report["measured"]["blocked"], 8)


OnOlder = OnNewest if os.environ.get("DRDOTNET_EVERY_RUNTIME") else OnEachRuntime


class Net8(OnOlder, unittest.TestCase):
    framework = "net8.0"


class Net9(OnOlder, unittest.TestCase):
    framework = "net9.0"


class Net10(OnOlder, unittest.TestCase):
    framework = "net10.0"


class Net11(OnNewest, unittest.TestCase):
    """Its libraries are compiled so that the runtime suspends their methods itself (runtime-async)."""
    framework = "net11.0"


class Runtime11(OnEachRuntime, unittest.TestCase):
    """The application's own methods as well."""
    framework = "net11.0"
    app = dotnet.AsyncRuntime
    test_chains_of_callers = OnNewest.test_chains_of_callers
    test_slow_work_that_moves = OnNewest.test_slow_work_that_moves
    test_threads_that_block = OnNewest.test_threads_that_block

    def test_failures_that_nobody_saw(self):
        """Of a failed one the runtime keeps no method."""
        report = self.found("faulted", ("TaskFaultUnseen", "Possible"))
        self.assertEqual(report["diagnosis"]["headline"], "200 tasks failed; their exceptions may be unobserved")


if __name__ == "__main__":
    unittest.main()
