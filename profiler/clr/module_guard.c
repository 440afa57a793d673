/* Context: own thread and CLR callback. */
#include "profiler/clr/module_guard.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

/* More than unload at once or stay findable: what is forgotten first is what was unloaded first. */
#define MAX_GONE 512
#define COLLECTIONS 2 /* the first frees the code's owner for deletion, the second deletes it */
#define YIELD_TRIES 20 /* of a millisecond: a thread that was woken and finds no CPU does not hold ours up for ever */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cor_id gone[MAX_GONE];
static _Atomic uint32_t gone_count; /* ever */
static uint32_t unloads;
static _Atomic uint32_t collections_to_wait, waiting;
static bool leaves_code;

void module_guard_reset(bool runtime_leaves_code)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_GONE; i++)
		gone[i] = 0;
	unloads = 0;
	atomic_store(&gone_count, 0);
	atomic_store(&collections_to_wait, 0);
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

/* Who has just left a mutex has it again before a thread that waited for it runs. */
bool module_guard_yield(cor_id module)
{
	module_guard_leave();
	for (int i = 0; atomic_load(&waiting) && i < YIELD_TRIES; i++)
		poll(NULL, 0, 1);
	module_guard_enter();
	return !module_guard_gone(module);
}

static void enter_from_callback(void)
{
	atomic_fetch_add(&waiting, 1);
	pthread_mutex_lock(&lock);
	atomic_fetch_sub(&waiting, 1);
}

/* Replaces one entry; false when there is none such. */
static bool replace_gone(cor_id from, cor_id to)
{
	for (uint32_t i = 0; atomic_load(&gone_count) && i < MAX_GONE; i++)
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
	enter_from_callback();
	atomic_store(&collections_to_wait, COLLECTIONS);
	unloads++;
	if (!replace_gone(module, module))
		gone[atomic_fetch_add(&gone_count, 1) % MAX_GONE] = module;
	pthread_mutex_unlock(&lock);
}

/* All threads are stopped: nothing is waited for. */
void module_guard_collected(uint32_t generation)
{
	uint32_t left = generation == 2 ? atomic_load(&collections_to_wait) : 0;

	while (left && !atomic_compare_exchange_weak(&collections_to_wait, &left, left - 1))
		;
}

bool module_guard_quiet(void)
{
	return !leaves_code || atomic_load(&collections_to_wait) == 0;
}

void module_guard_loaded(cor_id module)
{
	if (!atomic_load(&gone_count))
		return;
	enter_from_callback();
	replace_gone(module, 0);
	pthread_mutex_unlock(&lock);
}
