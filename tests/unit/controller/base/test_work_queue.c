#include "controller/base/work_queue.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_take(struct wq_core *q, int64_t now, const char *key, int64_t next)
{
	int64_t got_next = -1;
	const char *got = wq_core_take(q, now, &got_next);
	if (key)
		cr_assert_str_eq(got ? got : "(none)", key, "at %lld: %s", (long long)now, got);
	else
		cr_assert_null(got, "at %lld: %s", (long long)now, got);
	if (!key)
		cr_assert_eq(got_next, next, "at %lld: next at %lld", (long long)now, (long long)got_next);
}

Test(work_queue, a_key_is_there_once)
{
	struct wq_core q;
	wq_core_init(&q, 10, 100);
	wq_core_add(&q, "a");
	wq_core_add(&q, "b");
	wq_core_add(&q, "a");
	expect_take(&q, 0, "a", 0);
	expect_take(&q, 0, "b", 0);
	expect_take(&q, 0, NULL, INT64_MAX);
	wq_core_done(&q, "a");
	wq_core_done(&q, "b");
	expect_take(&q, 0, NULL, INT64_MAX);
	wq_core_fini(&q);
}

Test(work_queue, one_added_while_in_work_comes_again_afterwards)
{
	struct wq_core q;
	wq_core_init(&q, 10, 100);
	wq_core_add(&q, "a");
	expect_take(&q, 0, "a", 0);
	wq_core_add(&q, "a");
	expect_take(&q, 0, NULL, INT64_MAX);
	wq_core_done(&q, "a");
	expect_take(&q, 0, "a", 0);
	wq_core_done(&q, "a");
	expect_take(&q, 0, NULL, INT64_MAX);
	wq_core_fini(&q);
}

Test(work_queue, times)
{
	struct wq_core q;
	wq_core_init(&q, 10, 100);
	wq_core_add_at(&q, "a", 50);
	wq_core_add_at(&q, "b", 20);
	wq_core_add_at(&q, "a", 70); /* the earlier counts */
	wq_core_add_at(&q, "b", 10);
	expect_take(&q, 9, NULL, 10);
	expect_take(&q, 10, "b", 0);
	expect_take(&q, 49, NULL, 50);
	wq_core_add(&q, "a"); /* now */
	expect_take(&q, 49, "a", 0);
	wq_core_done(&q, "a");
	wq_core_done(&q, "b");
	expect_take(&q, 1000, NULL, INT64_MAX);
	wq_core_fini(&q);
}

Test(work_queue, failures_wait_ever_longer_until_forgotten)
{
	struct wq_core q;
	wq_core_init(&q, 10, 100);
	int64_t now = 0;
	static const int64_t delays[] = {10, 20, 40, 80, 100, 100};
	wq_core_add(&q, "a");
	for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
		expect_take(&q, now, "a", 0);
		wq_core_add_failed(&q, "a", now);
		wq_core_done(&q, "a");
		expect_take(&q, now + delays[i] - 1, NULL, now + delays[i]);
		now += delays[i];
	}
	expect_take(&q, now, "a", 0);
	wq_core_forget(&q, "a");
	wq_core_done(&q, "a");
	wq_core_add(&q, "a");
	expect_take(&q, now, "a", 0);
	wq_core_add_failed(&q, "a", now);
	wq_core_done(&q, "a");
	expect_take(&q, now, NULL, now + 10);
	wq_core_fini(&q);
}

Test(work_queue, urgent_ones_come_first_and_others_get_a_turn)
{
	struct wq_core q;
	wq_core_init(&q, 10, 100);
	static const char *const others[] = {"a", "b", "c"}, *const urgent[] = {"u1", "u2", "u3", "u4", "u5"};
	static const char *const order[] = {"u1", "u2", "u3", "a", "u4", "u5", "b", "c"};
	for (size_t i = 0; i < 3; i++)
		wq_core_add(&q, others[i]);
	for (size_t i = 0; i < 5; i++)
		wq_core_add_urgent(&q, urgent[i]);
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		expect_take(&q, 0, order[i], 0);
	wq_core_add_failed(&q, "u1", 0); /* urgent, also when it comes again */
	wq_core_add_failed(&q, "a", 0);
	wq_core_add(&q, "u2"); /* its next turn is one like others */
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		wq_core_done(&q, order[i]);
	expect_take(&q, 10, "u1", 0);
	expect_take(&q, 10, "u2", 0);
	expect_take(&q, 10, "a", 0);
	expect_take(&q, 10, NULL, INT64_MAX);
	wq_core_fini(&q);
}

