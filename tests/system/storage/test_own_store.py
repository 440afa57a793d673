"""The controller's own store of reports on real file systems: quota, expiry, hostile keys and links, a full disk."""
import os
import tempfile
import unittest

from tests.system.storage import tool


class OwnStore(unittest.TestCase):
    one_process = True

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.reports = os.path.join(self.folder, "reports")

    def file(self, size, name="content"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as f:
            f.write(os.urandom(size))
        return path

    def open(self, quota, expiry=0, folder=None, prefix=()):
        store = tool.OwnStore(folder or self.reports, quota, expiry, prefix)
        self.addCleanup(store.__exit__)
        self.assertTrue(store.started["ok"], store.started)
        return store

    def set_age(self, key, seconds):
        now = os.stat(self.folder).st_mtime
        os.utime(os.path.join(self.reports, key), (now - seconds, now - seconds))

    def stored(self):
        return sorted(os.path.relpath(os.path.join(where, name), self.reports) for where, _, names in os.walk(self.reports)
                      for name in names if name != ".upload-key")

    def test_the_quota_makes_room_oldest_session_first(self):
        store, path = self.open(100000), self.file(30000)
        for session in ("a", "b", "c"):
            self.assertTrue(store("put", "ns/%s/pod/r" % session, path)["ok"])
        for age, session in ((10, "a"), (30, "b"), (20, "c")):
            self.set_age("ns/" + session, age)
        self.assertTrue(store("put", "ns/d/pod/r", path)["ok"])
        self.assertEqual(self.stored(), ["ns/a/pod/r", "ns/c/pod/r", "ns/d/pod/r"])
        self.assertEqual(store("used")["value"], 90000)

    def test_what_cannot_fit_costs_no_other_report(self):
        store, path = self.open(100000), self.file(60000)
        self.assertTrue(store("put", "ns/a/pod/r", path)["ok"])
        refused = store("put", "ns/b/pod/r", self.file(100001, "large"))
        self.assertEqual((refused["ok"], refused["kind"]), (False, "Invalid"))
        self.assertIn("100001 bytes, and the controller's store takes 100000 at most", refused["message"])
        self.assertEqual(self.stored(), ["ns/a/pod/r"])

    def test_a_report_that_is_sent_again_counts_once(self):
        store, path = self.open(100000), self.file(40000)
        for _ in range(5):
            self.assertTrue(store("put", "ns/a/pod/r", path)["ok"])
        self.assertEqual(store("used")["value"], 40000)
        self.assertEqual(self.stored(), ["ns/a/pod/r"])

    def test_expiry(self):
        store, path = self.open(100000, expiry=3600), self.file(100)
        for key in ("ns/a/pod/old", "ns/a/pod/new", "ns/b/pod/old"):
            self.assertTrue(store("put", key, path)["ok"])
            if key.endswith("old"):
                self.set_age(key, 4000)
        self.assertEqual(store("expire", 0)["value"], 2)
        self.assertEqual(self.stored(), ["ns/a/pod/new"])
        self.assertFalse(os.path.exists(os.path.join(self.reports, "ns/b")), "empty folders go too")
        self.assertEqual(store("expire", 3600 * 1000 + 5000)["value"], 1)
        self.assertEqual(store("used")["value"], 0)

    def test_keys_and_links_do_not_lead_out(self):
        store, path = self.open(100000), self.file(10)
        outside = os.path.join(self.folder, "outside")
        os.mkdir(outside)
        with open(outside + "/secret", "w") as f:
            f.write("not a report")
        self.assertTrue(store("put", "ns/a/pod/r", path)["ok"])
        for key in ("../outside/secret", "ns/../../outside/secret", "/etc/passwd", ".upload-key", "ns/./a", "ns//a", "ns/a\\..\\b",
                    "ns/%2e%2e/x", "a" * 300, "/".join("abcdefghi")):
            for verb in (("size", key), ("put", key, path)):
                self.assertFalse(store(*verb)["ok"], verb)
        os.symlink(outside, os.path.join(self.reports, "ns/link"))
        os.symlink(outside + "/secret", os.path.join(self.reports, "ns/a/pod/link"))
        for key in ("ns/link/secret", "ns/a/pod/link"):
            self.assertEqual(store("size", key)["kind"], "NotFound", key)
        self.assertEqual(os.listdir(outside), ["secret"])

    def test_restart_keeps_reports_and_clears_torn_uploads(self):
        first, path = self.open(100000), self.file(500)
        self.assertTrue(first("put", "ns/a/pod/r", path)["ok"])
        with open(os.path.join(self.reports, ".upload-tdeadbeef"), "wb") as f:
            f.write(b"x" * 1000)
        first.__exit__()
        second = self.open(100000)
        self.assertEqual(second("used")["value"], 500)
        self.assertEqual(self.stored(), ["ns/a/pod/r"])

    @unittest.skipIf(os.geteuid() != 0, "needs root to mount a small file system")
    def test_a_full_disk(self):
        os.mkdir(self.reports)
        mount = 'mount -t tmpfs -o size=512k tmpfs "$0" && exec "$@"'
        store = self.open(100 << 20, prefix=["unshare", "--mount", "sh", "-c", mount, self.reports])
        path = self.file(200000)
        self.assertTrue(store("put", "ns/a/pod/r", path)["ok"])
        self.assertTrue(store("put", "ns/b/pod/r", path)["ok"])
        for _ in range(3):
            refused = store("put", "ns/c/pod/r", path)
            self.assertEqual((refused["ok"], refused["kind"]), (False, "Retry"), refused)
            self.assertIn("No space left on device", refused["message"])
        self.assertEqual(store("used")["value"], 400000)
        self.assertEqual(store("size", "ns/c/pod/r")["kind"], "NotFound")
        self.assertTrue(store("put", "ns/c/pod/r", self.file(100000))["ok"], "the torn attempts left nothing behind")
        self.assertEqual(store("size", "ns/c/pod/r")["value"], 100000)

    def test_a_folder_that_cannot_be_used_is_told(self):
        path = self.file(1, "a-file")
        store = tool.OwnStore(path + "/reports", 1000)
        self.addCleanup(store.__exit__)
        self.assertFalse(store.started["ok"])
        self.assertIn("a-file", store.started["message"])


if __name__ == "__main__":
    unittest.main()
