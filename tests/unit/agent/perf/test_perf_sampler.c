/* What the kernel samples beside a busy neighbour: real perf events on real processes, in control groups that the test makes and removes. */
#include "agent/perf/perf_group.h"
#include "agent/perf/perf_permission.h"
#include "agent/perf/perf_sampler.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HERTZ 499
#define ENOUGH 50 /* samples, and periods that the neighbour has run */
#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct {
	struct cgroup_dir root;
	char top[CGROUP_PATH_MAX + 32]; /* of the test; "" none */
	char groups[4][CGROUP_PATH_MAX + 160];
	size_t group_count;
	pid_t children[4];
	size_t child_count;
} ground;

static bool move(const char *folder, pid_t pid)
{
	char path[CGROUP_PATH_MAX + 192];
	snprintf(path, sizeof path, "%s/cgroup.procs", folder);
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && dprintf(fd, "%d\n", (int)pid) > 0;
}

/* A folder of groups below the test's own; returns its path. */
static const char *make_group(const char *name)
{
	char *path = ground.groups[ground.group_count];
	snprintf(path, sizeof ground.groups[0], "%s/%s", ground.top, name);
	if (mkdir(path, 0755) < 0)
		cr_skip_test("no control group for perf events may be made here");
	ground.group_count++;
	return path;
}

/* A process that spins in that group, and in no other before. */
static pid_t spin_in(const char *folder)
{
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent || !move(folder, getpid()))
			_exit(1);
		for (volatile unsigned n = 0;; n++)
			;
	}
	cr_assert_gt(pid, 0);
	ground.children[ground.child_count++] = pid;
	return pid;
}

static int64_t cpu_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec t = {0};
	if (clock_getcpuclockid(pid, &clock) == 0)
		clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void setup(void)
{
	struct perf_permission may;
	perf_permission_read("/proc", &may);
	if (!perf_permission_system_wide(&may))
		cr_skip_test("needs CAP_PERFMON");
	if (!cgroup_dir_of("/proc", getpid(), "perf_event", &ground.root))
		cr_skip_test("no hierarchy of control groups for perf events here");
	snprintf(ground.root.path, sizeof ground.root.path, "%s", ground.root.mount);
	snprintf(ground.top, sizeof ground.top, "%s/drdotnet-test-XXXXXX", ground.root.mount);
	if (!mkdtemp(ground.top)) {
		ground.top[0] = '\0';
		cr_skip_test("no control group for perf events may be made here");
	}
}

static void teardown(void)
{
	for (size_t i = 0; i < ground.child_count; i++) {
		kill(ground.children[i], SIGKILL);
		waitpid(ground.children[i], NULL, 0);
	}
	while (ground.group_count > 0)
		rmdir(ground.groups[--ground.group_count]);
	if (ground.top[0])
		cr_expect_eq(rmdir(ground.top), 0, "the test's group stays: %s", ground.top);
}

TestSuite(perf_sampler, .init = setup, .fini = teardown, .timeout = 120);

struct seen {
	pid_t tid;
	uint64_t strange; /* not of the process */
};

static void on_sample(void *ctx, const struct perf_sample *s)
{
	struct seen *seen = ctx;
	seen->strange += s->pid != (uint32_t)seen->tid;
}

static struct perf_sampler *open_on(pid_t pid, bool every_process)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	AUTO_FD int proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct perf_sampler_options o = {.pid = pid, .proc_fd = proc_fd, .frequency_hertz = HERTZ, .stacks = true, .every_process = every_process};
	struct err e = ERR_INIT;
	struct perf_sampler *s = perf_sampler_open(&o, &e);
	cr_assert(s, "%s", e.message);
	cr_expect_eq(perf_sampler_way(s), PERF_WAY_CPU);
	return s;
}

