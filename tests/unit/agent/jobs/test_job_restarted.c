/* Jobs whose container was started again after the order. */
#include "agent/jobs/jobs_private.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct {
	const char *ids[4]; /* containers of the .NET processes that the pod has now */
	int asked, first_at; /* from which question on */
} world;

static int discover_pod(const struct discover_options *o, struct target_list *out, struct err *e)
{
	(void)e;
	world.asked++;
	cr_expect(!o->container_ids && strcmp(o->pod_uid, "u") == 0);
	for (size_t i = 0; i < 4 && world.ids[i] && world.asked > world.first_at; i++) {
		struct target t = {.pid = (pid_t)i + 10, .container_id = mem_strdup(world.ids[i])};
		target_list_add_take(out, &t);
	}
	return 0;
}

static const struct jobs_operations operations = {discover_pod, NULL, NULL};

static const struct row {
	const char *about, *wanted, *names[2], *now[4];
	size_t left;
	const char *id; /* of the order's first container afterwards */
} rows[] = {
	{"the only container", NULL, {"app"}, {"new"}, 1, "new"},
	{"by its name", "app", {"app", "proxy"}, {"new", "old1"}, 1, "new"},
	{"another one with .NET goes on", NULL, {"app", "proxy"}, {"old1", "new"}, 1, "old0"},
	{"two new ones, and a name", "app", {"app", "proxy"}, {"new", "newer"}, 0, "old0"},
	{"two new ones are the chooser's", NULL, {"app", "proxy"}, {"new", "newer"}, 2, "old0"},
	{"two processes of one", "app", {"app", "proxy"}, {"new", "new"}, 2, "new"},
	{"not started yet", NULL, {"app"}, {NULL}, 0, "old0"},
	{"a name that there is not", "none", {"app"}, {"new"}, 0, "old0"},
};

Test(job_restarted, finds_the_next_container)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		struct jobs j = {.config.operations = &operations};
		struct job job = {.order.spec.target.container = (char *)r->wanted};
		const char *ids[] = {"old0", "old1"};
		struct discover_options first = {.pod_uid = "u", .container_ids = ids, .container_id_count = 1};
		struct target_list list = {0};
		struct err e = ERR_INIT;
		world.asked = 0;
		memcpy(world.ids, r->now, sizeof world.ids);
		for (size_t k = 0; k < 2 && r->names[k]; k++) {
			struct link_container *c = &job.order.containers[job.order.container_count++];
			snprintf(c->name, sizeof c->name, "%s", r->names[k]);
			snprintf(c->id, sizeof c->id, "%s", ids[k]);
		}
		cr_expect_eq(job_find_restarted(&j, &job, &first, &list, &e), 0, "%s", r->about);
		cr_expect_eq(list.count, r->left, "%s: %zu", r->about, list.count);
		for (size_t k = 0; k < list.count; k++)
			cr_expect(strncmp(list.items[k].container_id, "new", 3) == 0, "%s: %s", r->about, list.items[k].container_id);
		cr_expect_str_eq(job.order.containers[0].id, r->id, "%s", r->about);
		cr_expect_eq(world.asked, 1);
		target_list_fini(&list);
	}
}

Test(job_restarted, an_order_without_containers_has_asked_for_the_whole_pod)
{
	struct jobs j = {.config.operations = &operations};
	struct job job = {0};
	struct discover_options first = {.pod_uid = "u"};
	struct target_list list = {0};
	struct err e = ERR_INIT;
	world.asked = 0;
	cr_expect_eq(job_find_restarted(&j, &job, &first, &list, &e), 0);
	cr_expect_eq(world.asked, 0);
}

static size_t find_later(bool resumed, int64_t left_ms)
{
	const char *ids[] = {"old"};
	struct jobs j = {.config.operations = &operations};
	struct job job = {.resumed = resumed, .cancel_fd = -1, .deadline_mono_ms = clock_mono_ms() + left_ms};
	struct discover_options first = {.pod_uid = "u", .container_ids = ids, .container_id_count = 1};
	struct target_list list = {0};
	struct err e = ERR_INIT;
	world.ids[0] = "new";
	world.ids[1] = NULL;
	world.asked = 0;
	world.first_at = 2;
	cr_expect_eq(job_find_restarted(&j, &job, &first, &list, &e), 0);
	size_t count = list.count;
	target_list_fini(&list);
	return count;
}

Test(job_restarted, a_node_that_has_booted_gets_time_to_start_its_pods)
{
	cr_expect_eq(find_later(true, 60000), 1);
	cr_expect_eq(world.asked, 3);
	cr_expect_eq(find_later(false, 60000), 0);
	cr_expect_eq(world.asked, 1);
	cr_expect_eq(find_later(true, 0), 0);
	cr_expect_eq(world.asked, 1);
}
