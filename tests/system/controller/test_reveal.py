"""spec.reveal, and who asked: nothing of either without the shipped admission policy in force, which this API server may not know."""
import unittest

from tests.system.controller.fakehub import condition, session
from tests.system.controller.test_sessions import ControllerTest


class WithoutThePolicy(ControllerTest):
    def test_a_session_that_reveals_is_refused_and_others_are_not(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.sessions.create("curious", reveal=True)
        now = self.sessions.wait_condition("curious", "Accepted", "False", "RevealNotEnforced")
        self.assertEqual(condition(now, "Completed")["status"], "True")
        self.assertIn("spec.reveal is set", condition(now, "Accepted")["message"])
        self.assertIn("ValidatingAdmissionPolicy", condition(now, "Accepted")["message"])
        self.sessions.create("plain", reveal=False)
        self.assertEqual(hub.order("plain")[1]["session"]["name"], "plain")
        hub.silent("order", 0.3)

    def test_nobody_vouches_for_the_requester(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        body = session("cpu")
        body["metadata"]["annotations"] = {"drdotnet.dev/requested-by": "somebody-else"}
        self.cluster.request("POST", self.sessions.path, body)
        hub.order("cpu")
        self.assertNotIn("requestedBy", self.sessions.get("cpu")["status"])


if __name__ == "__main__":
    unittest.main()
