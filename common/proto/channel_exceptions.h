/* Frames of the Exceptions profiler (docs/channel-protocol.md). Sites and their counts have the form of those of allocations
 * (common/proto/channel_allocs.h): what is counted is exceptions, a site's type is a kind of exceptions. No allocation, no I/O, no state. */
#ifndef DRDOTNET_CHANNEL_EXCEPTIONS_H
#define DRDOTNET_CHANNEL_EXCEPTIONS_H

#include "common/proto/channel_allocs.h"

enum channel_exceptions_type {
	CHANNEL_EXCEPTIONS_START = 0x0170,
	CHANNEL_EXCEPTIONS_STOP = 0x0171,
	CHANNEL_EXCEPTIONS_STATE = 0x0270,
	CHANNEL_EXCEPTIONS_KINDS = 0x0271,
	CHANNEL_EXCEPTIONS_SITES = 0x0272,
	CHANNEL_EXCEPTIONS_COUNTS = 0x0273, /* of each count: site, samples; the other two numbers are 0 */
};

enum channel_exceptions_want {
	CHANNEL_EXCEPTIONS_REVEAL = 1,   /* the beginning of a message of each kind may leave the process */
	CHANNEL_EXCEPTIONS_CATCHERS = 2, /* who catches is told, too */
};

/* EXCEPTIONS_START: u32 enum channel_exceptions_want. EXCEPTIONS_STOP: empty. Both are answered by EXCEPTIONS_STATE (after the last EXCEPTIONS_COUNTS,
 * when stopping) or ERROR: u32 wanted, u32 running, then u64 each, as below. */
struct channel_exceptions_state {
	uint32_t wanted, running;
	uint64_t taken;                  /* throws and catches */
	uint64_t dropped;                /* there was no room for a new site */
	uint64_t malformed;              /* events that could not be read */
	uint64_t shapeless;              /* exceptions without a message's shape: there were too many */
	uint64_t covered_ns, sampled_ns; /* of all rounds */
	uint64_t cpu_ns;                 /* of the process while events were taken */
	uint64_t again;                  /* catches of exceptions that no event had told of: thrown again, where the runtime does not tell of that */
	uint64_t timed, timed_ns;        /* exceptions whose way from the throw to the catch block was timed, and its CPU time */
};

/* EXCEPTIONS_KINDS: records up to the payload's end: u64 kind, u32 HRESULT of the first one, text type (the runtime's words), text shape of the
 * message (words that tell nothing of anybody, all else masked), text beginning of the first message: none where it may not be revealed. A kind may
 * come again. */
struct channel_exception_kind {
	uint64_t kind;
	uint32_t hresult;
	struct channel_text type, shape, message;
};

/* Flags of a site beside CHANNEL_ALLOC_TRUNCATED and CHANNEL_ALLOC_INCOMPLETE. */
enum channel_exception_flag {
	CHANNEL_EXCEPTION_INNER = 16,    /* it has an inner exception */
	CHANNEL_EXCEPTION_NESTED = 32,   /* thrown while another one was on its way */
	CHANNEL_EXCEPTION_RETHROWN = 64, /* by `throw;` */
	CHANNEL_EXCEPTION_CORRUPTED = 128,
	CHANNEL_EXCEPTION_CAUGHT = 256,  /* not a throw but a catch: the type is the thrown one's site, the only address one in the catch block, plus one */
};

void channel_put_exceptions_state(struct wire_writer *w, const struct channel_exceptions_state *v);
bool channel_get_exceptions_state(const struct channel_frame *f, struct channel_exceptions_state *v);
void channel_put_exception_kind(struct wire_writer *w, const struct channel_exception_kind *v);
bool channel_get_exception_kind(struct wire_reader *r, struct channel_exception_kind *v); /* the next; false at a bad one */

#endif
