#include "agent/stacks/stack_threads.h"

#include "agent/symbols/method_name.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>

#define NAME_BYTES 64

static char *shown_thread_name(const char *name)
{
	AUTO_BUF struct buf text;
	buf_init(&text, NAME_BYTES * 16);
	method_name_printable(name, NAME_BYTES, &text);
	return buf_steal(&text);
}

struct stack_thread *stack_threads_new(const struct cpu_capture *c)
{
	struct stack_thread *threads = mem_calloc(c->thread_count + 1, sizeof *threads);
	for (size_t i = 0; i < c->thread_count; i++)
		threads[i] = (struct stack_thread){
			.tid = c->threads[i].tid,
			.name = shown_thread_name(c->threads[i].name),
			.top_method = CPU_NO_METHOD,
		};
	return threads;
}

void stack_threads_free(struct stack_thread *threads, size_t count)
{
	for (size_t i = 0; threads && i < count; i++)
		free(threads[i].name);
	free(threads);
}

static int more_weight(const void *x, const void *y, void *ctx)
{
	const struct stack_thread *t = ctx, *a = &t[*(const uint32_t *)x], *b = &t[*(const uint32_t *)y];
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

uint32_t *stack_threads_order(const struct stack_thread *threads, size_t count)
{
	uint32_t *order = mem_calloc(count + 1, sizeof *order);
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof *order, more_weight, (void *)threads);
	return order;
}
