"""The agent's program and the link server: linking, leaders, orders, loss, the end. No process is profiled here."""
import base64
import hashlib
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest

from tests.lib import proc
from tests.system.link import harness
from tests.system.link.harness import token


class LinkCase(unittest.TestCase):
    def setUp(self):
        self.world = harness.World()
        self.addCleanup(self.world.close)

    def health(self, agent):
        done = subprocess.run([harness.AGENT, "health", "--health-socket", agent.health], capture_output=True, text=True, timeout=20)
        return dict(word.split("=") for word in done.stdout.split() if "=" in word) if done.returncode == 0 else None

    def wait_health(self, agent, seconds=25, **wanted):
        def good():
            health = self.health(agent)
            return health if health and all(health[k] == str(v) for k, v in wanted.items()) else None
        try:
            return proc.wait_until(good, seconds, "health %s" % wanted)
        except AssertionError as e:
            raise AssertionError("%s; it is %s\n%s" % (e, self.health(agent), agent.log()[-3000:])) from None

    def linked(self, text=None, **options):
        """A leading hub and an agent that obeys it."""
        hub = self.world.hub()
        hub.say("epoch", 5)
        agent = self.world.agent(hub.port, text or token("node-1"), **options)
        hub.expect(event="node", node="node-1", linked=True)
        self.wait_health(agent, leader=1)
        return hub, agent


class Linking(LinkCase):
    def test_order_report_forget(self):
        hub, agent = self.linked()
        self.assertTrue(hub.ask("order", "node-1", "job-1")["ok"])
        failed = hub.expect(event="job", job="job-1", phase="Failed")
        self.assertEqual(failed["reason"], "NoDotnetProcess")
        self.assertEqual(self.health(agent)["jobs"], "1")
        hub.say("order", "node-1", "job-1")
        hub.expect(event="job", job="job-1", phase="Failed")  # the same order is answered with the state
        hub.say("forget", "node-1", "job-1")
        self.wait_health(agent, jobs=0)
        hub.say("order", "node-1", "job-1")
        self.assertTrue(hub.ask("order", "node-1", "job-2")["ok"])
        hub.expect(event="job", job="job-2", phase="Failed")
        self.assertEqual(self.health(agent)["jobs"], "1", "a late copy of an order starts nothing")

    def test_usage_of_unknown_pods(self):
        hub, _ = self.linked()
        event = hub.ask("usage", "node-1", "76543210-89ab-cdef-0123-456789abcdef", event="usage")
        self.assertEqual((event["cpu"], event["memory"]), (-1, -1))
        self.assertLess(event["took"], 1900, "the agent has answered")

    def test_a_fresh_token_in_the_file_is_sent(self):
        hub, agent = self.linked(token("node-1", expires_in=6), refresh_seconds=1)
        self.world.write_token(token("node-1"))
        time.sleep(6.5)
        self.assertTrue(hub.ask("order", "node-1", "job-1")["ok"])
        hub.expect(event="job", job="job-1", phase="Failed")
        self.assertNotIn("link to a controller ended", agent.log())

    def test_links_come_back_with_a_new_token_when_the_old_one_was_refused(self):
        hub = self.world.hub()
        agent = self.world.agent(hub.port, token("node-1", expires_in=-5))
        proc.wait_until(lambda: "TokenRefused" in hub.log(), 10, "the refusal")
        self.assertEqual(self.wait_health(agent, of=1)["linked"] in ("0", "1"), True)
        self.world.write_token(token("node-1"))
        hub.expect(event="node", node="node-1", linked=True)
        self.wait_health(agent, linked=1)

    def test_a_controller_that_is_not_the_right_one(self):
        cert, key = harness.make_certificates(self.world.folder, "foreign", "foreign-ca")
        foreign = harness.Hub(self.world.folder, self.world.api.kubeconfig, cert, key, name="foreign")
        self.world.programs.append(foreign)
        agent = self.world.agent(foreign.port, token("node-1"))
        proc.wait_until(lambda: "cannot link to a controller" in agent.log(), 10, "the refusal")
        other = self.world.agent(self.world.hub().port, token("node-2"), name="misnamed", server_name="another.name")
        proc.wait_until(lambda: "cannot link to a controller" in other.log(), 10, "the refusal of a name")
        for one in (agent, other):
            self.wait_health(one, linked=0)
        self.assertEqual(self.world.api.reviews, 0, "the token went to nobody")
        with open(self.world.ca, "a") as bundle, open(self.world.folder + "/foreign-ca.crt") as more:
            bundle.write(more.read())
        foreign.expect(20, event="node", node="node-1", linked=True)

    def test_no_token_and_no_ca_yet(self):
        hub = self.world.hub()
        ca = self.world.folder + "/later.crt"
        agent = self.world.agent(hub.port, token("node-1"), ca_file=ca)
        proc.wait_until(lambda: "is missing or has no certificate" in agent.log(), 10, "the complaint")
        os.rename(self.world.folder + "/agent.token", self.world.folder + "/kept")
        os.link(self.world.ca, ca)
        proc.wait_until(lambda: "is missing or empty" in agent.log(), 20, "the complaint")
        os.rename(self.world.folder + "/kept", self.world.folder + "/agent.token")
        hub.expect(20, event="node", node="node-1", linked=True)

    def test_the_authority_is_read_while_the_kubelet_has_not_brought_it(self):
        """The API server is asked until the controller has published it; what was read goes with the agent."""
        api, folder, ca = self.world.api, self.world.folder, self.world.folder + "/kubelet.crt"
        access = folder + "/access"
        os.mkdir(access)
        shutil.copy(self.world.ca, access + "/ca.crt")
        for name, text in (("token", "of the agent"), ("namespace", "drdotnet-system")):
            with open(os.path.join(access, name), "w") as f:
                f.write(text + "\n")
        copy = folder + "/link-ca.crt"
        with open(copy, "w") as f:
            f.write("of an earlier run")
        api.config_maps["link-ca"] = {}
        env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(api.server.server_address[1])}
        hub = self.world.hub()
        agent = self.world.agent(hub.port, token("node-1"), ca_file=ca, ca_config_map="link-ca", api_access=access, env=env)
        proc.wait_until(lambda: len(api.asked) >= 2, 20, "it asks again")
        self.assertEqual(set(api.asked), {("/api/v1/namespaces/drdotnet-system/configmaps/link-ca", "Bearer of the agent")})
        self.assertFalse(os.path.exists(copy))
        with open(access + "/token.new", "w") as f:
            f.write("of the agent, the next one\n")
        os.rename(access + "/token.new", access + "/token")  # as the kubelet does long before the first one ends
        proc.wait_until(lambda: api.asked[-1][1] == "Bearer of the agent, the next one", 20, "it asks with the next token")
        with open(self.world.ca) as f:
            api.config_maps["link-ca"] = {"data": {"ca.crt": f.read()}}
        began = time.monotonic()
        hub.expect(20, event="node", node="node-1", linked=True)
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(os.stat(copy).st_mode & 0o777, 0o600)
        agent.stop()
        self.assertFalse(os.path.exists(copy))

    def test_sigterm_ends_both_sides_well(self):
        hub, agent = self.linked()
        self.assertEqual(agent.stop(signal.SIGTERM), 0, agent.log())
        hub.expect(event="node", node="node-1", linked=False)
        self.assertFalse(os.path.exists(agent.health))
        self.assertEqual(hub.quit(), 0, hub.log())

    def test_sigterm_while_nothing_is_linked(self):
        agent = self.world.agent(harness.free_port(), token("node-1"))
        proc.wait_until(lambda: self.health(agent), 10, "the agent is up")
        self.assertEqual(agent.stop(signal.SIGTERM), 0, agent.log())