/* Until there are enough new samples of the process, and its neighbour has run as long as gives as many. */
static void sample_until_enough(struct perf_sampler *s, pid_t pid, pid_t neighbour)
{
	struct seen seen = {.tid = pid};
	uint64_t before = perf_sampler_stats(s)->samples;
	int64_t began_ns = cpu_ns(neighbour);
	while (perf_sampler_stats(s)->samples < before + ENOUGH || cpu_ns(neighbour) - began_ns < INT64_C(1000000000) / HERTZ * ENOUGH) {
		struct pollfd f = {.fd = perf_sampler_fd(s), .events = POLLIN};
		poll(&f, 1, 20);
		perf_sampler_drain(s, on_sample, NULL, NULL, &seen);
	}
	cr_expect_eq(seen.strange, 0);
}

/* As in a process of its own: the child writes itself into the group before it spins. */
static void wait_until_in(const char *folder, pid_t pid)
{
	struct cgroup_dir d = ground.root;
	snprintf(d.path, sizeof d.path, "%s", folder);
	for (int i = 0; i < 20000 && !cgroup_dir_lists(&d, pid); i++)
		clock_sleep_until_ms(clock_mono_ms() + 2);
	cr_assert(cgroup_dir_lists(&d, pid), "%d in %s", (int)pid, folder);
}

static pid_t run_in(const char *folder)
{
	pid_t pid = spin_in(folder);
	wait_until_in(folder, pid);
	return pid;
}

Test(perf_sampler, takes_no_sample_of_a_neighbour)
{
	pid_t target = run_in(ground.top), neighbour = run_in(ground.root.mount);
	struct perf_sampler *s = open_on(target, false);
	cr_expect(perf_sampler_filtered(s));
	sample_until_enough(s, target, neighbour);
	perf_sampler_stop(s);
	cr_expect_eq(perf_sampler_stats(s)->other_samples, 0, "%zu of others came into the rings", (size_t)perf_sampler_stats(s)->other_samples);
	cr_expect_not(perf_sampler_left_group(s));
	perf_sampler_close(s);
}

/* The same two processes: it is the filter that keeps the neighbour's samples away. */
Test(perf_sampler, drops_a_neighbour_s_samples_without_the_filter)
{
	pid_t target = run_in(ground.top), neighbour = run_in(ground.root.mount);
	struct perf_sampler *s = open_on(target, true);
	cr_expect_not(perf_sampler_filtered(s));
	sample_until_enough(s, target, neighbour);
	cr_expect_gt(perf_sampler_stats(s)->other_samples, 0);
	perf_sampler_close(s);
}

Test(perf_sampler, samples_a_process_of_the_root_s_group)
{
	pid_t target = run_in(ground.root.mount), neighbour = run_in(ground.top);
	struct perf_sampler *s = open_on(target, false);
	cr_expect_not(perf_sampler_filtered(s));
	sample_until_enough(s, target, neighbour);
	cr_expect_not(perf_sampler_left_group(s));
	perf_sampler_close(s);
}

/* A container's process may make groups of its own and change between them; its samples are all there, and its siblings' are dropped. */
Test(perf_sampler, follows_a_process_within_its_container)
{
	make_group(CONTAINER);
	const char *inner = make_group(CONTAINER "/inner"), *other = make_group(CONTAINER "/other");
	pid_t target = run_in(inner), sibling = run_in(other), neighbour = run_in(ground.top);
	struct perf_sampler *s = open_on(target, false);
	cr_expect(perf_sampler_filtered(s));
	sample_until_enough(s, target, sibling);
	cr_expect_gt(perf_sampler_stats(s)->other_samples, 0, "the sibling's");
	cr_expect(move(other, target));
	sample_until_enough(s, target, neighbour);
	cr_expect_not(perf_sampler_left_group(s));
	cr_expect(move(ground.top, target));
	cr_expect(perf_sampler_left_group(s));
	perf_sampler_close(s);
}

/* Of a zombie the first hierarchies say that it is in the root's group. */
Test(perf_sampler, a_process_that_ends_has_not_left)
{
	pid_t target = run_in(ground.top);
	struct perf_sampler *s = open_on(target, false);
	kill(target, SIGKILL);
	siginfo_t info;
	waitid(P_PID, (id_t)target, &info, WEXITED | WNOWAIT);
	cr_expect_not(perf_sampler_left_group(s));
	perf_sampler_close(s);
}

/* context switches ------------------------------------------------------------------------------------------------------ */

#define SWITCHES 1000 /* whose stacks are more than a ring holds */

