/* Small heaps by hand, as text: objects "1 Shop.Cache 24 > 2 3" (number, type, bytes, what it refers to), roots "static A > 1",
 * "handle > 2", "pinned > 2", "stack Main > 3", "weak > 3". Lines; objects by rising number from 1. */
#ifndef MAKE_HEAP_H
#define MAKE_HEAP_H

#include "agent/heap/heap_graph.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAKE_HEAP_MAX 200
#define MAKE_HEAP_START 0x100000

struct make_heap {
	struct heap_builder *b;
	char types[MAKE_HEAP_MAX][120];
	unsigned type_count;
	uint64_t at[MAKE_HEAP_MAX];
};

static unsigned make_heap_type(struct make_heap *m, const char *name)
{
	for (unsigned i = 0; i < m->type_count; i++)
		if (strcmp(m->types[i], name) == 0)
			return i;
	snprintf(m->types[m->type_count], sizeof m->types[0], "%s", name);
	unsigned flags = HEAP_TYPE_VARIABLE | HEAP_TYPE_REFERENCES | (strstr(name, "[]") ? HEAP_TYPE_ARRAY : 0);
	if (strcmp(name, "Free") == 0)
		flags = HEAP_TYPE_VARIABLE | HEAP_TYPE_FREE;
	heap_builder_type(m->b, name, flags, 24, strstr(name, "EventHandler")   ? "8 _target, 16 _invocationList"
						  : strstr(name, "LoadContext") ? "8 _unloadLock, 16 _name"
										: "8 _one, 16 _two");
	return m->type_count++;
}

/* Where each object lies: they follow each other. */
static void make_heap_places(struct make_heap *m, const char *text)
{
	uint64_t at = MAKE_HEAP_START;
	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		unsigned number;
		unsigned long long bytes;
		if (sscanf(line, "%u %*s %llu", &number, &bytes) != 2)
			continue;
		m->at[number] = at;
		at += (bytes + 7) / 8 * 8;
	}
	heap_builder_range(m->b, HEAP_GEN2, MAKE_HEAP_START, at - MAKE_HEAP_START);
}

static void make_heap_object(struct make_heap *m, const char *line)
{
	char type[120];
	unsigned number, to;
	unsigned long long bytes;
	int used = 0;
	struct heap_edge edges[16];
	size_t count = 0;
	sscanf(line, "%u %119s %llu >%n", &number, type, &bytes, &used);
	for (line += used; used && sscanf(line, "%*[ ]%u%n", &to, &used) == 1; line += used, count++)
		edges[count] = (struct heap_edge){8 + 8 * (uint32_t)count, m->at[to]};
	heap_builder_object(m->b, make_heap_type(m, type), m->at[number], bytes, edges, count);
}

static void make_heap_root(struct make_heap *m, const char *line)
{
	char label[160];
	unsigned to;
	cr_assert_eq(sscanf(line, "%159[^>]> %u", label, &to), 2, "%s", line);
	label[strlen(label) - 1] = '\0';
	bool pinned = strcmp(label, "pinned") == 0, weak = strcmp(label, "weak") == 0;
	enum heap_root_kind kind = label[0] == 's' && label[2] == 'a' && label[1] == 't' && label[3] == 't' ? HEAP_ROOT_STATIC
				   : strncmp(label, "stack", 5) == 0					     ? HEAP_ROOT_STACK
				   : strncmp(label, "finalizer", 9) == 0				     ? HEAP_ROOT_FINALIZER
				   : strncmp(label, "thread static", 13) == 0			     ? HEAP_ROOT_THREAD_STATIC
												     : HEAP_ROOT_HANDLE;
	heap_builder_root(m->b, kind, (pinned ? HEAP_ROOT_PINNED : 0) | (weak ? HEAP_ROOT_WEAK : 0), m->at[to], 0, label);
}

/* As the report has it. */
static inline struct heap_graph *make_graph(const struct heap_snapshot *s)
{
	const struct heap_graph_options o = {.dirfd = -1, .lasting_first = true};
	struct err e = ERR_INIT;
	struct heap_graph *g = heap_graph_new(s, &o, &e);
	cr_assert(g, "%s", e.message);
	return g;
}

static struct heap_snapshot *make_heap(const char *text)
{
	struct make_heap m = {.b = heap_builder_new(false)};
	make_heap_places(&m, text);
	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (*line >= '0' && *line <= '9')
			make_heap_object(&m, line);
	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (*line >= 'a' && *line <= 'z')
			make_heap_root(&m, line);
	struct heap_snapshot *s = heap_builder_finish_take(m.b);
	s->facts.way = HEAP_WAY_EXACT;
	return s;
}

#endif
