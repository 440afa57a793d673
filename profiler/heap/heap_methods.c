/* Context: own thread (reset, put); whoever walks (number). */
#include "profiler/heap/heap_methods.h"

#include "profiler/base/own_memory.h"
#include "profiler/clr/cor_abi.h"
#include "profiler/clr/module_guard.h"
#include "profiler/names/function_name.h"

#include <string.h>

#define TABLE_BITS 15
#define TABLE_SIZE (1u << TABLE_BITS)
_Static_assert(HEAP_METHODS_MAX <= TABLE_SIZE / 2, "a fuller table is slow");
_Static_assert(HEAP_METHODS_MAX <= UINT16_MAX, "an index and one fit a place of the table");

static struct suspension {
	uintptr_t resume_info;
	uintptr_t ip;  /* 0: of no method */
	bool unread;
} suspensions[HEAP_METHODS_MAX];
static uint32_t count;
static uint16_t table[TABLE_SIZE]; /* 1 + index; 0: free */

void heap_methods_reset(void)
{
	if (count)
		memset(table, 0, sizeof table);
	count = 0;
}

static WRAPS uint16_t *suspension_slot(uintptr_t resume_info)
{
	uint32_t slot = (uint32_t)(((uint64_t)resume_info >> 3) * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS));

	while (table[slot] && suspensions[table[slot] - 1].resume_info != resume_info)
		slot = (slot + 1) & (TABLE_SIZE - 1);
	return &table[slot];
}

int32_t heap_methods_number(uintptr_t resume_info)
{
	uintptr_t words[2]; /* Resume, DiagnosticIP */
	uint16_t *slot = suspension_slot(resume_info);

	if (!resume_info)
		return 0;
	if (!*slot && count == HEAP_METHODS_MAX)
		return HEAP_METHOD_UNKNOWN;
	if (!*slot) {
		bool there = own_memory_read(resume_info, words, sizeof words) == sizeof words;
		suspensions[count] = (struct suspension){resume_info, there ? words[1] : 0, !there};
		*slot = (uint16_t)++count;
	}
	const struct suspension *s = &suspensions[*slot - 1];
	return s->unread ? HEAP_METHOD_UNKNOWN : s->ip ? *slot : 0;
}

static cor_id function_at(void *info, uintptr_t ip)
{
	cor_id function = 0, rejit = 0;

	return ip && info_get_function_from_ip3(info, ip, &function, &rejit) >= 0 && function && !function_name_gone(info, function) ? function : 0;
}

/* The guard is left before the first is told: that may wait for the agent, and an unload of the application's then waits for nobody. */
bool heap_methods_put(void *info, struct heap_writer *w)
{
	module_guard_enter();
	for (uint32_t i = 0; i < count; i++)
		suspensions[i].ip = function_at(info, suspensions[i].ip);
	module_guard_leave();
	for (uint32_t i = 0; i < count; i++)
		if (!heap_put_method(w, &(struct heap_method_record){i, suspensions[i].ip}))
			return false;
	return true;
}
