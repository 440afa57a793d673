#include "agent/waits/wait_pace.h"

#include "agent/host/run_delay.h"
#include "agent/locks/thread_wait.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"

#include <stdlib.h>
#include <time.h>

#define RATE_MS 200
#define FULL 0.5 /* of the time some task of the node waited for a CPU */

uint64_t wait_pace_switches(int proc_fd)
{
	AUTO_FREE struct thread_wait *list = NULL;
	uint64_t sum = 0;
	bool more;
	ssize_t count = thread_wait_list(proc_fd, &list, &more);
	for (ssize_t i = 0; i < count; i++)
		sum += list[i].switches;
	return sum;
}

int64_t wait_pace_cpu_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec t = {0};
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return 0;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct wait_plan wait_pace_plan(pid_t pid, int proc_fd, int64_t duration_ns, bool single_waits)
{
	int64_t from_ns = clock_mono_ns(), cpu_ns = wait_pace_cpu_ns(pid), pressure_ns = run_delay_node_pressure("/proc");
	uint64_t before = wait_pace_switches(proc_fd);
	clock_sleep_until_ms(clock_mono_ms() + RATE_MS);
	uint64_t after = wait_pace_switches(proc_fd);
	double seconds = (double)(clock_mono_ns() - from_ns) / 1e9;
	double rate = after > before ? (double)(after - before) / seconds : 0;
	bool full = !single_waits && pressure_ns >= 0 && (double)(run_delay_node_pressure("/proc") - pressure_ns) / 1e9 >= FULL * seconds;
	return wait_plan_make(rate, (double)(wait_pace_cpu_ns(pid) - cpu_ns) / seconds, duration_ns, full);
}
