/* The short-lived threads that answer queries: at most so many at a time, and an end that waits for them. Any thread. */
#ifndef DRDOTNET_QUERY_THREADS_H
#define DRDOTNET_QUERY_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct query_threads {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	size_t running;
	bool stopped;
};

void query_threads_init(struct query_threads *t);
void query_threads_fini(struct query_threads *t); /* stops; when nobody can start one any more */
/* Waits for those under way; no other begins from now on. */
void query_threads_stop(struct query_threads *t);

/* Starts run(query) in a thread of that name (static storage), which calls query_threads_leave() last. Never blocks. false: it does not run, as `most` do
 * already, they are stopped, or there is no thread to be had. */
bool query_threads_start(struct query_threads *t, const char *name, size_t most, void *(*run)(void *query), void *query);
void query_threads_leave(struct query_threads *t);

#endif