class Bare(LinkCase):
    """An agent without a link is well, but not ready, and says why: to its probe, and in its log again and again."""

    def ready(self, agent):
        done = subprocess.run([harness.AGENT, "ready", "--health-socket", agent.health], capture_output=True, text=True, timeout=20)
        return done.returncode, done.stdout + done.stderr

    def bare(self, agent, why):
        proc.wait_until(lambda: self.health(agent) and re.search(why, self.ready(agent)[1]), 30, why)
        code, said = self.ready(agent)
        self.assertEqual(code, 1, said)
        self.assertTrue(said.startswith("not linked: "), said)
        self.assertIsNotNone(self.health(agent), "it is alive: nothing is gained by starting it anew")

        def said_again():
            lines = [line for line in agent.log().splitlines() if "no controller is linked" in line]
            return len(lines) > 1 and re.search(why, lines[-1])
        proc.wait_until(said_again, 60, "the log says so again and again:\n" + agent.log()[-2000:])

    def test_a_name_that_nobody_knows(self):
        self.bare(self.world.agent(1, token("node-1"), controller="no-such-name.invalid:8443", refresh_seconds=1),
                  "the name no-such-name.invalid cannot be resolved")

    def test_nobody_listens(self):
        port = harness.free_port()
        self.bare(self.world.agent(port, token("node-1"), refresh_seconds=1), "no connection to 127.0.0.1 port %d: refused" % port)

    def test_another_certificate(self):
        hub = self.world.hub()
        self.bare(self.world.agent(hub.port, token("node-1"), server_name="another.name", refresh_seconds=1),
                  "certificate of 127.0.0.1 is not accepted: hostname mismatch .expected for another.name")

    def test_a_token_that_is_refused_and_then_a_good_one(self):
        hub = self.world.hub()
        hub.say("epoch", 5)
        agent = self.world.agent(hub.port, token("node-1", expires_in=-5), refresh_seconds=1)
        self.bare(agent, "refuses this agent's token")
        self.world.write_token(token("node-1"))
        proc.wait_until(lambda: self.ready(agent)[0] == 0, 60, "it is ready")
        self.assertRegex(self.ready(agent)[1], "^ok linked=1")

    def test_no_token(self):
        agent = self.world.agent(self.world.hub().port, token("node-1"), token_file=self.world.folder + "/none", refresh_seconds=1)
        self.bare(agent, "the token file .*/none is missing or empty")