static void count_switch(void *ctx, const struct perf_switch *x)
{
	*(uint64_t *)ctx += x->out;
}

static void ignore_sample(void *ctx, const struct perf_sample *s)
{
	(void)ctx;
	(void)s;
}

/* A process that sleeps so often for each byte that it reads. */
static pid_t sleep_often(int go_fd, int done_fd)
{
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		char c;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent && read(go_fd, &c, 1) == 1 && write(done_fd, "", 1) == 1)
			for (int i = 0; i < SWITCHES; i++)
				nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
		_exit(0);
	}
	return pid;
}

/* No more than one event for each CPU, and what opening them takes, beside what is open now. */
static void leave_few_descriptors(void)
{
	int free_fd = dup(STDIN_FILENO);
	struct rlimit r = {.rlim_cur = (rlim_t)free_fd + 2 + (rlim_t)sysconf(_SC_NPROCESSORS_CONF)};
	close(free_fd);
	r.rlim_max = r.rlim_cur;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &r), 0);
}

/* Of a process that does many switches while nobody empties the rings: how many are told. */
static uint64_t many_switches(bool few_descriptors, struct perf_sampler_stats *out)
{
	int go[2], done[2];
	char path[32], c;
	uint64_t count = 0;
	struct err e = ERR_INIT;
	cr_assert_eq(pipe2(go, O_CLOEXEC) + pipe2(done, O_CLOEXEC), 0);
	pid_t pid = sleep_often(go[0], done[1]);
	cr_assert_gt(pid, 0);
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	AUTO_FD int proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct perf_sampler_options o = {.pid = pid, .proc_fd = proc_fd, .switches = 1, .stacks = true};
	if (few_descriptors)
		leave_few_descriptors();
	struct perf_sampler *s = perf_sampler_open(&o, &e);
	for (int i = 0; s && i < 3; i++) { /* that there was no room is told by the next record that finds some */
		cr_expect(write(go[1], "", 1) == 1 && read(done[0], &c, 1) == 1);
		perf_sampler_drain(s, ignore_sample, NULL, count_switch, &count);
	}
	if (s)
		*out = *perf_sampler_stats(s);
	perf_sampler_close(s);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!s)
		cr_skip_test("%s", e.message);
	return count;
}

Test(perf_switches, are_all_there_where_stacks_are_lost, .timeout = 120)
{
	struct perf_sampler_stats stats;
	cr_expect_geq(many_switches(false, &stats), 2 * SWITCHES - SWITCHES / 50, "on a busy machine a sleep may be over before it begins");
	cr_expect_gt(stats.lost_stacks, 0);
	cr_expect_eq(stats.lost, 0);
}

Test(perf_switches, share_the_ring_of_the_stacks_where_descriptors_are_short, .timeout = 120)
{
	struct perf_sampler_stats stats;
	if (sysconf(_SC_NPROCESSORS_CONF) < 2)
		cr_skip_test("one more descriptor is left over");
	cr_expect_gt(many_switches(true, &stats), 0);
	cr_expect_eq(stats.lost_stacks, 0);
	cr_expect_gt(stats.lost, 0);
}

/* who empties no rings ---------------------------------------------------------------------------------------------------- */

/* What the events of this process have counted so far, by the kernel's account. */
static uint64_t counted(void)
{
	uint64_t sum = 0, count;
	char link[64];
	AUTO_DIR DIR *dir = opendir("/proc/self/fd");
	for (struct dirent *d; dir && (d = readdir(dir));) {
		ssize_t n = readlinkat(dirfd(dir), d->d_name, link, sizeof link - 1);
		if (n > 0 && strstr((link[n] = '\0', link), "[perf_event]") && read(atoi(d->d_name), &count, sizeof count) == sizeof count)
			sum += count;
	}
	return sum;
}

/* While the process uses CPU time nothing is counted any more. */
static bool ended_within(pid_t pid, int64_t most_ns)
{
	int64_t from_ns = cpu_ns(pid), at_ns;
	uint64_t before;
	do {
		at_ns = cpu_ns(pid);
		before = counted();
		while (cpu_ns(pid) - at_ns < 200000000)
			clock_sleep_until_ms(clock_mono_ms() + 20);
	} while (counted() != before && cpu_ns(pid) - from_ns < most_ns);
	return counted() == before;
}

