#include "controller/kube/review_pool.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>

struct task {
	review_task *run;
	void *arg;
	struct task *next;
};

struct worker {
	struct review_pool *pool;
	struct kube_client *kube;
	pthread_t thread;
};

struct review_pool {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct task *first, *last;
	size_t queued, max_queued;
	bool stopping;
	int cancel_fd;
	struct worker *workers;
	size_t started, made;
};

static struct task *take_review_task(struct review_pool *p, bool *stopping)
{
	pthread_mutex_lock(&p->lock);
	while (!p->first && !p->stopping)
		pthread_cond_wait(&p->work, &p->lock);
	struct task *t = p->first;
	if (t) {
		p->first = t->next;
		if (!p->first)
			p->last = NULL;
		p->queued--;
	}
	*stopping = p->stopping;
	pthread_mutex_unlock(&p->lock);
	return t;
}

static void *run_review_worker(void *arg)
{
	struct worker *w = arg;
	struct task *t;
	bool stopping;
	while ((t = take_review_task(w->pool, &stopping))) {
		t->run(t->arg, stopping ? NULL : w->kube);
		free(t);
	}
	return NULL;
}

static int start_review_workers(struct review_pool *p, const struct kube_config *kube, size_t threads, struct err *e)
{
	p->workers = mem_calloc(threads, sizeof *p->workers);
	for (size_t i = 0; i < threads; i++) {
		struct worker *w = &p->workers[i];
		w->pool = p;
		w->kube = kube_client_new(kube, p->cancel_fd, e);
		if (!w->kube)
			return -1;
		p->made = i + 1;
		if (thread_start(&w->thread, "review", THREAD_STACK_USUAL, run_review_worker, w, e) < 0)
			return -1;
		p->started = i + 1;
	}
	return 0;
}

struct review_pool *review_pool_new(const struct kube_config *kube, size_t threads, size_t max_queued, struct err *e)
{
	struct review_pool *p = mem_alloc(sizeof *p);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	p->max_queued = max_queued;
	p->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->cancel_fd < 0)
		err_set_errno(e, errno, "cannot create an eventfd");
	else if (start_review_workers(p, kube, threads, e) == 0)
		return p;
	review_pool_free(p);
	return NULL;
}

int review_pool_submit(struct review_pool *p, review_task *run, void *arg, struct err *e)
{
	pthread_mutex_lock(&p->lock);
	if (p->queued >= p->max_queued || p->stopping) {
		pthread_mutex_unlock(&p->lock);
		return err_set(e, ERR_RETRY, 0, "%zu reviews wait already", p->max_queued);
	}
	struct task *t = mem_alloc(sizeof *t);
	*t = (struct task){run, arg, NULL};
	if (p->last)
		p->last->next = t;
	else
		p->first = t;
	p->last = t;
	p->queued++;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

void review_pool_free(struct review_pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	if (p->cancel_fd >= 0 && eventfd_write(p->cancel_fd, 1) < 0) {
		/* cannot happen with a fresh counter; the calls would end by their time limit */
	}
	for (size_t i = 0; i < p->started; i++)
		pthread_join(p->workers[i].thread, NULL);
	for (size_t i = 0; i < p->made; i++)
		kube_client_free(p->workers[i].kube);
	free(p->workers);
	cleanup_fd(&p->cancel_fd);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
