/* perf_ways cpu|every|thread PID HERTZ SECONDS: samples one process in one of the two ways (`every`: per CPU without the kernel's filter) as
 * sessions do, and prints one JSON line with what that gave and cost. `make test-tools` builds it as build/release/tests/perf-ways. */
#include "agent/perf/perf_sampler.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static int64_t first_ns, last_ns;
static uint64_t in_kernel, depth;

static void on_sample(void *ctx, const struct perf_sample *s)
{
	(void)ctx;
	if (!first_ns || s->time_ns < first_ns)
		first_ns = s->time_ns;
	if (s->time_ns > last_ns)
		last_ns = s->time_ns;
	in_kernel += s->in_kernel;
	depth += s->user_depth;
}

static double process_cpu_s(clockid_t clock)
{
	struct timespec t = {0};
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double own_cpu_s(void)
{
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: perf_ways cpu|every|thread PID HERTZ SECONDS\n");
		return 2;
	}
	pid_t pid = atoi(argv[2]);
	char path[32];
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	AUTO_FD int proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	clockid_t clock;
	struct err e = ERR_INIT;
	if (proc_fd < 0 || clock_getcpuclockid(pid, &clock) != 0)
		return 1;
	struct perf_sampler_options o = {
		.pid = pid,
		.proc_fd = proc_fd,
		.frequency_hertz = atoi(argv[3]),
		.stacks = true,
		.only_thread_way = strcmp(argv[1], "thread") == 0,
		.every_process = strcmp(argv[1], "every") == 0,
	};
	int64_t began_ns = clock_mono_ns();
	struct perf_sampler *s = perf_sampler_open(&o, &e);
	if (!s) {
		fprintf(stderr, "perf_ways: %s\n", e.message);
		return 1;
	}
	int64_t opened_ns = clock_mono_ns(), end_ms = clock_mono_ms() + (int64_t)(atof(argv[4]) * 1000);
	double cpu0 = process_cpu_s(clock);
	uint64_t before = 0;
	int wakeups = 0;
	for (int64_t now; (now = clock_mono_ms()) < end_ms; wakeups++) {
		struct pollfd p = {.fd = perf_sampler_fd(s), .events = POLLIN};
		int64_t wait = end_ms - now < 1000 ? end_ms - now : 1000;
		poll(&p, 1, (int)wait);
		perf_sampler_drain(s, on_sample, NULL, NULL, NULL);
	}
	perf_sampler_stop(s);
	double cpu = process_cpu_s(clock) - cpu0;
	perf_sampler_drain(s, on_sample, NULL, NULL, NULL);
	const struct perf_sampler_stats *st = perf_sampler_stats(s);
	uint64_t n = st->samples - before;
	printf("{\"way\":\"%s\",\"filtered\":%s,\"events\":%zu,\"setup_ms\":%.2f,\"first_sample_ms\":%.1f,\"cpu_s\":%.3f,\"samples\":%" PRIu64
	       ",\"per_cpu_second\":%.2f,\"lost\":%" PRIu64 ",\"throttled\":%" PRIu64 ",\"malformed\":%" PRIu64
	       ",\"other\":%" PRIu64 ",\"kernel_share\":%.3f,\"depth\":%.1f,\"wakeups\":%d,\"own_cpu_s\":%.4f}\n",
	       perf_sampler_way(s) == PERF_WAY_CPU ? "cpu" : "thread", perf_sampler_filtered(s) ? "true" : "false", perf_sampler_event_count(s),
	       (double)(opened_ns - began_ns) / 1e6, first_ns ? (double)(first_ns - began_ns) / 1e6 : -1.0, cpu, n, (double)n / cpu,
	       st->lost, st->throttled, st->malformed, st->other_samples, n ? (double)in_kernel / (double)n : 0,
	       n ? (double)depth / (double)n : 0, wakeups, own_cpu_s());
	perf_sampler_close(s);
	return 0;
}
