#include "agent/link/resolver.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define LEAST_INTERVAL_MS 1000
#define FAILING_INTERVAL_MS 8000 /* a name that is not there yet is that of a controller that is about to come */
#define STACK_BYTES (256 * 1024)

struct resolver {
	char *host;
	int64_t interval_ms;
	struct resolver_callbacks callbacks;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool hurry, stopping;
};

static int compare_address(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void add_address(struct resolver_result *r, const struct sockaddr *sa, socklen_t len)
{
	char *out = r->addresses[r->count];
	if (r->count == RESOLVER_MAX_ADDRESSES || getnameinfo(sa, len, out, RESOLVER_ADDRESS_SIZE, NULL, 0, NI_NUMERICHOST) != 0)
		return;
	for (size_t i = 0; i < r->count; i++) {
		if (strcmp(r->addresses[i], out) == 0)
			return;
	}
	r->count++;
}

static int resolve_host(const char *host, struct resolver_result *r)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list = NULL;
	int rc = getaddrinfo(host, NULL, &hints, &list);
	if (rc != 0)
		return rc;
	*r = (struct resolver_result){0};
	for (struct addrinfo *ai = list; ai && r->count < RESOLVER_MAX_ADDRESSES; ai = ai->ai_next)
		add_address(r, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(list);
	qsort(r->addresses, r->count, sizeof r->addresses[0], compare_address);
	return 0;
}

/* Waits for the interval, the end, or (after the least interval) somebody's hurry. false: the end. */
static bool wait_next(struct resolver *r, int64_t interval_ms)
{
	int64_t now = clock_mono_ms(), until = now + interval_ms, least = now + LEAST_INTERVAL_MS;
	pthread_mutex_lock(&r->lock);
	while (!r->stopping && (now = clock_mono_ms()) < until) {
		if (r->hurry && now >= least)
			break;
		int64_t wake = r->hurry && least < until ? least : until;
		thread_cond_wait_until(&r->changed, &r->lock, wake);
	}
	r->hurry = false;
	bool go_on = !r->stopping;
	pthread_mutex_unlock(&r->lock);
	return go_on;
}

static void *run_resolver(void *arg)
{
	struct resolver *r = arg;
	int last = 0;
	int64_t interval = LEAST_INTERVAL_MS;
	do {
		struct resolver_result found;
		int rc = resolve_host(r->host, &found);
		if (rc == 0)
			r->callbacks.on_result(r->callbacks.ctx, &found);
		else
			r->callbacks.on_failure(r->callbacks.ctx, gai_strerror(rc));
		if (rc != 0 && rc != last)
			LOG_WARN("link", "cannot resolve the controller's name", LOG_S("host", r->host), LOG_S("error", gai_strerror(rc)));
		/* A failing name is asked for again soon, then less and less often. */
		interval = rc == 0 ? r->interval_ms : last == 0 ? LEAST_INTERVAL_MS : interval * 2;
		int64_t most = rc == 0 || r->interval_ms < FAILING_INTERVAL_MS ? r->interval_ms : FAILING_INTERVAL_MS;
		if (interval > most)
			interval = most;
		last = rc;
	} while (wait_next(r, interval));
	return NULL;
}

struct resolver *resolver_new(const char *host, int64_t interval_ms, const struct resolver_callbacks *callbacks, struct err *e)
{
	struct resolver *r = mem_alloc(sizeof *r);
	r->host = mem_strdup(host);
	r->interval_ms = interval_ms;
	r->callbacks = *callbacks;
	pthread_mutex_init(&r->lock, NULL);
	thread_cond_init(&r->changed);
	r->started = thread_start(&r->thread, "resolver", STACK_BYTES, run_resolver, r, e) == 0;
	if (r->started)
		return r;
	resolver_free(r);
	return NULL;
}

void resolver_hurry(struct resolver *r)
{
	pthread_mutex_lock(&r->lock);
	r->hurry = true;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->stopping = true;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	if (r->started)
		pthread_join(r->thread, NULL);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	free(r->host);
	free(r);
}
