"""docs/link-protocol.md names every message, field, phase and close reason of the sources, with their bounds."""
import os
import re
import unittest

from tests.lib import proc


def read(path):
    with open(os.path.join(proc.ROOT, path)) as f:
        return f.read()


class Document(unittest.TestCase):
    one_process = True

    @classmethod
    def setUpClass(cls):
        cls.text = read("docs/link-protocol.md")
        cls.words = set(re.findall(r"`([A-Za-z0-9._]+)`", cls.text))

    def test_every_message_field_and_phase(self):
        names = read("common/link/link_msg.c")
        types = re.findall(r"\[LINK_MSG_\w+\] = \"(\w+)\"", names)
        phases = re.findall(r"\[JOB_\w+\] = \"(\w+)\"", names)
        fields = set()
        for path in ("link_msg.c", "link_msg_read.c", "link_msg_write.c", "link_observation.c",
                     "link_process.c"):
            source = read("common/link/" + path)
            fields |= set(re.findall(r"(?:put_\w+|json_object_set_new)\(\w+, \"(\w+)\"", source))
            fields |= set(re.findall(r"(?:read_\w+|jsonx_\w+)\(\w+, (?:\"[^\"]*\"|path), \"(\w+)\"", source))
        self.assertGreaterEqual(len(types), 16)
        self.assertEqual(len(phases), 8)
        self.assertGreater(len(fields), 45)
        self.assertEqual((set(types) | set(phases) | fields) - self.words, set())

    def test_every_reason_to_close(self):
        reasons = set(re.findall(r'close_soon\([^";]*"(\w+)"', read("controller/link/link_conn.c")))
        reasons |= set(re.findall(r'"(TokenRefused|ReviewFailed)"', read("controller/link/link_conn.c")))
        reasons |= set(re.findall(r'"(NotReady|TooMany\w+)"', read("controller/link/link_server.c")))
        self.assertGreater(len(reasons), 12)
        self.assertEqual(reasons - self.words, set())

    def test_bounds(self):
        def number(path, name):
            value = re.search(r"#define %s \(?([0-9 *]+)" % name, read(path)).group(1)
            product = 1
            for factor in value.split("*"):
                product *= int(factor)
            return product
        header, codec, client = "common/link/link_msg.h", "common/link/link_msg_private.h", "agent/link/link_client.h"
        for path, name, said in ((header, "LINK_MESSAGE_MAX", "more than 256 KiB"), (header, "LINK_MAX_JOBS", "list of jobs, <= 64"),
                                 (header, "LINK_MAX_REPORTS", "list, <= 8"), (header, "LINK_MAX_PODS", "`pods` (required, <= 256)"),
                                 (codec, "LINK_TEXT_TOKEN", "<= 16 KiB"), (codec, "LINK_TEXT_URL", "`url` (<= 16 KiB"),
                                 (codec, "LINK_TEXT_DIAGNOSIS", "<= 2 KiB"), (codec, "LINK_TEXT_HEADLINE", "<= 320 bytes"),
                                 (client, "LINK_CLIENT_MAX_LINKS", "up to 8 addresses"), (client, "LINK_CLIENT_REFRESH_MS", "every 30 s"),
                                 ("agent/link/link_client.c", "PING_AFTER_S", "after 25 s"), ("agent/link/link_client.c", "HANG_UP_AFTER_S", "after 35 s"),
                                 ("controller/link/link_server.c", "PING_AFTER_S", "after 25 s"),
                                 ("controller/link/link_server.c", "HANDSHAKE_TIMEOUT_MS", "within 15 s"),
                                 ("controller/link/link_server.h", "LINK_SERVER_MAX_CONNECTIONS", "8192 connections"),
                                 ("controller/link/agent_hub_private.h", "AGENT_HUB_MAILBOX_MAX", "64 waiting messages"),
                                 ("agent/jobs/job_table.h", "JOB_TABLE_FORGOTTEN", "last 64 forgotten"),
                                 ("controller/kube/token_review.h", "TOKEN_REVIEW_CACHE_MS", "believed for 60 s"),
                                 ("agent/jobs/jobs.h", "JOBS_DELIVERY_BOUND_MS", "after 24 h")):
            value = number(path, name)
            digits = int(re.search(r"\d+", said).group())
            unit = {"KiB": 1024}.get(said.split()[-1], 1)
            if name.endswith("_MS"):
                unit = {"s": 1000, "h": 3600 * 1000}[said.split()[-1]]
            self.assertIn(said, self.text)
            self.assertEqual(digits * unit, value, name)


if __name__ == "__main__":
    unittest.main()
