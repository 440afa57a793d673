/* A disk that hangs while a job's files are removed keeps the link's thread from nothing. */
#include "agent/jobs/jobs.h"

#include "common/api/reason.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool removing;

/* The spool's, instead of the C library's. */
int rmdir(const char *path)
{
	atomic_store(&removing, true);
	pthread_mutex_lock(&disk);
	pthread_mutex_unlock(&disk);
	return (int)syscall(SYS_rmdir, path);
}

static int discover(const struct discover_options *o, struct target_list *out, struct err *e)
{
	(void)o;
	*out = (struct target_list){0};
	return err_set_reason(e, ERR_NOT_FOUND, REASON_NoDotnetProcess, "no .NET process in the pod");
}

static int send_nothing(void *ctx, const struct link_msg *m, struct err *e)
{
	(void)ctx;
	(void)m;
	(void)e;
	return 0;
}

static void order(struct jobs *j, const char *id)
{
	struct link_order o = {.session_namespace = "shop", .session_name = "s", .session_uid = "u", .pod_namespace = "shop", .pod_name = "pod"};
	strcpy(o.job_id, id);
	session_spec_init(&o.spec, PROFILER_CPU_HOTPATHS);
	o.spec.target.pod_name = mem_strdup("pod");
	jobs_order(j, &o);
	session_spec_fini(&o.spec);
}

static bool has_failed(struct jobs *j, const char *id)
{
	struct link_job s;
	uint64_t version = 0;
	bool found = false;

	while (!found && jobs_next(j, &version, &s)) {
		found = strcmp(s.job_id, id) == 0 && s.phase == JOB_FAILED;
		link_job_fini(&s);
	}
	return found;
}

/* The order may still be in the hands of its thread: forgetting is then that one's work. */
Test(jobs_disk, one_that_hangs_holds_up_nobody)
{
	static const struct jobs_operations operations = {.discover = discover};
	char folder[] = "/tmp/jobs-disk-XXXXXX", command[64];
	struct err e = ERR_INIT;

	cr_assert_not_null(mkdtemp(folder));
	struct spool *spool = spool_new(folder, 1024 * 1024, &e);
	cr_assert_not_null(spool, "%s", e.message);
	const struct jobs_config c = {.spool = spool, .operations = &operations, .node_name = "node", .send = send_nothing};
	struct jobs *j = jobs_new(&c);
	order(j, "old");
	while (!has_failed(j, "old"))
		usleep(1000);
	pthread_mutex_lock(&disk);
	jobs_forget(j, "old");
	while (!atomic_load(&removing))
		usleep(1000);
	order(j, "new");
	while (!has_failed(j, "new"))
		usleep(1000);
	cr_expect_eq(jobs_count(j), 2);
	pthread_mutex_unlock(&disk);
	while (jobs_count(j) != 1)
		usleep(1000);
	jobs_free(j);
	spool_free(spool);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	cr_expect_eq(system(command), 0);
}
