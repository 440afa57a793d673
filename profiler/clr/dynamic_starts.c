/* Context: own thread and CLR callback. */
#include "profiler/clr/dynamic_starts.h"

#include "common/proto/difference.h"

#include <pthread.h>

#define TABLE_BITS 11
#define TABLE_SIZE (1u << TABLE_BITS)
#define NEIGHBOURS 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	cor_id function;
	uint64_t start_ns;
} table[TABLE_SIZE];
static uint64_t forgotten_ns;

static WRAPS uint32_t function_slot(cor_id function, uint32_t probe)
{
	return ((uint32_t)((uint64_t)function * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS)) + probe) & (TABLE_SIZE - 1);
}

void dynamic_starts_reset(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < TABLE_SIZE; i++) {
		if (table[i].function)
			table[i].function = 0;
	}
	forgotten_ns = 0;
	pthread_mutex_unlock(&lock);
}

void dynamic_starts_put(cor_id function, uint64_t start_ns)
{
	uint32_t oldest = function_slot(function, 0);

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < NEIGHBOURS; i++) {
		uint32_t s = function_slot(function, i);
		if (table[s].function == 0 || table[s].function == function) {
			oldest = s;
			table[s].function = 0;
			break;
		}
		if (table[s].start_ns < table[oldest].start_ns)
			oldest = s;
	}
	if (table[oldest].function && table[oldest].start_ns > forgotten_ns)
		forgotten_ns = table[oldest].start_ns;
	table[oldest].function = function;
	table[oldest].start_ns = start_ns;
	pthread_mutex_unlock(&lock);
}

uint64_t dynamic_starts_get(cor_id function)
{
	pthread_mutex_lock(&lock);
	uint64_t start = forgotten_ns;
	for (uint32_t i = 0; i < NEIGHBOURS; i++) {
		uint32_t s = function_slot(function, i);
		if (table[s].function == function) {
			start = table[s].start_ns;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return start;
}
