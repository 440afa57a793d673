"""Processes for Alpine (musl): the most telling ones of each profiler's tests, and that no session adds to what musl keeps mapped. All of
them: make platforms PLATFORM=musl."""
import os
import subprocess
import time
import unittest

from tests.lib import local, platforms, proc
from tests.resilience.soak import flat, kept
from tests.system.allocs import test_allocations
from tests.system.cpu import test_stacks
from tests.system.deadlocks import test_deadlocks
from tests.system.exceptions import test_exceptions
from tests.system.pauses import test_pauses
from tests.system.profiler import test_leftovers, tools
from tests.system.stucktasks import test_stuck_tasks
from tests.system.survivors import test_survivors
from tests.system.threads import test_threads
from tests.system.waits import test_waits


class Musl(platforms.On):
    platform = "musl"


class Kept(Musl, unittest.TestCase):
    def test_five_sessions_leave_one_library(self):
        first, last = (list(copies.values()) for copies in kept.run("net10.0", 5))
        self.assertLess(first[0]["mapped_kb"], 512)
        self.assertLessEqual(last[0]["dirty_kb"], first[0]["dirty_kb"] + 8, "its tables are given back")

    def test_what_a_killed_agent_left_is_swept_and_used_again(self):
        with kept.Profiled("net10.0") as p:
            p.session(0)
            words = [local.DRDOTNET, "run", "--cpu", "60s", "--pid", str(p.app.pid), "-o", p.folder + "/killed"]
            agent = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            proc.wait_until(lambda: "drdotnet" in flat.thread_names(p.app.pid), 30, "the library's thread")
            agent.kill()
            agent.wait()
            proc.wait_until(lambda: "drdotnet" not in flat.thread_names(p.app.pid), 30, "the library has left")
            self.assertTrue([name for name in os.listdir(p.tmp) if name.startswith(".drdotnet")], "its folder is there still")
            time.sleep(3)  # a younger folder may be that of a session which begins
            p.session(1)
            self.assertEqual(len(kept.copies(p.app.pid)), 1)

    def test_a_name_that_is_not_loaded_harms_nothing(self):
        """The agent asks for it where it sees nothing of the process."""
        with tools.Names("net11.0", "idle") as app, tools.Driver(app) as driver:
            refused = driver.try_to("attach libdrdotnet-0123456789abcdef.so")
            self.assertEqual((refused["ok"], refused["code"] & 0xffffffff), (False, 0x8007007e), refused)
            driver.attach()
            driver("detach")
            app.wait_unmapped(5)


@platforms.only("test_on_net11")
class Stacks(Musl, test_stacks.Stacks):
    pass


@platforms.only("test_sessions")
class Allocations(Musl, test_allocations.SitesNet10):
    pass


@platforms.only("test_each_is_counted_once")
class Exceptions(Musl, test_exceptions.CountsNet10):
    pass


@platforms.only("test_pauses_on_request")
class Pauses(Musl, test_pauses.OnNet11):
    pass


@platforms.only("test_exact")
class Survivors(Musl, test_survivors.Net10):
    pass


@platforms.only("test_a_monitor_and_who_holds_it", "test_the_new_lock")
class Waits(Musl, test_waits.Net11):
    pass


@platforms.only("test_two_threads")
class Deadlocks(Musl, test_deadlocks.Net10):
    pass


@platforms.only("test_names_from_outside_are_those_of_the_library")
class Threads(Musl, test_threads.Net10):
    pass


@platforms.only("test_many_at_one_await_and_one_at_another")
class StuckTasks(Musl, test_stuck_tasks.Net10):
    pass


@platforms.only("test_however_the_agent_ends")
class Leftovers(Musl, test_leftovers.LeftoversNet11):
    pass


if __name__ == "__main__":
    unittest.main()
