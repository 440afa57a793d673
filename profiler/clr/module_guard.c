/* Context: own thread and CLR callback. */
#include "profiler/clr/module_guard.h"

#include <pthread.h>

/* More than unload at once or stay findable: what is forgotten first is what was unloaded first. */
#define MAX_GONE 512
#define COLLECTIONS 2 /* the first frees the code's owner for deletion, the second deletes it */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cor_id gone[MAX_GONE];
static uint32_t gone_count; /* ever */
static uint32_t unloads;
static uint32_t collections_to_wait;
static bool leaves_code;

void module_guard_reset(bool runtime_leaves_code)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_GONE; i++)
		gone[i] = 0;
	gone_count = unloads = 0;
	collections_to_wait = 0;
	leaves_code = runtime_leaves_code;
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

/* Replaces one entry; false when there is none such. */
static bool replace_gone(cor_id from, cor_id to)
{
	for (uint32_t i = 0; gone_count && i < MAX_GONE; i++)
		if (gone[i] == from) {
			gone[i] = to;
			return true;
		}
	return false;
}

uint32_t module_guard_unloads(void)
{
	return unloads;
}

bool module_guard_gone(cor_id module)
{
	return replace_gone(module, module);
}

void module_guard_unload_started(cor_id module)
{
	pthread_mutex_lock(&lock);
	collections_to_wait = COLLECTIONS;
	unloads++;
	if (!replace_gone(module, module))
		gone[gone_count++ % MAX_GONE] = module;
	pthread_mutex_unlock(&lock);
}

void module_guard_collected(uint32_t generation)
{
	pthread_mutex_lock(&lock);
	if (generation == 2 && collections_to_wait)
		collections_to_wait--;
	pthread_mutex_unlock(&lock);
}

bool module_guard_quiet(void)
{
	return !leaves_code || collections_to_wait == 0;
}

void module_guard_loaded(cor_id module)
{
	pthread_mutex_lock(&lock);
	replace_gone(module, 0);
	pthread_mutex_unlock(&lock);
}
