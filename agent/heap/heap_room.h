/* Whether the graph of a heap finds room where the agent runs: in the memory that its control group has left, with the rest in files on its
 * disk. Too little memory by far does not fail but takes for ever (each page is read again and again), so it is found out before the
 * application is stopped, and again when the objects are counted. Figures: docs/decisions/heap-graph.md. */
#ifndef DRDOTNET_HEAP_ROOM_H
#define DRDOTNET_HEAP_ROOM_H

#include <stdint.h>

struct heap_room {
	int64_t memory_bytes; /* that the group still has, without the reserve; INT64_MAX: no limit */
	int64_t limit_bytes;  /* of the group; 0: none */
	int64_t held_bytes;   /* in memory, of what fits and what does not: the budgets of stream and graph */
	int64_t file_bytes;   /* for files; INT64_MAX: not known */
};

/* Of this process. `dirfd`: where files go; -1: /tmp. `files_max`: no more than that (a quota); 0: what the disk has. Any thread. */
void heap_room_look(struct heap_room *r, int dirfd, int64_t files_max);

/* What an analysis takes: the stream, and the graph of so many objects and references (0: as many as usual). */
uint64_t heap_room_stream(uint64_t objects);
uint64_t heap_room_graph(uint64_t objects, uint64_t references);

/* What is missing for a stream and a graph of so many bytes. A stream is read in order: it can lie in a file as a whole. Pure. */
struct heap_lack {
	int64_t limit_bytes; /* the memory limit of the agent that would do; 0: there is enough */
	int64_t file_bytes;  /* room for files that would do; 0: there is enough */
};
struct heap_lack heap_room_lack(const struct heap_room *r, uint64_t stream, uint64_t graph);

#endif