class Loss(LinkCase):
    def test_links_without_a_word_stay(self):
        """Whoever asks first whether the other end is there: the controller, or both."""
        hub = self.world.hub(bind="127.0.0.1", link_timeout_s=3)
        for node, seconds in (("node-1", 35), ("node-2", 3)):
            self.world.agent(hub.port, token(node), link_timeout_seconds=seconds)
            hub.expect(event="node", node=node, linked=True)
        with self.assertRaises(AssertionError, msg="a link ended"):
            hub.expect(8, event="node", linked=False)

    def test_a_restarted_controller_learns_of_all_jobs(self):
        hub, agent = self.linked()
        for n in range(3):
            hub.say("order", "node-1", "job-%d" % n)
            hub.expect(event="job", job="job-%d" % n, phase="Failed")
        hub.stop(signal.SIGKILL)
        again = self.world.hub(name="again", port=hub.port)
        seen = {}
        again.expect(20, event="node", node="node-1", linked=True, epoch=5)
        while len(seen) < 3:
            event = again.expect(event="job")
            seen[event["job"]] = event["phase"]
        self.assertEqual(seen, {"job-%d" % n: "Failed" for n in range(3)})
        again.say("epoch", 6)
        self.wait_health(agent, epoch=6, leader=1)

    def test_tries_get_rarer_and_are_spread(self):
        refusals = []
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def refuse():
            while True:
                try:
                    listener.accept()[0].close()
                except OSError:
                    return
                refusals.append(time.monotonic())
        threading.Thread(target=refuse, daemon=True).start()
        agents = [self.world.agent(listener.getsockname()[1], token("node-1"), name="agent-%d" % n) for n in range(2)]
        time.sleep(12)
        for agent in agents:
            tries = agent.log().count("cannot link to a controller")
            # 0.25-0.5, 0.5-1, 1-2, 2-4, 4-8 s: in 12 s at most five more tries than waits of the shortest kind
            self.assertTrue(3 <= tries <= 7, agent.log())
        self.assertTrue(6 <= len(refusals) <= 14, refusals)

    def test_a_silent_controller_does_not_hang_the_agent(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        agent = self.world.agent(listener.getsockname()[1], token("node-1"))
        proc.wait_until(lambda: "cannot link to a controller" in agent.log(), 25, "it gives up")
        self.assertEqual(self.health(agent)["linked"], "0")
        self.assertEqual(agent.stop(signal.SIGTERM), 0)

    def test_a_controller_that_sends_too_much_or_nonsense(self):
        sent = []

        def serve(s):
            head = b""
            while b"\r\n\r\n" not in head:
                head += s.recv(4096)
            key = re.search(rb"Sec-WebSocket-Key: (\S+)", head, re.I).group(1)
            s.sendall(b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: drdotnet.link.v1\r\n"
                      b"Sec-WebSocket-Accept: " + accept(key) + b"\r\n\r\n")
            text = [b'{"type":"of the future","pad":"%s"}' % (b"x" * 262200), b"{", b'{"type":"order","epoch":1}'][len(sent) % 3]
            sent.append(text)
            s.sendall(b"\x81\x7f" + len(text).to_bytes(8, "big") + text)
            while s.recv(4096):
                pass
        port = self.serve_tls(serve)
        agent = self.world.agent(port, token("node-1"))
        proc.wait_until(lambda: len(sent) >= 4, 25, "four links")
        log = agent.log()
        self.assertIn("message is too large", log)
        self.assertGreaterEqual(log.count("speaks nonsense"), 2)
        self.assertEqual(self.health(agent)["jobs"], "0")

    def serve_tls(self, serve):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.world.cert, self.world.key)
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def run():
            while True:
                try:
                    plain = listener.accept()[0]
                except OSError:
                    return
                try:
                    with context.wrap_socket(plain, server_side=True) as s:
                        serve(s)
                except OSError:
                    pass
        threading.Thread(target=run, daemon=True).start()
        return listener.getsockname()[1]


