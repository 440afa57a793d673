"""Faults of the link, of clocks and of the agent's disk in real sessions: what the session came to, and what was left."""
import os
import shutil
import signal
import subprocess
import time
import unittest

from tests.lib import matrix, proc, readers
from tests.system.link import harness, proxy
from tests.system.link.harness import token
from tests.system.link.test_jobs import LIBRARY, JobsCase

ILL_MACHINE = os.path.join(proc.ROOT, "build/release/tests/ill_machine.so")
TIMEOUT_S = 3  # a link that is silent for so long is given up; 35 s unless configured
REPORTS = len(readers.MEDIA)
ROOT_NEEDED = unittest.skipIf(os.geteuid() != 0, "needs root to mount file systems")


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


class FaultCase(JobsCase):
    job_count = 0

    def setUp(self):
        super().setUp()
        self.events = []

    def job(self):
        FaultCase.job_count += 1
        return "fault-%d" % FaultCase.job_count

    def until(self, job, phase, seconds=100, hub=None):
        """The job's event with this phase; those before it are kept in self.events."""
        end = time.monotonic() + seconds
        while True:
            event = (hub or self.hub).expect(max(0.1, end - time.monotonic()), event="job", job=job)
            self.events.append(event)
            if event["phase"] == phase:
                return event
            self.assertNotIn(event["phase"], ("Succeeded", "Failed", "Canceled"), event)

    def ran_once(self, job):
        """Once samples flowed the job never went back to its beginning."""
        order = ["Queued", "Preparing", "Profiling", "Analyzing", "Delivering", "Succeeded"]
        phases = [order.index(e["phase"]) for e in self.events if e["job"] == job]
        self.assertEqual(phases, sorted(phases), self.events)

    def succeeded(self, job, hub=None):
        done = self.until(job, "Succeeded", hub=hub)
        self.assertEqual((done["reports"], done["delivered"]), (REPORTS, REPORTS))
        self.assertEqual(self.stored(), set(readers.MEDIA))
        self.ran_once(job)
        shutil.rmtree(self.hub.store + "/shop")
        return done

    def wait_linked(self, agent, linked, seconds=30):
        def look():
            done = subprocess.run([harness.AGENT, "health", "--health-socket", agent.health], capture_output=True, text=True, timeout=30)
            return ("linked=%d " % linked) in done.stdout
        proc.wait_until(look, seconds, "%d links" % linked)


