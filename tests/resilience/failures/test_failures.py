"""A part of what `make failures` does: calls of the C library fail, one a run, in the daemons' unit tests and in the library in a real
process. The parts are dealt by a hash, so they are the same in each run of one state of the code."""
import glob
import os
import re
import subprocess
import unittest

from tests.resilience.failures import library, run
from tests.lib import proc

DAEMON_PART = ["each", "--part", "0/14"]
SUITE = re.compile(r"^FAILING_SUITE :=(.*?)\)\n", re.M | re.S)
# Calls of the C library that cannot fail, or whose failure nobody could act on. All others are let fail: a new one has its place in
# tests/resilience/failures/calls.c or, after a thought, here.
NEVER = set("""
abort assert_fail atoi bsearch ctype_b_loc ctype_tolower_loc ctype_toupper_loc errno_location exit explicit_bzero fileno free freeaddrinfo gai_strerror getenv
geteuid getpid getppid gettid getuid gmtime_r htonl
inet_ntop inet_pton isatty localtime_r malloc_trim mallopt memchr memcmp memcpy memmem memmove mempcpy memset ntohl printf qsort qsort_r signal
sigaddset sigdelset sigemptyset sigfillset sigprocmask snprintf strcasecmp strchr strchrnul strcmp strcpy strcspn strerror strftime strlen strncasecmp strncmp
strnlen strrchr strcasestr strsep strspn strstr strtod strtok_r strtol strtoll strtoul strtoull sysconf time timegm tolower toupper vsnprintf isoc99_sscanf
clock_gettime clock_nanosleep closedir dirfd dlsym eventfd_read fcntl fprintf fputc fputs munmap
pthread_attr_destroy pthread_attr_init pthread_attr_setdetachstate pthread_attr_setstacksize pthread_cond_broadcast pthread_cond_destroy
pthread_cond_init pthread_cond_signal pthread_cond_timedwait pthread_cond_wait pthread_condattr_destroy pthread_condattr_init
pthread_condattr_setclock pthread_detach pthread_join pthread_mutex_destroy pthread_mutex_init pthread_mutex_lock pthread_mutex_unlock pthread_once
pthread_getcpuclockid pthread_self pthread_setname_np pthread_sigmask
kill setenv unsetenv prctl raise sem_destroy sem_init sem_post sem_wait setsid
ptrace
""".split())  # ptrace: of `drdotnet run -- COMMAND` alone, which says so where it is refused (agent/cli/hold.c)


def symbols(path, *options):
    return subprocess.run(["nm", *options, path], check=True, capture_output=True, text=True).stdout


class Daemons(unittest.TestCase):
    """Under sanitizers. A test that waits for what does not come any more takes its own time limit."""
    time_limit, needs = 240, "asan"

    def test_calls_that_fail_do_no_harm(self):
        with open(os.path.join(proc.ROOT, "tests/resilience/failures/failures.mk"), encoding="utf-8") as f:
            names = re.findall(r"[\w/]+/test_\w+", SUITE.search(f.read()).group(1))
        self.assertGreater(len(names), 8)
        total, said = {}, []
        for name in names:
            counts, text = run.run(name, DAEMON_PART, 200)
            said += [text] if text else []
            for key, value in counts.items():
                total[key] = total.get(key, 0) + value
        self.assertEqual(total["finds"], 0, "\n".join(said))
        self.assertGreater(total["runs"] - total["unmet"], 100, total)
        self.assertGreater(total["aborts"], 0, "no run was out of memory: %s" % total)


class Calls(unittest.TestCase):
    needs = "asan"

    def test_each_call_of_the_c_library_can_fail(self):
        """Or is known as one that does not."""
        shim = set(re.findall(r" T failing_(\w+)", symbols(os.path.join(proc.ROOT, "build/asan/obj/tests/resilience/failures/calls.o"))))
        self.assertGreater(len(shim), 60)
        libc = glob.glob("/lib/*-linux-gnu/libc.so.6")
        if not libc:
            self.skipTest("another libc")
        known = set(re.findall(r" [TWi] (\w+)@@", symbols(libc[0], "-D")))
        used = set()
        for part in ("common", "agent", "controller"):
            used.update(re.findall(r"^ +U (\w+)$", symbols(os.path.join(proc.ROOT, "build/asan/lib%s.a" % part)), re.M))
        self.assertGreater(len(used & known), 100)
        self.assertEqual(sorted(n for n in used & known - shim if n.strip("_") not in NEVER), [])


class Library(unittest.TestCase):
    time_limit = 240

    def test_calls_that_fail_do_no_harm(self):
        """The first call of each place, and all of them where a process can be out of something for long."""
        chosen = set()

        def first_way(name, error, nth):
            return error == library.WAYS[name][0] and (nth == 0 or (nth == library.EVERY and name in ("open", "pthread_create", "eventfd")))

        with library.Failing("net10.0") as failing:
            for _, name, _, nth, error, hit in library.each(failing, first_way, modes=("timers",)):
                if hit:  # some calls come only at times, such as the waits for a thread that just ran
                    chosen.add((name, error, nth == library.EVERY))
            failing.normal("timers")
            failing.check()
        self.assertGreaterEqual({name for name, _, _ in chosen}, {"socket", "connect", "eventfd", "open", "read", "send", "recvmsg", "poll",
                                                                  "pthread_create", "syscall"})
        self.assertIn(("open", "EMFILE", True), chosen)


if __name__ == "__main__":
    unittest.main()
