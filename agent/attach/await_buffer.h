/* The buffers of the runtime's async profiler (.NET 11), in any bytes: where async methods were resumed after an await, and until when they ran.
 * Little-endian:
 *
 *   u8 1 | u32 bytes in all | u32 number | u64 inner tid | u32 records | u64 begin, u64 end (CLOCK_MONOTONIC), then records up to the end:
 *   u8 id, time since the record before, the payload's length (none, one or two bytes, by the id), payload
 *
 * A stack (ids below): u8 reserved, u8 place in the chain, u8 frames, number of the task, then for each frame its address (of the first one the whole, of
 * others the signed difference to the one before) and, of state machines, the signed state. Numbers have seven bits a byte, the lowest first; signed ones
 * are zigzag. Which id has how long a length a record of the runtime's says, once; what it says is kept in the caller's widths.
 * Source: the runtime's AsyncProfiler.cs and TraceEvent's parser of it (names of ids, layout); checked with the buffers of 11.0.0. Pure; any thread. */
#ifndef DRDOTNET_AWAIT_BUFFER_H
#define DRDOTNET_AWAIT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AWAIT_BUFFER_DEPTH 64 /* frames kept of a stack: the innermost ones */

struct await_widths {
	uint8_t bytes[256]; /* of the length of a record's payload, by its id: 0, 1 or 2 */
};

enum await_kind {
	AWAIT_RESUMED,  /* a chain of methods; within one that runs already: it ends first */
	AWAIT_GOES_ON,  /* further callers of the chain of state machines before it on the thread, which had not been known then */
	AWAIT_ENDED,    /* the newest chain that runs on the thread: it has come to an await, or to its end */
	AWAIT_RESET,    /* none runs; those that do come again at once */
};

struct await_resume {
	enum await_kind kind;
	uint64_t time_ns;
	uint32_t tid;
	uint16_t depth;
	bool machine; /* state machines: ips are where their code begins, and they have states; else: within the method, behind the await's call */
	uint64_t ips[AWAIT_BUFFER_DEPTH]; /* the innermost first */
	int32_t states[AWAIT_BUFFER_DEPTH];
};
typedef void await_resume_fn(void *ctx, const struct await_resume *r);

void await_widths_init(struct await_widths *w); /* as in 11.0.0 */

/* Tells of each of these, in the order of time. false: the buffer is none, or does not fit together; what stood before that place was told. */
bool await_buffer_read(const uint8_t *data, size_t len, struct await_widths *w, await_resume_fn *on_resume, void *ctx);

#endif
