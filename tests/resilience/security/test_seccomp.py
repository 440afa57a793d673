"""The shipped seccomp profiles (deploy/seccomp): well-formed, and they refuse what agent and controller never do. That they refuse
nothing that is needed is shown by tests/system/deploy/test_images.py, where whole sessions run under them."""
import errno
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

from tests.lib import dotnet, local, proc

TOOLS = os.path.join(proc.ROOT, "build/release/tests")
PROFILES = {role: os.path.join(proc.ROOT, "deploy/seccomp", role + ".json") for role in ("agent", "controller")}
ONLY_AGENT = {"perf_event_open", "pidfd_open", "inotify_init1", "memfd_create", "timerfd_create"}
# The calls behind functions of the C library that are not named after them.
CALL_OF = {"eventfd": "eventfd2", "fork": "clone", "fstatat": "newfstatat", "fstatvfs": "fstatfs", "mkostemp": "openat",
           "posix_fallocate": "fallocate", "pread": "pread64",
           "pthread_create": "clone", "pwrite": "pwrite64", "recv": "recvfrom", "send": "sendto", "setrlimit": "prlimit64", "signalfd": "signalfd4",
           "statvfs": "statfs",
           "waitpid": "wait4"}
# What they are built with and do not do in a container: the keeper of events that threads inherit (PERFMON needs none), commands that `drdotnet run` starts.
NEVER_IN_A_CONTAINER = {"kill", "setsid", "wait4", "pidfd_send_signal"}
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

    def calls_of(self, program):
        """The system calls that the program asks the C library for, and those that it makes itself, by its sources."""
        listed = subprocess.run(["nm", "-D", "--undefined-only", program], capture_output=True, text=True, check=True).stdout
        functions = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
        direct = set()
        for part in ("agent" if program.endswith("agent") else "controller", "common/base"):
            for folder, _, names in os.walk(os.path.join(proc.ROOT, part)):
                for name in names:
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        direct.update(re.findall(r"\bsyscall\(SYS_([a-z0-9_]+)", f.read()))
        names = {CALL_OF.get(f, f) for f in functions} | direct
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump({"syscalls": [{"names": sorted(names)}]}, f)
            f.flush()
            known = tool("under-seccomp", "names", f.name).stdout.split("\n")
        return {name for name, *numbers in (line.split() for line in known if line) if max(map(int, numbers)) >= 0}

    def test_what_the_programs_call_is_allowed(self):
        for role, path in PROFILES.items():
            calls = self.calls_of(os.path.join(proc.ROOT, "build/release/drdotnet-" + role))
            self.assertLessEqual({"openat", "ftruncate", "memfd_create", "perf_event_open"} if role == "agent" else {"openat", "renameat"}, calls)
            allowed = {name for s in self.read(role)["syscalls"] if s["action"] == "SCMP_ACT_ALLOW" for name in s["names"]}
            self.assertEqual(calls - allowed - NEVER_IN_A_CONTAINER, set(), role)

    def test_a_refused_call_is_named_with_what_allows_it(self):
        """Of each profiler that needs it, before anything is done in the process."""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="drdotnet-test-"))
        app = dotnet.App("warm", "net10.0", folder)
        self.addCleanup(app.stop)
        app.progress()
        for call, symptom in (("memfd_create", "--memory"), ("timerfd_create", "--waits"), ("timerfd_settime", "--waits")):
            profile = os.path.join(folder, call + ".json")
            with open(profile, "w", encoding="utf-8") as f:
                json.dump({"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
                           "syscalls": [{"names": [call], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM}]}, f)
            words = ("run", symptom, str(app.pid), "--json", "-o", folder + "/" + call)
            code, text, errors = local.drdotnet(*words, under=[TOOLS + "/under-seccomp", "enforce", profile])
            self.assertNotEqual(code, 0, text)
            self.assertIn("PermissionDenied", text + errors)
            self.assertIn(call + " (", text + errors)
            self.assertIn("seccomp profile", text + errors)

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