static void end_and_go_on(struct perf_sampler *s, pid_t pid)
{
	uint64_t before;
	cr_expect(ended_within(pid, INT64_C(60000000000)), "the events go on though nobody empties the rings");
	struct perf_sampler_stats stats = *perf_sampler_stats(s);
	before = counted();
	while (perf_sampler_stats(s)->samples < stats.samples + HERTZ) { /* more than the rings held: the kernel takes new ones */
		clock_sleep_until_ms(clock_mono_ms() + 20);
		perf_sampler_drain(s, ignore_sample, NULL, NULL, NULL);
	}
	cr_expect_gt(counted(), before);
	perf_sampler_stop(s);
	before = counted();
	perf_sampler_drain(s, ignore_sample, NULL, NULL, NULL);
	int64_t at_ns = cpu_ns(pid);
	while (cpu_ns(pid) - at_ns < 50000000)
		clock_sleep_until_ms(clock_mono_ms() + 20);
	cr_expect_eq(counted(), before, "nothing begins again after the stop");
	perf_sampler_close(s);
}

Test(perf_sampler, ends_in_the_kernel_for_a_container)
{
	pid_t target = run_in(ground.top);
	struct perf_sampler *s = open_on(target, false);
	cr_expect(perf_sampler_filtered(s));
	end_and_go_on(s, target);
}

Test(perf_sampler, ends_in_the_kernel_for_all_processes)
{
	pid_t target = run_in(ground.top);
	end_and_go_on(open_on(target, true), target);
}

Test(perf_sampler, ends_by_its_keeper_for_threads)
{
	pid_t target = run_in(ground.top);
	char path[32];
	struct err e = ERR_INIT;
	snprintf(path, sizeof path, "/proc/%d", (int)target);
	AUTO_FD int proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct perf_sampler_options o = {.pid = target, .proc_fd = proc_fd, .frequency_hertz = HERTZ, .stacks = true, .only_thread_way = true};
	struct perf_sampler *s = perf_sampler_open(&o, &e);
	cr_assert(s, "%s", e.message);
	cr_expect_eq(perf_sampler_way(s), PERF_WAY_THREAD);
	end_and_go_on(s, target);
	cr_expect_eq(waitpid(-1, NULL, WNOHANG), 0, "its process has been waited for");
}

/* Who sleeps all the time pays for each switch, and uses little CPU time. */
Test(perf_sampler, ends_in_the_kernel_for_switches)
{
	int go[2], done[2];
	char path[32], c;
	uint64_t before, switches = 0;
	struct err e = ERR_INIT;
	cr_assert_eq(pipe2(go, O_CLOEXEC) + pipe2(done, O_CLOEXEC), 0);
	pid_t pid = ground.children[ground.child_count++] = sleep_often(go[0], done[1]);
	cr_assert(move(ground.top, pid));
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	AUTO_FD int proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct perf_sampler_options o = {.pid = pid, .proc_fd = proc_fd, .switches = 9, .stacks = true};
	struct perf_sampler *s = perf_sampler_open(&o, &e);
	cr_assert(s, "%s", e.message);
	cr_expect(perf_sampler_filtered(s));
	int rounds = 0;
	do {
		before = counted();
		cr_expect(write(go[1], "", 1) == 1 && read(done[0], &c, 1) == 1);
		cr_expect(write(go[1], "", 1) == 1 && read(done[0], &c, 1) == 1);
	} while (counted() != before && ++rounds < 500);
	cr_expect_lt(rounds, 500, "switches are recorded though nobody empties the rings");
	for (int i = 0; i < 20; i++) {
		perf_sampler_drain(s, ignore_sample, NULL, count_switch, &switches);
		before = switches;
		cr_expect(write(go[1], "", 1) == 1 && read(done[0], &c, 1) == 1);
	}
	perf_sampler_drain(s, ignore_sample, NULL, count_switch, &switches);
	cr_expect_gt(switches, before, "they are recorded again");
	perf_sampler_close(s);
}
