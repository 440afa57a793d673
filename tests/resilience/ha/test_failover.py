"""Two replicas of the real program: the leader is killed, stopped, cut off; no session is lost, and none is done twice. Agents are played, over real
links."""
import os
import shutil
import signal
import tempfile
import threading
import time
import unittest

from tests.resilience.ha import replicas
from tests.lib import kube, matrix, proc

FAULTS_PROGRAM = os.path.join(proc.ROOT, "build/faults/drdotnet-controller")
PART = "Controller: two replicas"


@unittest.skipIf(replicas.unavailable(), replicas.unavailable() or "")
class HaTest(unittest.TestCase):
    one_process = True
    time_limit = 600
    world_options = {}

    @classmethod
    def setUpClass(cls):
        cls.base = tempfile.mkdtemp(prefix="drdotnet-ha-")
        cls.addClassCleanup(shutil.rmtree, cls.base, ignore_errors=True)
        cls.cluster = kube.Cluster(cls.base + "/cluster")
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.world = replicas.World(cls.base + "/world", cls.cluster, **cls.options())
        cls.addClassCleanup(cls.world.stop)
        cls.cluster.namespace("shop")
        for number, node in enumerate(cls.world.nodes):
            cls.cluster.create_pod("shop", "checkout-%d" % number, node)

    @classmethod
    def options(cls):
        return {}

    def create(self, name, number=0):
        self.world.session("shop", name, "checkout-%d" % (number % len(self.world.nodes)))
        return name


class Killed(HaTest):
    def test_under_load_and_new_orders_flow_when_its_lease_has_run_out(self):
        leader, standby = self.world.settle()
        names, ended = [], threading.Event()

        def load():
            while not ended.wait(0.15):
                names.append(self.create("load-%d" % len(names), len(names)))
        thread = threading.Thread(target=load)
        thread.start()
        try:
            proc.wait_until(lambda: len(self.world.fleet.orders()) >= 5, 60, "orders")
            leader.kill()
            killed = time.time()
            proc.wait_until(lambda: any(o.seconds > killed for o in self.world.fleet.orders() if o.epoch > 1), 60, "orders of the other")
        finally:
            ended.set()
            thread.join()
        after = min(o.seconds for o in self.world.fleet.orders() if o.seconds > killed + 0.5) - killed
        self.assertTrue(standby.leads())
        self.world.wait_succeeded(self, "shop", names)
        self.assertLess(after, 45, "new orders flow; some ten seconds where the machine is not busy")
        matrix.row(self, PART, "Profiling", "the leader is killed while sessions come",
                   "the standby leads when the Lease has run out; each session is done once")

    def test_it_comes_back_as_the_standby(self):
        leader, standby = self.world.settle()
        leader.kill()
        self.world.release_lease()
        proc.wait_until(standby.leads, 60, "the standby leads")
        again, other = self.world.settle()
        self.assertIs(again, standby)
        self.world.wait_succeeded(self, "shop", [self.create("after-the-return")])


class Paused(HaTest):
    def test_past_its_lease_and_continued(self):
        """Stopped with a session under way: what it says when it goes on is of an older leader."""
        leader, standby = self.world.settle()
        epoch = leader.metric("drdotnet_leader_epoch")
        self.world.wait_succeeded(self, "shop", [self.create("before")])
        early = self.create("early", 1)
        os.kill(leader.process.pid, signal.SIGSTOP)
        try:
            meanwhile = [self.create("meanwhile-%d" % n, n) for n in range(3)]
            proc.wait_until(standby.leads, 90, "the standby leads")
            self.world.wait_succeeded(self, "shop", [early, *meanwhile])
        finally:
            os.kill(leader.process.pid, signal.SIGCONT)
        proc.wait_until(lambda: not leader.leads(), 60, "the old one has seen that it no longer leads")
        self.world.wait_succeeded(self, "shop", [self.create("afterwards-%d" % n, n) for n in range(3)])
        self.assertTrue(standby.leads())
        self.assertGreater(standby.metric("drdotnet_leader_epoch"), epoch)
        late = [o for o in self.world.fleet.orders() if o.session == "shop/afterwards-0"]
        self.assertGreater(late[0].epoch, epoch)
        matrix.row(self, PART, "Profiling", "the leader is stopped past its lease, then continued",
                   "the standby leads with a newer epoch; what the old one says is not obeyed, and it follows")