class Link(FaultCase):
    """The agent speaks to the controller through a proxy."""

    def setUp(self):
        super().setUp()
        self.hub.stop()
        self.hub = self.world.hub(name="timed", bind="127.0.0.1", pod_uid=self.pod_uid, link_timeout_s=TIMEOUT_S, handshake_ms=15000)
        self.hub.say("epoch", 1)
        self.proxy = proxy.Proxy(self.hub.port)
        self.addCleanup(self.proxy.__exit__)

    def start(self, **options):
        agent = self.world.agent(self.proxy.port, token("node-1"), library=LIBRARY, link_timeout_seconds=TIMEOUT_S, refresh_seconds=1, **options)
        self.hub.expect(event="node", node="node-1", linked=True)
        self.wait_linked(agent, 1)
        return agent

    def back(self):
        self.proxy.flow()
        self.hub.expect(60, event="node", node="node-1", linked=True)

    def broken_at(self, phase, break_it, agent):
        """A job whose link breaks in this phase and comes back."""
        job = self.job()
        if phase == "Delivering":
            self.hub.say("uploads", 0)
        self.order(job, 2)
        if phase != "ordered":
            self.until(job, phase)
        break_it()
        self.hub.expect(60, event="node", node="node-1", linked=False)
        self.wait_linked(agent, 0)
        self.hub.say("uploads", 1)
        self.back()
        if phase == "ordered":
            self.order(job, 2)  # as the controller does when the agent does not speak of the job
        self.succeeded(job)
        self.hub.say("forget", "node-1", job)
        proc.wait_until(lambda: self.spooled() == [], 30, "the job is forgotten")

    def test_cut_at_each_phase(self):
        agent = self.start()
        before = descriptors(agent.popen.pid), descriptors(self.hub.popen.pid)
        for phase, step in (("ordered", "the order is under way"), ("Preparing", "preparing"), ("Profiling", "profiling"), ("Delivering", "delivering")):
            self.broken_at(phase, self.proxy.cut, agent)
            matrix.row(self, "Link", step, "the link is cut", "the session goes on; one run, Succeeded, all reports delivered when the link is back")
        proc.wait_until(lambda: (descriptors(agent.popen.pid), descriptors(self.hub.popen.pid)) <= before, 30, "no descriptor is left")
        self.assert_nothing_left()

    def test_half_open_is_noticed_by_both(self):
        agent = self.start()
        before = descriptors(agent.popen.pid), descriptors(self.hub.popen.pid)
        for phase, step in (("Profiling", "profiling"), ("Delivering", "delivering")):
            began = time.monotonic()
            self.broken_at(phase, self.proxy.freeze, agent)
            self.assertLess(time.monotonic() - began, 90)
            matrix.row(self, "Link", step, "the link is half-open: no byte comes through, in either direction",
                       "both sides give it up in their time; one run, Succeeded, all reports delivered over the next link")
        proc.wait_until(lambda: (descriptors(agent.popen.pid), descriptors(self.hub.popen.pid)) <= before, 30, "no descriptor is left")
        self.assert_nothing_left()

    def test_a_link_that_drips(self):
        self.proxy.drip(256, 0.02)
        self.start()
        job = self.job()
        self.order(job, 2)
        self.succeeded(job)
        matrix.row(self, "Link", "all", "the link carries a few KB a second", "Succeeded, all reports delivered")

    def test_the_status_says_why_a_canceled_sessions_report_is_late(self):
        self.start()
        self.hub.say("uploads", 0)
        job = self.job()
        self.order(job, 60)
        self.until(job, "Profiling")
        ops = self.app.progress()["ops"]
        proc.wait_until(lambda: self.app.progress()["ops"] > ops + 20, 100, "work that is sampled")
        self.hub.say("cancel", "node-1", job)
        waiting = self.until(job, "Delivering")
        while "not delivered yet" not in waiting["message"]:
            waiting = self.until(job, "Delivering")
        self.assertEqual((waiting["reason"], waiting["message"]),
                         ("Canceled", "ended early on request; the report holds what was collected; not delivered yet: told to take no reports now"))
        self.hub.say("uploads", 1)
        done = self.until(job, "Canceled")
        self.assertEqual((done["delivered"], done["message"]), (REPORTS, "ended early on request; the report holds what was collected"))

    def test_certificate_ca_and_token_change_under_way(self):
        agent = self.start()
        job = self.job()
        self.order(job, 4)
        self.until(job, "Profiling")
        cert, key = harness.make_certificates(self.world.folder, "renewed", "renewed-ca")
        with open(self.world.folder + "/renewed-ca.crt") as more:
            renewed = more.read()
        with open(self.world.ca) as f:
            old = f.read()
        self.write_ca(old + renewed)
        self.assertTrue(self.hub.ask("cert", cert, key)["ok"])
        self.world.write_token(token("node-1", expires_in=-5))
        self.proxy.cut()
        self.proxy.flow()
        proc.wait_until(lambda: "TokenRefused" in self.hub.log(), 30, "the old token is refused")
        self.write_ca(renewed)
        self.world.write_token(token("node-1"))
        self.hub.expect(60, event="node", node="node-1", linked=True)
        self.succeeded(job)
        self.assertNotIn("cannot upload", agent.log())
        matrix.row(self, "Link", "profiling", "the certificate, its CA and the token are replaced; the old token has expired",
                   "refused until the new token is there, then linked; Succeeded, all reports delivered")

    def write_ca(self, text):
        with open(self.world.ca + ".new", "w") as f:
            f.write(text)
        os.rename(self.world.ca + ".new", self.world.ca)

    @ROOT_NEEDED
    def test_the_controllers_address_changes_and_the_old_leader_is_fenced(self):
        hosts = self.world.folder + "/hosts"
        with open(hosts, "w") as f:
            f.write("127.0.0.1 localhost controllers.test\n")
        second = self.world.hub(name="second", port=self.hub.port, bind="127.0.0.2", pod_uid=self.pod_uid, link_timeout_s=TIMEOUT_S, handshake_ms=15000,
                                upload_base="https://127.0.0.2:%d" % self.hub.port)
        first, self.hub = self.hub, self.hub
        agent = self.world.agent(self.hub.port, token("node-1"), library=LIBRARY, link_timeout_seconds=TIMEOUT_S, refresh_seconds=1,
                                 controller="controllers.test:%d" % self.hub.port, server_name="localhost",
                                 prefix=["unshare", "--mount", "--", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts])
        first.expect(60, event="node", node="node-1", linked=True)
        job = self.job()
        self.order(job, 3)
        self.until(job, "Profiling")
        first.popen.send_signal(signal.SIGSTOP)  # it does not know that it is replaced
        self.addCleanup(first.popen.send_signal, signal.SIGCONT)
        with open(hosts, "w") as f:
            f.write("127.0.0.1 localhost\n127.0.0.2 controllers.test\n")
        second.expect(60, event="node", node="node-1", linked=True)
        second.say("epoch", 2)
        self.hub = second
        self.succeeded(job)
        first.popen.send_signal(signal.SIGCONT)
        first.say("forget", "node-1", job)
        first.say("order", "node-1", "stale", self.app.container_id, 1)
        first.expect(60, event="node", node="node-1", linked=False)
        self.wait_linked(agent, 1)
        self.assertEqual(self.spooled(), [job])
        self.assertNotIn("stale", agent.log().replace("an order of an older leader is ignored", ""))
        matrix.row(self, "Link", "profiling", "the controller hangs and its name gets another address",
                   "the agent links to the new one; Succeeded, all reports delivered; what the old one says later is not obeyed")