def accept(key):
    return base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())


@unittest.skipIf(os.geteuid() != 0, "a /etc/hosts of its own for the agent needs root")
class TwoControllers(LinkCase):
    """Two replicas behind one name: the agent has links to both."""

    def setUp(self):
        super().setUp()
        self.port = harness.free_port()
        self.hubs = [self.world.hub(name="hub-%d" % n, port=self.port, bind="127.0.0.%d" % n) for n in (1, 2)]
        hosts = self.world.folder + "/hosts"
        with open(hosts, "w") as f:
            f.write("127.0.0.1 localhost controllers.test\n127.0.0.2 controllers.test\n")
        self.prefix = ["unshare", "--mount", "--", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts]

    def agent(self, **options):
        made = self.world.agent(self.port, token("node-1"), controller="controllers.test:%d" % self.port, server_name="localhost",
                                prefix=self.prefix, **options)
        for hub in self.hubs:
            hub.expect(event="node", node="node-1", linked=True)
        return made

    def test_the_newest_leader_is_obeyed_and_no_older_one(self):
        first, second = self.hubs
        agent = self.agent()
        first.say("epoch", 3)
        self.wait_health(agent, linked=2, of=2, leader=1, epoch=3)
        first.say("order", "node-1", "job-1")
        first.expect(event="job", job="job-1", phase="Failed")
        second.expect(event="job", job="job-1", phase="Failed")
        second.say("epoch", 4)
        self.wait_health(agent, epoch=4)
        first.expect(event="node", linked=True, epoch=4)
        first.say("order", "node-1", "stale")
        first.say("forget", "node-1", "job-1")
        first.expect(event="node", linked=True, epoch=4)
        proc.wait_until(lambda: "an order of an older leader is ignored" in agent.log(), 5, "the stale order")
        second.say("order", "node-1", "job-2")
        second.expect(event="job", job="job-2", phase="Failed")
        health = self.health(agent)
        self.assertEqual((health["jobs"], health["epoch"]), ("2", "4"), "neither started nor forgotten for the older leader")

    def test_each_leader_is_told_of_all_jobs_and_that_they_are_all(self):
        first, second = self.hubs
        agent = self.agent()
        first.say("epoch", 3)
        first.expect(event="complete", node="node-1", epoch=3)
        jobs = {"job-%d" % n for n in range(3)}
        for job in sorted(jobs):
            first.say("order", "node-1", job)
            second.expect(event="job", job=job, phase="Failed")
        second.say("epoch", 4)
        _, told = second._take(20, {"event": "complete", "epoch": 4})
        self.assertEqual({event["job"] for event in told if event["event"] == "job"}, jobs, "again, before it says that they are all")
        self.assertEqual(second.seen(event="complete"), [], "once")
        agent.stop(signal.SIGKILL)
        self.agent()
        _, told = second._take(20, {"event": "complete", "epoch": 4})
        self.assertTrue({event["job"] for event in told if event["event"] == "job"} >= jobs, "from the spool")

    def test_the_epoch_is_kept_over_a_restart(self):
        first, second = self.hubs
        agent = self.agent()
        second.say("epoch", 9)
        self.wait_health(agent, epoch=9)
        agent.stop(signal.SIGKILL)
        first.say("epoch", 8)
        again = self.agent()
        proc.wait_until(lambda: "an order of an older leader is ignored" in again.log(), 10, "the stale leader")
        self.wait_health(again, epoch=9, leader=1)
        first.expect(event="node", linked=True, epoch=9)

    def test_one_that_ends_leaves_the_other(self):
        first, second = self.hubs
        agent = self.agent(refresh_seconds=1)
        first.say("epoch", 2)
        self.wait_health(agent, linked=2, leader=1)
        first.stop(signal.SIGKILL)
        self.wait_health(agent, linked=1, leader=0)
        second.say("epoch", 3)
        self.wait_health(agent, linked=1, leader=1, epoch=3)
        second.say("order", "node-1", "job-1")
        second.expect(event="job", job="job-1", phase="Failed")
        self.hubs[0] = self.world.hub(name="hub-back", port=self.port, bind="127.0.0.1")
        self.hubs[0].expect(30, event="job", job="job-1", phase="Failed")


if __name__ == "__main__":
    unittest.main()
