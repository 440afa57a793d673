"""The shipped seccomp profiles (deploy/seccomp): well-formed, and they refuse what agent and controller never do. That they refuse
nothing that is needed is shown by tests/system/deploy/test_images.py, where whole sessions run under them."""
import errno
import json
import os
import signal
import subprocess
import tempfile
import unittest

from tests.lib import proc

TOOLS = os.path.join(proc.ROOT, "build/release/tests")
PROFILES = {role: os.path.join(proc.ROOT, "deploy/seccomp", role + ".json") for role in ("agent", "controller")}
ONLY_AGENT = {"perf_event_open", "pidfd_open", "inotify_init1"}
# What the C library of arm64 calls in the place of calls that only x86_64 has.
ON_ARM64 = {"access": "faccessat", "chmod": "fchmodat", "dup2": "dup3", "epoll_create": "epoll_create1", "epoll_wait": "epoll_pwait",
            "lstat": "newfstatat", "mkdir": "mkdirat", "open": "openat", "pipe": "pipe2", "poll": "ppoll", "readlink": "readlinkat",
            "rename": "renameat", "rmdir": "unlinkat", "select": "pselect6", "stat": "newfstatat", "time": "gettimeofday",
            "unlink": "unlinkat", "arch_prctl": None, "getrlimit": "prlimit64"}


def tool(*words):
    return subprocess.run([os.path.join(TOOLS, words[0]), *words[1:]], capture_output=True, text=True, timeout=30)


def tried(*prefix):
    """{call: errno} of all that try-calls tries."""
    done = subprocess.run([*prefix, TOOLS + "/try-calls"], capture_output=True, text=True, timeout=30)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    return {name: int(code) for name, _, code in (line.rpartition(":") for line in done.stdout.splitlines())}


class Profiles(unittest.TestCase):
    one_process = True

    def read(self, role):
        with open(PROFILES[role], encoding="utf-8") as f:
            return json.load(f)

    def test_what_is_not_listed_is_refused(self):
        for role in PROFILES:
            profile = self.read(role)
            self.assertEqual((profile["defaultAction"], profile["defaultErrnoRet"]), ("SCMP_ACT_ERRNO", errno.EPERM))
            self.assertEqual(profile["architectures"], ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"])
            self.assertEqual({s["action"] for s in profile["syscalls"] if s["names"] != ["clone3"]}, {"SCMP_ACT_ALLOW"})

    def test_both_processors_are_served(self):
        """Each name is one of a system call, and what arm64 does not have is there by the call that it has."""
        for role, path in PROFILES.items():
            numbers = {}
            for line in tool("under-seccomp", "names", path).stdout.splitlines():
                name, x86_64, arm64 = line.split()
                numbers[name] = (int(x86_64), int(arm64))
            self.assertGreater(len(numbers), 100)
            for name, (x86_64, arm64) in numbers.items():
                self.assertGreaterEqual(max(x86_64, arm64), 0, "%s: no such system call" % name)
                if arm64 < 0:
                    self.assertIn(name, ON_ARM64, role)
                    self.assertIn(ON_ARM64[name] or name, numbers, role)

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_what_they_never_do_is_refused(self):
        free = tried()
        self.assertNotIn(errno.EPERM, free.values(), "that the kernel itself refuses something here would prove nothing")
        self.assertGreater(len(free), 40)
        for role, path in PROFILES.items():
            allowed = ONLY_AGENT if role == "agent" else set()
            for name, code in tried(TOOLS + "/under-seccomp", "enforce", path).items():
                expected = free[name] if name in allowed else errno.ENOSYS if name == "clone3" else errno.EPERM
                self.assertEqual(code, expected, "%s: %s" % (role, name))

    def test_refused_calls_are_recorded(self):
        """So that an empty record of whole sessions says something."""
        log = os.path.join(self.enterContext(tempfile.TemporaryDirectory(prefix="drdotnet-test-")), "log")
        path = PROFILES["controller"]
        tried(TOOLS + "/under-seccomp", "record", path, log)
        expected = {"mount", "bpf", "ptrace", "keyctl", "execveat", "perf_event_open", "socket", "clone", "setns", "unshare"}

        def noted():
            with open(log) as f:
                return expected <= set(f.read().split())
        proc.wait_until(noted, 10, "all of them are noted")

    @unittest.skipUnless(os.uname().machine == "x86_64", "another processor")
    def test_the_numbers_of_another_interface_are_no_way_around(self):
        for path in PROFILES.values():
            done = tool("under-seccomp", "enforce", path, TOOLS + "/try-calls", "other-abi")
            self.assertEqual((done.returncode, done.stdout), (-signal.SIGSYS, ""))


if __name__ == "__main__":
    unittest.main()
