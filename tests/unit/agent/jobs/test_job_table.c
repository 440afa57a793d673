#include "agent/jobs/job_table.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct job *add(struct job_table *t, const char *id)
{
	struct link_order o = {0};
	snprintf(o.job_id, sizeof o.job_id, "%s", id);
	session_spec_init(&o.spec, PROFILER_CPU_HOTPATHS);
	struct job *j = job_table_add(t, &o);
	session_spec_fini(&o.spec);
	if (j)
		j->waiting = true;
	return j;
}

static void start(struct job_table *t, struct job *j)
{
	j->waiting = false;
	j->has_slot = true;
	t->running++;
}

static void clear(struct job_table *t)
{
	while (t->count)
		job_table_remove(t, t->jobs[0], false);
}

Test(job_table, the_oldest_starts_first_while_there_are_slots)
{
	struct job_table t = {.max_running = 2};
	struct job *a = add(&t, "a"), *b = add(&t, "b"), *c = add(&t, "c");
	cr_expect(job_table_may_start(&t, a));
	cr_expect_not(job_table_may_start(&t, b), "a is older");
	start(&t, a);
	cr_expect(job_table_may_start(&t, b));
	start(&t, b);
	cr_expect_not(job_table_may_start(&t, c), "two run");
	cr_expect(job_table_renumber(&t));
	cr_expect_eq(c->state.queue_position, 1);
	cr_expect_not(job_table_renumber(&t), "no news");
	t.running--;
	cr_expect(job_table_may_start(&t, c));
	clear(&t);
}

static struct job *add_long(struct job_table *t, const char *id)
{
	struct job *j = add(t, id);
	j->order.spec.duration_seconds = JOB_TABLE_LONG_SECONDS + 1;
	return j;
}

Test(job_table, nobody_waits_an_hour_for_a_moment)
{
	struct job_table t = {.max_running = 2};
	struct job *a = add_long(&t, "a"), *b = add_long(&t, "b"), *c = add_long(&t, "c"), *d = add(&t, "d"), *e = add(&t, "e");
	d->order.spec.duration_seconds = JOB_TABLE_LONG_SECONDS;
	start(&t, a);
	cr_expect_not(job_table_may_start(&t, d), "b and c are older, and a slot is free");
	start(&t, b);
	cr_expect_not(job_table_may_start(&t, c));
	cr_expect(job_table_may_start(&t, d), "two long ones hold all slots");
	cr_expect_not(job_table_may_start(&t, e), "d is older");
	start(&t, d);
	cr_expect_not(job_table_may_start(&t, e), "one besides");
	a->has_slot = false;
	t.running--;
	cr_expect_not(job_table_may_start(&t, c), "two run");
	cr_expect_not(job_table_may_start(&t, e), "one of them is not long");
	d->has_slot = false;
	t.running--;
	cr_expect(job_table_may_start(&t, c));
	cr_expect_not(job_table_may_start(&t, e), "c is older");
	clear(&t);
}

Test(job_table, a_container_that_starts_waits_for_nobody)
{
	struct job_table t = {.max_running = 2};
	struct job *a = add_long(&t, "a"), *b = add(&t, "b"), *c = add(&t, "c"), *s[] = {add(&t, "s"), add(&t, "t"), add(&t, "u")};
	for (size_t i = 0; i < 3; i++)
		s[i]->order.spec.start = START_NEXT_CONTAINER;
	start(&t, a);
	start(&t, b);
	cr_expect_not(job_table_may_start(&t, c), "two run");
	cr_expect(job_table_may_start(&t, s[0]), "beside them, before those that wait");
	start(&t, s[0]);
	cr_expect(job_table_may_start(&t, s[1]));
	start(&t, s[1]);
	cr_expect_not(job_table_may_start(&t, s[2]), "twice as many as there are places run");
	b->has_slot = false;
	t.running--;
	cr_expect_not(job_table_may_start(&t, c), "the places are taken, by starts, too");
	cr_expect(job_table_may_start(&t, s[2]));
	clear(&t);
}