class Clocks(FaultCase):
    def start(self, ahead=0, **options):
        self.clock = self.world.folder + "/clock"
        self.set_clock(ahead)
        return self.agent(prefix=["env", "LD_PRELOAD=" + ILL_MACHINE, "ILL_CLOCK_FILE=" + self.clock], **options)

    def set_clock(self, ahead):
        with open(self.clock + ".new", "w") as f:
            f.write("%d" % ahead)
        os.rename(self.clock + ".new", self.clock)

    def test_the_nodes_clock_is_set_in_the_session(self):
        self.start()
        for before, ahead, name in ((0, 7200, "forward"), (7200, 0, "back")):
            self.set_clock(before)
            job = self.job()
            self.order(job, 2, 90)
            self.until(job, "Profiling")
            began = time.monotonic()
            self.set_clock(ahead)
            done = self.succeeded(job)
            self.assertGreater(time.monotonic() - began, 1)
            self.assertGreaterEqual(done["completed"], done["started"])
            matrix.row(self, "Clocks", "profiling", "the node's clock is set two hours %s" % name,
                       "the session lasts as long as asked; Succeeded, it ends no earlier than it began")
        self.assert_nothing_left()

    def test_the_nodes_clock_is_wrong_all_the_time(self):
        self.start(ahead=3600)
        job = self.job()
        self.order(job, 2, 60)
        self.succeeded(job)
        matrix.row(self, "Clocks", "all", "the node's clock is an hour ahead of the controller's", "the deadline counts from the order; Succeeded")

    def test_a_clock_before_the_certificates_time(self):
        self.clock = self.world.folder + "/clock"
        self.set_clock(-10 * 86400)
        agent = self.world.agent(self.hub.port, token("node-1"), library=LIBRARY,
                                 prefix=["env", "LD_PRELOAD=" + ILL_MACHINE, "ILL_CLOCK_FILE=" + self.clock])
        proc.wait_until(lambda: "cannot link to a controller" in agent.log(), 30, "the refusal")
        self.assertIn("not yet valid", agent.log())
        self.set_clock(0)
        self.hub.expect(60, event="node", node="node-1", linked=True)
        job = self.job()
        self.order(job, 2)
        self.until(job, "Profiling")
        self.set_clock(-10 * 86400)
        waiting = self.until(job, "Delivering")
        while "not yet valid" not in waiting["message"]:
            waiting = self.until(job, "Delivering")
        self.set_clock(0)
        self.succeeded(job)
        matrix.row(self, "Clocks", "delivering", "the node's clock is set days back",
                   "Delivering with \"certificate is not yet valid\" in the status; Succeeded when the clock is right")
        matrix.row(self, "Clocks", "linking", "the node's clock is days behind",
                   "the agent's log names the certificate that is not yet valid; linked when the clock is right")


