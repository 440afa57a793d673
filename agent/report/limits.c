#include "agent/report/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct limit *find_or_add_limit(struct limits *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->list[i].name, name) == 0)
			return &l->list[i];
	return l->count < LIMITS_MAX ? &l->list[l->count++] : NULL;
}

void limits_note(struct limits *l, const char *name, int64_t limit, int64_t seen, const char *meaning, ...)
{
	struct limit *x = find_or_add_limit(l, name);
	va_list args;
	if (!x)
		return;
	x->name = name;
	x->limit = limit;
	x->seen = seen;
	va_start(args, meaning);
	vsnprintf(x->meaning, sizeof x->meaning, meaning, args);
	va_end(args);
}

void limits_note_stall(struct limits *l, int64_t ns)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->list[i].name, "stalled") == 0 && l->list[i].seen >= ns)
			return;
	if (ns > 0)
		limits_note(l, "stalled", -1, ns,
			    "The profiler did not run for %.1f seconds (it was stopped or frozen, or got no CPU): what the process did then was not measured, "
			    "and is in no figure of samples, stacks or waits.",
			    (double)ns / 1e9);
}

void limits_note_callers(struct limits *l, int64_t stacks, int64_t incomplete)
{
	limits_note(l, "callers", stacks, stacks - incomplete,
		    "Callers may be missing from %lld of %lld stacks: they pass through code that was not known yet, and the runtime would not tell.",
		    (long long)incomplete, (long long)stacks);
}
