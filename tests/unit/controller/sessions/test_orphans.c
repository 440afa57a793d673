#include "controller/sessions/orphans.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "!node-1 11111111-0"

struct here {
	struct orphans orphans;
	struct work_queue *queue;
	atomic_llong epoch;
};

static void begin(struct here *h, long long epoch)
{
	orphans_init(&h->orphans);
	h->queue = work_queue_new(1, 1, 1);
	atomic_store(&h->epoch, epoch);
}

static void end(struct here *h)
{
	work_queue_free(h->queue);
	orphans_fini(&h->orphans);
}

static void tell(struct here *h, const char *job_id, enum job_phase phase, const char *namespace, const char *name)
{
	struct link_job job = {.phase = phase, .session_namespace = (char *)namespace, .session_name = (char *)name};
	snprintf(job.job_id, sizeof job.job_id, "%s", job_id);
	orphans_add(&h->orphans, &h->epoch, h->queue, "node-1", &job);
}

Test(orphans, wait_for_a_leader)
{
	struct here h;
	begin(&h, 0);
	tell(&h, "11111111-0", JOB_PROFILING, "", "a name without a namespace");
	cr_expect_eq(work_queue_depth(h.queue), 0);
	atomic_store(&h.epoch, 1);
	orphans_settle(&h.orphans, h.queue);
	cr_assert_eq(work_queue_depth(h.queue), 1);
	char *key = work_queue_take(h.queue);
	cr_expect_str_eq(key, KEY);
	cr_expect(orphans_is_key(key) && !orphans_is_key("shop/cart"));
	struct orphan *o = orphans_take(&h.orphans, key);
	cr_assert(o);
	cr_expect_str_eq(o->node, "node-1");
	cr_expect_str_eq(o->job_id, "11111111-0");
	cr_expect_str_eq(o->namespace, "");
	cr_expect_str_eq(o->name, "a name without a namespace");
	cr_expect_not(o->no_profiler);
	free(o);
	cr_expect_null(orphans_take(&h.orphans, key), "it is settled once");
	free(key);
	end(&h);
}

Test(orphans, the_newest_word_counts)
{
	struct here h;
	begin(&h, 7);
	tell(&h, "11111111-0", JOB_PROFILING, "shop", "cart");
	tell(&h, "11111111-0", JOB_SUCCEEDED, "shop", "cart");
	cr_expect_eq(work_queue_depth(h.queue), 1);
	struct orphan *o = orphans_take(&h.orphans, KEY);
	cr_assert(o && o->no_profiler);
	o->no_profiler = false;
	tell(&h, "11111111-0", JOB_SUCCEEDED, "shop", "cart"); /* while it is in work */
	orphans_give_back_take(&h.orphans, o);
	o = orphans_take(&h.orphans, KEY);
	cr_assert(o && o->no_profiler);
	orphans_give_back_take(&h.orphans, o);
	o = orphans_take(&h.orphans, KEY);
	cr_assert(o, "what was not settled is kept");
	free(o);
	end(&h);
}

Test(orphans, a_job_that_only_delivers_needs_no_cancel)
{
	static const struct {
		enum job_phase phase;
		bool no_profiler;
	} rows[] = {{JOB_QUEUED, false}, {JOB_PROFILING, false}, {JOB_ANALYZING, false}, {JOB_DELIVERING, true}, {JOB_FAILED, true}, {JOB_CANCELED, true}};
	struct here h;
	begin(&h, 7);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tell(&h, "11111111-0", rows[i].phase, "shop", "cart");
		struct orphan *o = orphans_take(&h.orphans, KEY);
		cr_assert(o);
		cr_expect_eq(o->no_profiler, rows[i].no_profiler, "%s", job_phase_name(rows[i].phase));
		free(o);
	}
	end(&h);
}

Test(orphans, are_bounded_while_nobody_settles_them)
{
	struct here h;
	begin(&h, 0);
	char id[16];
	for (int i = 0; i < ORPHANS_MAX + 1; i++) {
		snprintf(id, sizeof id, "job-%d", i);
		tell(&h, id, JOB_PROFILING, NULL, NULL);
	}
	tell(&h, "job-0", JOB_SUCCEEDED, NULL, NULL);
	cr_expect_eq(HASH_COUNT(h.orphans.by_key), ORPHANS_MAX);
	atomic_store(&h.epoch, 1);
	tell(&h, "one more", JOB_PROFILING, NULL, NULL);
	orphans_settle(&h.orphans, h.queue);
	cr_expect_eq(work_queue_depth(h.queue), ORPHANS_MAX + 1);
	end(&h);
}
