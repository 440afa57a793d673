#include "agent/locks/stack_ends.h"

#include "agent/host/proc.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>

#define RANGES_MAX 131072

void stack_ends_load(int proc_fd, struct stack_ends *out)
{
	AUTO_FREE struct proc_lines *lines = mem_alloc(sizeof *lines);
	const char *line;
	size_t len;
	struct proc_map p;
	*out = (struct stack_ends){0};
	if (proc_lines_open(lines, proc_fd, "maps") < 0)
		return;
	while (out->count < RANGES_MAX && proc_lines_next(lines, &line, &len)) {
		if (proc_parse_map_line(line, len, &p) < 0 || p.perms[1] != 'w')
			continue;
		GROW(out->ranges, out->count, out->cap);
		out->ranges[out->count++] = (struct stack_range){p.start, p.end};
	}
	proc_lines_close(lines);
}

void stack_ends_fini(struct stack_ends *s)
{
	free(s->ranges);
	*s = (struct stack_ends){0};
}

size_t stack_ends_bytes(const struct stack_ends *s, uint64_t sp, size_t most)
{
	size_t low = 0, high = s->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->ranges[middle].end <= sp)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->count || s->ranges[low].start > sp)
		return most;
	uint64_t left = s->ranges[low].end - sp;
	return left < most ? (size_t)left : most;
}
