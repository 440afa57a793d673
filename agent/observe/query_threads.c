#include "agent/observe/query_threads.h"

#include "common/base/log.h"
#include "common/base/thread.h"

#define STACK_BYTES (256 * 1024)

void query_threads_init(struct query_threads *t)
{
	*t = (struct query_threads){.running = 0};
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->ended, NULL);
}

void query_threads_stop(struct query_threads *t)
{
	pthread_mutex_lock(&t->lock);
	t->stopped = true;
	while (t->running)
		pthread_cond_wait(&t->ended, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

void query_threads_fini(struct query_threads *t)
{
	query_threads_stop(t);
	pthread_cond_destroy(&t->ended);
	pthread_mutex_destroy(&t->lock);
}

bool query_threads_start(struct query_threads *t, const char *name, size_t most, void *(*run)(void *query), void *query)
{
	pthread_mutex_lock(&t->lock);
	bool full = t->stopped || t->running >= most;
	t->running += !full;
	pthread_mutex_unlock(&t->lock);
	if (full) {
		LOG_WARN(name, "too many queries at once; one is not answered");
		return false;
	}
	if (thread_start(NULL, name, STACK_BYTES, run, query, NULL) == 0)
		return true;
	query_threads_leave(t);
	return false;
}

void query_threads_leave(struct query_threads *t)
{
	pthread_mutex_lock(&t->lock);
	t->running--;
	pthread_cond_signal(&t->ended);
	pthread_mutex_unlock(&t->lock);
}
