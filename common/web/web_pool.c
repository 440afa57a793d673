#include "common/web/web_pool.h"

#include "common/base/mem.h"
#include "common/base/thread.h"

#include <pthread.h>
#include <stdlib.h>

struct work {
	web_pool_task *run;
	void *arg;
	struct work *next;
};

struct web_pool {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct work *first, *last;
	size_t queued;
	bool stopping;
	pthread_t *threads;
	size_t started;
};

static struct work *take_web_work(struct web_pool *p)
{
	pthread_mutex_lock(&p->lock);
	while (!p->first && !p->stopping)
		pthread_cond_wait(&p->more, &p->lock);
	struct work *w = p->first;
	if (w) {
		p->first = w->next;
		if (!p->first)
			p->last = NULL;
		p->queued--;
	}
	pthread_mutex_unlock(&p->lock);
	return w;
}

static void *run_web_worker(void *arg)
{
	struct web_pool *p = arg;
	struct work *w;
	while ((w = take_web_work(p))) {
		w->run(w->arg);
		free(w);
	}
	return NULL;
}

struct web_pool *web_pool_new(size_t threads, struct err *e)
{
	struct web_pool *p = mem_alloc(sizeof *p);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	p->threads = mem_calloc(threads, sizeof *p->threads);
	for (; p->started < threads; p->started++) {
		if (thread_start(&p->threads[p->started], "web-worker", THREAD_STACK_USUAL, run_web_worker, p, e) < 0) {
			web_pool_free(p);
			return NULL;
		}
	}
	return p;
}

bool web_pool_submit(struct web_pool *p, web_pool_task *task, void *arg, size_t max_queued)
{
	pthread_mutex_lock(&p->lock);
	bool room = !p->stopping && (max_queued == 0 || p->queued < max_queued);
	if (room) {
		struct work *w = mem_alloc(sizeof *w);
		*w = (struct work){task, arg, NULL};
		if (p->last)
			p->last->next = w;
		else
			p->first = w;
		p->last = w;
		p->queued++;
		pthread_cond_signal(&p->more);
	}
	pthread_mutex_unlock(&p->lock);
	return room;
}

void web_pool_free(struct web_pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->started; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->more);
	pthread_mutex_destroy(&p->lock);
	free(p->threads);
	free(p);
}
