/* Jobs whose container is to be sampled since it began. */
#include "agent/jobs/jobs_private.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What discovery says of the process, one after the other; the last one stays. */
static struct {
	const char *reasons[4]; /* NULL: it can be profiled */
	int asked;
} world;

static int discover_one(const struct discover_options *o, struct target_list *out, struct err *e)
{
	(void)e;
	const char *reason = world.reasons[world.asked < 3 ? world.asked : 3];
	world.asked++;
	cr_expect(o->pid == getpid() && o->held);
	struct target t = {.pid = o->pid, .start_time = 0, .profilable = !reason, .reason = reason, .message = mem_strdup("why")};
	*out = (struct target_list){0};
	target_list_add_take(out, &t);
	return 0;
}

static void run_none(const struct session_request *q, struct session_outcome *out)
{
	(void)q, (void)out;
	cr_assert_fail("nothing is to be profiled");
}

static const struct jobs_operations operations = {discover_one, run_none, NULL};

static int await(struct target *out, struct err *e)
{
	struct jobs j = {.config.operations = &operations};
	struct job job = {.cancel_fd = -1, .deadline_mono_ms = clock_mono_ms() + 600000};
	struct start_capture c = {.proc_fd = -1, .root_fd = -1, .target.pid = getpid()};
	return job_start_await(&j, &job, &c, out, e);
}

Test(job_start, waits_for_the_runtime)
{
	struct target t = {0};
	struct err e = ERR_INIT;
	world.reasons[0] = world.reasons[1] = REASON_DiagnosticsDisabled;
	cr_expect_eq(await(&t, &e), 1);
	cr_expect_eq(world.asked, 3);
	target_fini(&t);
}

Test(job_start, does_not_wait_for_what_stays)
{
	struct target t = {0};
	struct err e = ERR_INIT;
	world.reasons[0] = REASON_AttachFailed;
	world.reasons[1] = REASON_RuntimeTooOld;
	cr_expect_eq(await(&t, &e), -1);
	cr_expect_eq(e.reason, REASON_RuntimeTooOld);
	cr_expect_eq(world.asked, 2);
}

Test(job_start, without_a_capture_it_fails)
{
	char folder[] = "/tmp/job-start-XXXXXX", command[64];
	struct err e = ERR_INIT;
	cr_assert_not_null(mkdtemp(folder));
	struct jobs_config config = {.spool = spool_new(folder, 1 << 20, &e), .operations = &operations, .node_name = "node"};
	struct jobs *j = jobs_new(&config);
	struct link_order o = {.job_id = "a", .pod_name = "p", .pod_uid = "u"};
	session_spec_init(&o.spec, PROFILER_CPU_HOTPATHS);
	o.spec.start = START_NEXT_CONTAINER;
	jobs_order(j, &o);
	session_spec_fini(&o.spec);
	int64_t until_ms = clock_mono_ms() + 20000;
	struct link_job state = {0};
	do {
		uint64_t version = 0;
		link_job_fini(&state);
		usleep(2000);
		cr_assert(jobs_next(j, &version, &state));
	} while (state.phase != JOB_FAILED && clock_mono_ms() < until_ms);
	cr_expect_str_eq(state.reason, REASON_StartMissed);
	link_job_fini(&state);
	jobs_free(j);
	spool_free(config.spool);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	cr_expect_eq(system(command), 0);
}
