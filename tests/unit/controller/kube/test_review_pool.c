#include "controller/kube/review_pool.h"

#include "controller/kube/kube_config.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int ran, without_client;
static sem_t go;

static void task(void *arg, struct kube_client *kube)
{
	if (arg)
		sem_wait(arg);
	atomic_fetch_add(&ran, 1);
	if (!kube)
		atomic_fetch_add(&without_client, 1);
}

static struct review_pool *open_pool(size_t threads, size_t most)
{
	/* Nobody is asked: the tasks here make no call. */
	static struct kube_config config = {.server = (char *)(uintptr_t)"http://127.0.0.1:1"};
	struct err e = ERR_INIT;
	struct review_pool *p = review_pool_new(&config, threads, most, &e);
	cr_assert_not_null(p, "%s", e.message);
	return p;
}

Test(review_pool, all_tasks_run)
{
	struct review_pool *p = open_pool(3, 1000);
	for (int i = 0; i < 500; i++)
		cr_assert_eq(review_pool_submit(p, task, NULL, NULL), 0);
	review_pool_free(p);
	cr_expect_eq(atomic_load(&ran), 500);
	review_pool_free(NULL);
}

Test(review_pool, the_queue_has_a_bound)
{
	sem_init(&go, 0, 0);
	struct review_pool *p = open_pool(1, 2);
	struct err e = ERR_INIT;
	cr_assert_eq(review_pool_submit(p, task, &go, NULL), 0);
	/* The first is at work soon; then two wait. */
	int taken = 0;
	for (int i = 0; i < 1000 && taken < 2; i++) {
		if (review_pool_submit(p, task, &go, &e) == 0)
			taken++;
		else
			usleep(1000);
	}
	cr_assert_eq(taken, 2);
	int refused = 0;
	for (int i = 0; i < 3; i++)
		refused += review_pool_submit(p, task, NULL, &e) < 0;
	cr_expect_geq(refused, 2);
	cr_expect_eq(e.kind, ERR_RETRY);
	for (int i = 0; i < 4; i++)
		sem_post(&go);
	review_pool_free(p);
	cr_expect_eq(atomic_load(&ran), 3 + (3 - refused));
}

static void *end(void *arg)
{
	review_pool_free(arg);
	return NULL;
}

Test(review_pool, what_waits_at_the_end_is_run_without_a_client)
{
	sem_init(&go, 0, 0);
	struct review_pool *p = open_pool(1, 10);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(review_pool_submit(p, task, i == 0 ? &go : NULL, NULL), 0);
	usleep(50000); /* the first is at work, most likely */
	pthread_t ender;
	cr_assert_eq(pthread_create(&ender, NULL, end, p), 0);
	usleep(50000);
	sem_post(&go);
	pthread_join(ender, NULL);
	cr_expect_eq(atomic_load(&ran), 4);
	cr_expect_leq(atomic_load(&without_client), 4);
}