Test(work_queue, a_worker_is_kept_for_urgent_ones)
{
	struct wq_core q;
	wq_core_init(&q, 10, 100);
	q.others_most = 2;
	wq_core_add(&q, "a");
	wq_core_add(&q, "b");
	wq_core_add(&q, "c");
	wq_core_add_at(&q, "later", 50);
	expect_take(&q, 0, "a", 0);
	expect_take(&q, 0, "b", 0);
	expect_take(&q, 0, NULL, 50);
	wq_core_add_urgent(&q, "u");
	expect_take(&q, 0, "u", 0);
	wq_core_done(&q, "u");
	expect_take(&q, 0, NULL, 50);
	wq_core_done(&q, "a");
	expect_take(&q, 0, "c", 0);
	wq_core_fini(&q);
}

/* Random operations against a model that looks at every key. */
#define KEYS 40

struct model {
	bool ready, work, again;
	int64_t due; /* -1: none */
};

static void model_add(struct model *m)
{
	if (m->work)
		m->again = true;
	else
		m->ready = true;
	m->due = -1;
}

static size_t model_due(struct model *m, int64_t now)
{
	size_t n = 0;
	for (int i = 0; i < KEYS; i++) {
		if (m[i].due >= 0 && m[i].due <= now && !m[i].work) {
			m[i].ready = true;
			m[i].due = -1;
		}
		n += m[i].ready;
	}
	return n;
}

Test(work_queue, agrees_with_a_naive_model)
{
	struct wq_core q;
	struct model m[KEYS] = {0};
	char key[16];
	int64_t now = 0, next;
	unsigned seed = 20260101;
	wq_core_init(&q, 10, 100);
	for (int i = 0; i < KEYS; i++)
		m[i].due = -1;
	for (int turn = 0; turn < 50000; turn++) {
		int k = rand_r(&seed) % KEYS;
		snprintf(key, sizeof key, "key-%d", k);
		switch (rand_r(&seed) % 4) {
		case 0:
			wq_core_add(&q, key);
			model_add(&m[k]);
			break;
		case 1:
			if (m[k].work) {
				wq_core_done(&q, key);
				m[k].work = false;
				if (m[k].again)
					m[k].ready = true;
				m[k].again = false;
			}
			break;
		case 2:
			now += rand_r(&seed) % 5;
			break;
		default: {
			size_t due = model_due(m, now);
			const char *got = wq_core_take(&q, now, &next);
			cr_assert_eq(got != NULL, due > 0, "turn %d: %zu due, got %s", turn, due, got);
			int which = got ? atoi(got + 4) : 0;
			if (got) {
				cr_assert(m[which].ready && !m[which].work, "turn %d: %s", turn, got);
				m[which].ready = false;
				m[which].work = true;
			}
		}
		}
	}
	wq_core_fini(&q);
}

/* threads (tsan) --------------------------------------------------------------------------------------------------- */

#define WORKERS 4
#define ADDS 2000

struct shop {
	struct work_queue *queue;
	atomic_int in_work[KEYS], done[KEYS];
	atomic_bool twice;
};

static void *work(void *arg)
{
	struct shop *s = arg;
	for (char *key; (key = work_queue_take(s->queue)); free(key)) {
		int k = atoi(key + 4);
		if (atomic_fetch_add(&s->in_work[k], 1) != 0)
			atomic_store(&s->twice, true);
		int times = atomic_fetch_add(&s->done[k], 1);
		atomic_fetch_sub(&s->in_work[k], 1);
		work_queue_finish(s->queue, key, times == 0 ? WORK_FAILED : WORK_DONE); /* each fails once, and comes again by itself */
	}
	return NULL;
}

Test(work_queue, many_workers_never_share_a_key)
{
	struct shop s = {.queue = work_queue_new(4, 1, 10)};
	pthread_t threads[WORKERS];
	char key[16];
	for (int i = 0; i < WORKERS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, work, &s), 0);
	for (int i = 0; i < ADDS; i++) {
		snprintf(key, sizeof key, "key-%d", i % KEYS);
		if (i % 3)
			work_queue_add(s.queue, key);
		else
			work_queue_add_after(s.queue, key, i % 4);
	}
	for (int k = 0; k < KEYS;) /* bounded by the runner's time limit */
		k += atomic_load(&s.done[k]) >= 2;
	while (work_queue_depth(s.queue))
		sched_yield();
	work_queue_shutdown(s.queue);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	cr_expect_not(atomic_load(&s.twice));
	cr_expect_null(work_queue_take(s.queue), "it is shut down");
	work_queue_free(s.queue);
}