Test(job_table, who_waits_for_a_process_lets_younger_ones_pass)
{
	struct job_table t = {.max_running = 3};
	struct job *a = add(&t, "a"), *b = add(&t, "b"), *c = add(&t, "c");
	start(&t, a);
	cr_expect(job_table_claim_process(&t, a, "p"));
	cr_expect_not(job_table_claim_process(&t, b, "p"));
	strcpy(b->blocked_by, "p");
	cr_expect_not(job_table_may_start(&t, b));
	cr_expect(job_table_may_start(&t, c), "it is not known to want the process that is in use");
	a->process[0] = '\0';
	cr_expect(job_table_may_start(&t, b), "the process is free");
	cr_expect_not(job_table_may_start(&t, c), "now the older one is first");
	clear(&t);
}

Test(job_table, each_change_is_reported_once_and_the_oldest_first)
{
	struct job_table t = {.max_running = 1};
	struct job *a = add(&t, "a"), *b = add(&t, "b");
	uint64_t version = 0;
	cr_expect_eq(job_table_next(&t, version), a);
	version = a->version;
	cr_expect_eq(job_table_next(&t, version), b);
	version = b->version;
	cr_expect_null(job_table_next(&t, version));
	job_table_changed(&t, a);
	job_table_changed(&t, b);
	job_table_changed(&t, a);
	cr_expect_eq(job_table_next(&t, version), b, "only the last change of a job counts");
	cr_expect_eq(job_table_next(&t, b->version), a);
	clear(&t);
}

Test(job_table, is_bounded_and_remembers_what_it_forgot)
{
	struct job_table t = {.max_running = 1};
	char id[16];
	for (int i = 0; i < LINK_MAX_JOBS; i++) {
		snprintf(id, sizeof id, "j%d", i);
		cr_assert_not_null(add(&t, id));
	}
	cr_expect_null(add(&t, "more"));
	cr_expect_eq(job_table_find(&t, "j7"), t.jobs[7]);
	cr_expect_null(job_table_find(&t, "more"));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < JOB_TABLE_FORGOTTEN; i++) {
			if (!t.count)
				add(&t, "again");
			job_table_remove(&t, t.jobs[0], true);
		}
		cr_expect_eq(job_table_was_forgotten(&t, "j0"), round == 0);
	}
	cr_expect(job_table_was_forgotten(&t, "again"));
	cr_expect_not(job_table_was_forgotten(&t, "never"));
	clear(&t);
}

/* A naive model: jobs in the order of their arrival, each waiting, running (on a process) or done. */
Test(job_table, random_operations_keep_the_rules)
{
	struct job_table t = {.max_running = 3};
	srand(1);
	int next = 0;
	for (int step = 0; step < 20000; step++) {
		struct job *j = t.count ? t.jobs[(size_t)rand() % t.count] : NULL;
		char text[24];
		switch (rand() % 5) {
		case 0:
			snprintf(text, sizeof text, "j%d", next++);
			cr_assert_eq(add(&t, text) == NULL, t.count == LINK_MAX_JOBS && !job_table_find(&t, text));
			break;
		case 1:
			if (!j || !j->waiting || !job_table_may_start(&t, j))
				break;
			start(&t, j);
			snprintf(text, sizeof text, "p%d", rand() % 4);
			if (!job_table_claim_process(&t, j, text)) {
				strcpy(j->blocked_by, text);
				j->waiting = true;
				j->has_slot = false;
				t.running--;
			}
			break;
		default:
			if (!j || j->waiting || rand() % 2)
				break;
			t.running--;
			job_table_remove(&t, j, true);
			break;
		}
		job_table_renumber(&t);
		size_t running = 0, may_start = 0;
		int64_t last = 0;
		for (size_t i = 0; i < t.count; i++) {
			const struct job *one = t.jobs[i];
			running += one->has_slot;
			may_start += one->waiting && job_table_may_start(&t, one);
			cr_assert(!one->state.queue_position || one->waiting);
			if (one->state.queue_position) {
				cr_assert_gt(one->state.queue_position, last, "places follow the arrival");
				last = one->state.queue_position;
			}
			for (size_t k = 0; k < i; k++)
				cr_assert(!one->process[0] || strcmp(one->process, t.jobs[k]->process) != 0, "one session a process");
		}
		cr_assert_eq(running, t.running);
		cr_assert_leq(running, 3);
		cr_assert_leq(may_start, 1);
	}
	clear(&t);
}
