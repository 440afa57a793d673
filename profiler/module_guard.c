/* Context: own thread and CLR callback. */
#include "profiler/module_guard.h"

#include "profiler/now.h"

#include <pthread.h>

#define MAX_UNLOADING 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cor_id unloading[MAX_UNLOADING];
static bool overflow; /* more unloads at once than we remember: then nothing is described while any goes on */
static uint32_t under_way;
static uint64_t max_wait_ns;

void module_guard_reset(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_UNLOADING; i++)
		unloading[i] = 0;
	overflow = false;
	under_way = 0;
	max_wait_ns = 0;
	pthread_mutex_unlock(&lock);
}

void module_guard_enter(void)
{
	pthread_mutex_lock(&lock);
}

void module_guard_leave(void)
{
	pthread_mutex_unlock(&lock);
}

bool module_guard_unloading(cor_id module)
{
	if (overflow)
		return true;
	for (int i = 0; under_way && i < MAX_UNLOADING; i++)
		if (unloading[i] == module)
			return true;
	return false;
}

/* Replaces one entry; false when there is none such. */
static bool replace(cor_id from, cor_id to)
{
	for (int i = 0; i < MAX_UNLOADING; i++)
		if (unloading[i] == from) {
			unloading[i] = to;
			return true;
		}
	return false;
}

void module_guard_unload_started(cor_id module)
{
	uint64_t begin = now_ns();

	pthread_mutex_lock(&lock);
	uint64_t waited = now_ns() - begin;
	if (waited > max_wait_ns)
		max_wait_ns = waited;
	under_way++;
	if (!replace(0, module))
		overflow = true;
	pthread_mutex_unlock(&lock);
}

void module_guard_unload_finished(cor_id module)
{
	pthread_mutex_lock(&lock);
	replace(module, 0);
	if (under_way && --under_way == 0)
		overflow = false;
	pthread_mutex_unlock(&lock);
}

uint64_t module_guard_max_wait_ns(void)
{
	pthread_mutex_lock(&lock);
	uint64_t v = max_wait_ns;
	pthread_mutex_unlock(&lock);
	return v;
}
