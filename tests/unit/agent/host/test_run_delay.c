#include "agent/host/proc.h"
#include "agent/host/run_delay.h"
#include "tests/unit/agent/host/fake_proc.h"

Test(run_delay, parses_what_the_kernel_writes)
{
	static const struct {
		const char *text;
		int64_t expected;
	} schedstats[] = {{"100 4200 7\n", 4200}, {"0 0 0\n", 0}, {"100 4200", 4200}, {"100", -1}, {"", -1}, {"1 -5 1", -1}, {"1 x 1", -1},
			  {"1 99999999999999999999 1", -1}, {"1 12x 1", -1}};
	for (size_t i = 0; i < sizeof schedstats / sizeof *schedstats; i++)
		cr_expect_eq(proc_parse_schedstat(schedstats[i].text), schedstats[i].expected, "%s", schedstats[i].text);
	static const struct {
		const char *text;
		int64_t expected;
	} limits[] = {{"Max open files            1024                 1048576              files     \n", 1024},
		      {"Max open files unlimited unlimited files", INT64_MAX},
		      {"Max open files", -1}, {"Max open files x", -1}, {"Max open files -3", -1}, {"Max open files 99999999999999999999 1", -1}, {"", -1}};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		cr_expect_eq(proc_parse_descriptor_limit(limits[i].text), limits[i].expected, "%s", limits[i].text);
	static const struct {
		const char *text;
		int64_t expected;
	} pressures[] = {{"some avg10=2.39 avg60=5.00 avg300=9.64 total=17679\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n", 17679000},
			 {"full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n", -1}, {"some avg10=2.39\n", -1}, {"", -1},
			 {"some avg10=0.00 avg60=0.00 avg300=0.00 total=9223372036854775807\n", -1}};
	for (size_t i = 0; i < sizeof pressures / sizeof *pressures; i++)
		cr_expect_eq(proc_parse_pressure(pressures[i].text), pressures[i].expected, "%s", pressures[i].text);
}

static void write_wait(const struct fake_proc *f, unsigned tid, long long ns)
{
	char path[64], text[64];
	snprintf(path, sizeof path, "7/task/%u/schedstat", tid);
	snprintf(text, sizeof text, "5 %lld 3\n", ns);
	fake_text(f, path, text);
}

/* One goes on, one ends, one is born, and one number is given to a new thread. */
Test(run_delay, sums_over_the_threads_that_are_there)
{
	struct fake_proc f;
	struct run_delay r = {0};
	char path[512];
	fake_proc_init(&f);
	write_wait(&f, 7, 1000);
	write_wait(&f, 8, 5000);
	write_wait(&f, 9, 900);
	fake_path(&f, path, "7");
	AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	run_delay_begin(&r, fd);
	cr_expect_eq(run_delay_since(&r, fd), 0);
	write_wait(&f, 7, 1500);
	write_wait(&f, 9, 30);
	write_wait(&f, 10, 4);
	fake_path(&f, path, "7/task/8/schedstat");
	cr_assert_eq(unlink(path), 0);
	cr_expect_eq(run_delay_since(&r, fd), 500 + 30 + 4, "%lld", (long long)run_delay_since(&r, fd));
	cr_expect_eq(run_delay_since(&r, -1), -1, "nobody can be seen");
	run_delay_begin(&r, -1);
	cr_expect_eq(run_delay_since(&r, fd), -1, "the beginning is not known");
	run_delay_fini(&r);
	fake_proc_fini(&f);
}

Test(run_delay, reads_this_machine)
{
	struct run_delay r = {0};
	AUTO_FD int fd = proc_open("/proc", getpid());
	run_delay_begin(&r, fd);
	if (r.known) /* not where the kernel has no schedstat */
		cr_expect_geq(run_delay_since(&r, fd), 0);
	run_delay_fini(&r);
	cr_expect_eq(run_delay_node_pressure("/nonexistent"), -1);
}