class CutOff(HaTest):
    @classmethod
    def options(cls):
        return {"proxies": True}

    def cut_off(self, how, name):
        leader, standby = self.world.settle()
        first = [self.create("%s-under-way-%d" % (name, n), n) for n in range(2)]
        getattr(leader.proxy, how)()
        try:
            proc.wait_until(standby.leads, 90, "the standby leads")
            self.assertEqual(leader.metric("drdotnet_agents_linked"), len(self.world.nodes), "its agents are linked all the while")
            proc.wait_until(lambda: not leader.leads(), 60, "it knows that it does not lead")
            self.world.wait_succeeded(self, "shop", [*first, *[self.create("%s-new-%d" % (name, n), n) for n in range(3)]])
        finally:
            leader.proxy.flow()
        return leader, standby

    def test_from_the_api_server_alone(self):
        self.cut_off("cut", "cut")
        matrix.row(self, PART, "Profiling", "the leader is cut off from the API server, not from the agents",
                   "it resigns by its own clock; the standby leads; each session is done once")

    def test_by_a_connection_that_stands_still(self):
        self.cut_off("freeze", "frozen")
        matrix.row(self, PART, "Profiling", "the leader's connections to the API server stand still",
                   "it resigns by its own clock; the standby leads; each session is done once")


@unittest.skipUnless(os.access(FAULTS_PROGRAM, os.X_OK), "no build of the controller with steps: make test-programs")
class KilledAtAStep(HaTest):
    """`world.steps`: a folder for each replica, in which tests say where it waits."""
    EARLY = ("plan", "choose pods", "hold", "write status", "order", "tell")
    LATE = ("conclude", "write status", "forget", "release")

    @classmethod
    def options(cls):
        cls.steps = [cls.base + "/steps-%d" % n for n in range(2)]
        for folder in cls.steps:
            os.mkdir(folder)
        return {"program": FAULTS_PROGRAM, "steps": cls.steps, "work_ms": 1500}

    def kill_at(self, step, name, begin, under_way):
        """The leader waits at the step with this session in its hands, and is killed there."""
        leader, standby = self.world.settle()
        folder = self.steps[self.world.replicas.index(leader)]
        if under_way:
            begin()
            proc.wait_until(lambda: self.world.fleet.order_of("shop/" + name), 60, "its order")
            proc.wait_until(lambda: self.phase(name) == "Profiling", 60, "it is profiled")
        come = replicas.hold_at(folder, step)
        if not under_way:
            begin()
        fd = come()
        leader.kill()
        os.close(fd)
        os.unlink(os.path.join(folder, step))
        self.world.release_lease()
        self.world.wait_succeeded(self, "shop", [name])
        self.assertTrue(standby.leads())

    def phase(self, name):
        return self.cluster.request("GET", "/apis/drdotnet.dev/v1alpha1/namespaces/shop/profilingsessions/" + name).get("status", {}).get("state")

    def at_steps(self, steps, when, under_way):
        for number, step in enumerate(steps):
            with self.subTest(step):
                name = "%s-%d" % (when, number)
                self.kill_at(step, name, lambda: self.create(name, number), under_way)

    def test_before_and_with_the_order(self):
        self.at_steps(self.EARLY, "early", False)
        matrix.row(self, PART, "Pending", "the leader is killed before each of its steps", "the other one goes on; the session is done once")

    def test_when_it_has_ended(self):
        self.at_steps(self.LATE, "late", True)
        matrix.row(self, PART, "Delivering", "the leader is killed before each of its steps", "the other one goes on; the session is done once")


if __name__ == "__main__":
    unittest.main()