@ROOT_NEEDED
class Disks(FaultCase):
    SIZE = 16 << 20

    def start(self, seconds=0):
        """An agent with a spool of its own file system."""
        self.spool = self.world.folder + "/disk-spool"
        os.makedirs(self.spool, exist_ok=True)
        mount = 'mount -t tmpfs -o size=%d tmpfs "$0" && exec "$@"' % self.SIZE
        return self.agent(name="disk", spool=self.spool, prefix=["unshare", "--mount", "--", "sh", "-c", mount, self.spool])

    def inside(self, agent, path=""):
        return "/proc/%d/root%s/%s" % (agent.popen.pid, self.spool, path)

    def fill(self, agent, leave):
        with open(self.inside(agent, "filler"), "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"x" * 65536)
            except OSError:
                pass
            size = os.fstat(f.fileno()).st_size
            f.truncate(size - leave)

    def remount(self, agent, how):
        subprocess.run(["nsenter", "-t", str(agent.popen.pid), "-m", "mount", "-o", "remount," + how, self.spool], check=True)

    def remove(self, agent, path):
        """Though the agent writes there: what it makes meanwhile is at another place, or goes too."""
        aside = self.inside(agent, "removed")
        os.rename(self.inside(agent, path), aside)
        proc.wait_until(lambda: shutil.rmtree(aside, ignore_errors=True) or not os.path.exists(aside), 30, "the folder is removed")

    def failed(self, job, reason, message):
        done = self.until(job, "Failed")
        self.assertEqual(done["reason"], reason, done)
        self.assertIn(message, done["message"])
        return done

    def fine_again(self):
        job = self.job()
        self.order(job, 2)
        self.succeeded(job)

    def test_full_before_the_session(self):
        agent = self.start()
        self.fill(agent, 65536)
        job = self.job()
        self.order(job, 2)
        self.failed(job, "SpoolFull", "bytes left")
        self.assertNotIn("Profiling", [e["phase"] for e in self.events])
        self.assert_nothing_left()
        os.unlink(self.inside(agent, "filler"))
        self.fine_again()
        matrix.row(self, "Disks", "before the attach", "the spool's disk is full",
                   "Failed, SpoolFull; the process was not touched; the next session succeeds when there is room")

    def test_full_in_the_session(self):
        agent = self.start()
        for leave, what, least in ((0, "full", 0), (16384, "almost full", 1)):
            job = self.job()
            self.order(job, 2)
            self.until(job, "Profiling")
            self.fill(agent, leave)
            done = self.failed(job, "SpoolFull", "No space left on device")
            self.assertTrue(done["diagnosis"], done)
            self.assertLess(done["reports"], REPORTS)
            self.assertGreaterEqual(done["reports"], least)
            self.assertEqual(done["delivered"], done["reports"])
            os.unlink(self.inside(agent, "filler"))
            matrix.row(self, "Disks", "writing the reports", "the spool's disk is " + what,
                       "Failed, SpoolFull; the diagnosis is in the status, what could be written is delivered")
        self.assert_nothing_left()
        shutil.rmtree(self.hub.store + "/shop")
        self.fine_again()

    def test_read_only_in_the_session_and_for_the_next(self):
        agent = self.start()
        job = self.job()
        self.order(job, 2)
        self.until(job, "Profiling")
        self.remount(agent, "ro")
        done = self.failed(job, "SpoolUnusable", "Read-only file system")
        self.assertTrue(done["diagnosis"], done)
        self.hub.say("epoch", 2)  # it can not be kept, and is obeyed all the same
        again = self.job()
        self.order(again, 2)
        self.failed(again, "SpoolUnusable", "read-only")
        self.assert_nothing_left()
        self.remount(agent, "rw")
        self.fine_again()
        matrix.row(self, "Disks", "profiling", "the spool's file system becomes read-only",
                   "Failed, SpoolUnusable; the diagnosis is in the status; new leaders are obeyed, their sessions fail so too until it can be written")

    def test_removed_under_way(self):
        agent = self.start()
        job = self.job()
        self.order(job, 2)
        self.until(job, "Profiling")
        self.remove(agent, "jobs")
        done = self.failed(job, "SpoolUnusable", "No such file or directory")
        self.assertTrue(done["diagnosis"], done)
        self.fine_again()
        self.hub.say("uploads", 0)
        job = self.job()
        self.order(job, 2)
        self.until(job, "Delivering")
        self.remove(agent, "jobs")
        self.hub.say("uploads", 1)
        done = self.failed(job, "SpoolUnusable", "no longer in the spool")
        self.assertTrue(done["diagnosis"], done)
        matrix.row(self, "Disks", "profiling", "the spool is removed",
                   "Failed, SpoolUnusable; the diagnosis is in the status; the next session makes the folder again and succeeds")
        matrix.row(self, "Disks", "delivering", "the spool is removed", "Failed, SpoolUnusable; the diagnosis is in the status")

    def test_slow_writes(self):
        self.agent(prefix=["env", "LD_PRELOAD=" + ILL_MACHINE, "ILL_FSYNC_MS=400"])
        job = self.job()
        self.order(job, 2)
        self.succeeded(job)
        self.assert_nothing_left()
        matrix.row(self, "Disks", "all", "each flush to the disk takes 400 ms", "Succeeded, all reports delivered")

    def test_garbage_after_a_power_loss(self):
        """Torn, empty, foreign files; one damaged report of a job that was being delivered."""
        agent = self.agent()
        self.hub.say("uploads", 0)
        job = self.job()
        self.order(job, 2)
        self.until(job, "Delivering")
        agent.stop(signal.SIGKILL)
        self.hub.expect(30, event="node", node="node-1", linked=False)
        spool = self.world.folder + "/agent-spool"
        with open(spool + "/jobs/%s/state.json" % job, "rb") as f:
            state = f.read()
        for n, content in enumerate((state[:len(state) // 2], b"", b"\0" * 4096, b"{}", b"[" * 100000, b"\xff" * (600 << 10))):
            os.makedirs(spool + "/jobs/torn-%d" % n)
            with open(spool + "/jobs/torn-%d/state.json" % n, "wb") as f:
                f.write(content)
        os.makedirs(spool + "/jobs/without")
        os.makedirs(spool + "/jobs/folder/state.json")
        with open(spool + "/jobs/stray", "wb") as f:
            f.write(b"a file")
        with open(spool + "/epoch", "wb") as f:
            f.write(b"\0" * 20)
        with open(spool + "/jobs/%s/report.html" % job, "r+b") as f:
            f.write(b"\0" * 4096)
        self.hub.say("uploads", 1)
        agent = self.agent()
        done = self.until(job, "Failed")
        self.assertEqual((done["reason"], done["delivered"], done["diagnosis"]), ("SpoolUnusable", REPORTS - 1, True), done)
        self.assertEqual(self.stored(), set(readers.MEDIA) - {"report.html"})
        self.assertEqual(agent.log().count("a torn job is removed"), 9, agent.log())
        self.assertEqual(os.listdir(spool + "/jobs"), [job])
        matrix.row(self, "Disks", "starting", "states in the spool are torn, empty, foreign or garbage",
                   "cleared away with a line in the log each; what is whole is taken up")
        matrix.row(self, "Disks", "delivering", "one of the reports is damaged on the disk",
                   "Failed, SpoolUnusable; the damaged one is not sent, the others are delivered; the diagnosis is in the status")

    def test_the_controllers_own_store_is_full(self):
        self.hub.stop()
        store = self.world.folder + "/small-store"
        os.makedirs(store)
        mount = 'mount -t tmpfs -o size=256k tmpfs "$0" && exec "$@"'
        self.hub = self.world.hub(name="small", pod_uid=self.pod_uid, prefix=["unshare", "--mount", "--", "sh", "-c", mount, store])
        self.hub.say("epoch", 1)
        self.hub.store = "/proc/%d/root%s" % (self.hub.popen.pid, store)
        with open(self.hub.store + "/filler", "wb") as f:
            f.write(b"x" * (240 << 10))
        self.agent()
        job = self.job()
        self.order(job, 2)
        waiting = self.until(job, "Delivering")
        while "ReportStoreFull" not in waiting["message"]:
            waiting = self.until(job, "Delivering")
        self.assertIn("503 ReportStoreFull to report", waiting["message"])
        self.assertTrue(waiting["diagnosis"])
        subprocess.run(["nsenter", "-t", str(self.hub.popen.pid), "-m", "mount", "-o", "remount,size=64m", store], check=True)
        self.succeeded(job)
        matrix.row(self, "Disks", "delivering", "the disk of the controller's own store is full",
                   "Delivering with 503 ReportStoreFull and the diagnosis in the status; Succeeded when there is room")


if __name__ == "__main__":
    unittest.main()
