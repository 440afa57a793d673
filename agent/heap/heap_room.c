#include "agent/heap/heap_room.h"

#include "agent/heap/heap_budget.h"
#include "agent/heap/heap_graph.h"

#include <sys/statvfs.h>

/* Measured, see docs/decisions/heap-graph.md; bytes. */
#define STREAM_OF_OBJECT 9 /* with its references */
#define GRAPH_OF_OBJECT 41
#define TENTHS_OF_REFERENCE 36
#define USUAL_REFERENCES 2     /* of an object */
#define LEAST_IN_MEMORY 40     /* percent: with less it is the disk's reading and writing that takes the time */
#define IN_ORDER 21            /* percent, of arrays that are read in order: past half of the budget they leave memory first */
#define DISK_RESERVE ((int64_t)64 << 20)

uint64_t heap_room_stream(uint64_t objects)
{
	return objects * STREAM_OF_OBJECT;
}

uint64_t heap_room_graph(uint64_t objects, uint64_t references)
{
	if (!references)
		references = objects * USUAL_REFERENCES;
	return objects * GRAPH_OF_OBJECT + references * TENTHS_OF_REFERENCE / 10;
}

static int64_t disk_bytes(int dirfd)
{
	struct statvfs v;
	int r = dirfd < 0 ? statvfs("/tmp", &v) : fstatvfs(dirfd, &v);
	int64_t bytes;

	if (r < 0 || __builtin_mul_overflow((int64_t)v.f_bavail, (int64_t)v.f_frsize, &bytes))
		return INT64_MAX;
	return bytes > DISK_RESERVE ? bytes - DISK_RESERVE : 0;
}

void heap_room_look(struct heap_room *r, int dirfd, int64_t files_max)
{
	struct cgroup_memory group;

	heap_budget_group(&group);
	*r = (struct heap_room){
		.memory_bytes = INT64_MAX,
		.held_bytes = (int64_t)(heap_budget_of(HEAP_SNAPSHOT_MEMORY, HEAP_BUDGET_STREAM, &group) +
					heap_budget_wide_of(HEAP_GRAPH_MEMORY, HEAP_BUDGET_GRAPH, &group)),
		.file_bytes = disk_bytes(dirfd),
	};
	if (files_max > 0 && files_max < r->file_bytes)
		r->file_bytes = files_max;
	if (group.limit_bytes <= 0 || group.usage_bytes < 0)
		return;
	int64_t left = group.limit_bytes - group.usage_bytes - HEAP_BUDGET_RESERVE;
	r->memory_bytes = left > 0 ? left : 0;
	r->limit_bytes = group.limit_bytes;
}

static int64_t bounded_estimate(uint64_t bytes)
{
	return bytes < INT64_MAX / 4 ? (int64_t)bytes : INT64_MAX / 4;
}

struct heap_lack heap_room_lack(const struct heap_room *r, uint64_t stream, uint64_t graph)
{
	struct heap_lack lack = {0};
	int64_t need = bounded_estimate(stream) + bounded_estimate(graph), least = bounded_estimate(graph) / 100 * LEAST_IN_MEMORY;
	int64_t in_order = need / 100 * IN_ORDER, beyond = need - r->held_bytes, files = beyond > in_order ? beyond : in_order;

	if (least > r->memory_bytes)
		lack.limit_bytes = r->limit_bytes + (least - r->memory_bytes);
	if (need > r->held_bytes / 2 && files > r->file_bytes)
		lack.file_bytes = files;
	return lack;
}
