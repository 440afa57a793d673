/* The frames about the runtime's stops: it suspends all managed threads, for a collection or for something else, and lets them go
 * again. See common/proto/channel.h, whose rules hold here. */
#ifndef DRDOTNET_CHANNEL_STOPS_H
#define DRDOTNET_CHANNEL_STOPS_H

#include "common/proto/channel.h"

enum channel_stops_type {
	/* agent to library */
	CHANNEL_STOPS_BEGIN = 0x0130,
	CHANNEL_STOPS_END = 0x0131,
	/* library to agent */
	CHANNEL_STOPS_STATE = 0x0230,
	CHANNEL_STOPS = 0x0231,
	CHANNEL_STOP_STACKS = 0x0232,
};

/* STOPS_BEGIN, STOPS_END: empty. Both are answered by STOPS_STATE (after the last STOPS, when ending): u64 stops seen since the start, u64
 * stops and stacks dropped, u64 time (CLOCK_MONOTONIC) of the answer, u32 flags. */
struct channel_stops_state {
	uint64_t seen, dropped, time_ns;
	uint32_t flags;
};

enum channel_stops_flag {
	CHANNEL_STOPS_EVENTS = 1, /* the runtime tells its reasons for collections */
};

#define CHANNEL_STOPS_DETAILS 100 /* collections a second, in the long run, of which the reason and who asked are told; of more: a sample */
#define CHANNEL_STOP_COLLECTIONS 4 /* of one stop; more are counted only */

enum channel_stop_flag {
	CHANNEL_STOP_ABORTED = 1, /* the runtime gave the suspension up: nothing was stopped for long */
	CHANNEL_STOP_BRIEF = 2,   /* beyond CHANNEL_STOPS_DETAILS: neither the reasons of its collections were asked for, nor who wanted them */
};

enum channel_gc_flag {
	CHANNEL_GC_INDUCED = 1,  /* somebody asked for it */
	CHANNEL_GC_FINISHED = 2, /* in this stop; else it goes on in the background */
	CHANNEL_GC_DETAILED = 4, /* reason and type are known */
};

/* A collection within a stop: u64 start, u64 end (0: not in this stop), u8 generation, u8 flags, u8 reason, u8 type (as the runtime's
 * GCStart event has them). */
struct channel_stop_collection {
	uint64_t start_ns, end_ns;
	uint8_t generation, flags, reason, type;
};

/* STOPS: records up to the payload's end: u64 number (from 1), u64 start, u64 stopped (all threads are; 0: never), u64 resume (begins), u64 end
 * (all may run), CLOCK_MONOTONIC; u32 inner tid of who stops, u16 reason (COR_PRF_SUSPEND_REASON), u16 flags, u32 threads that came to a
 * halt in it, u32 tid and u64 time of the last that did before all were stopped, the same of the first that said so after, u16 number of
 * collections, then at most CHANNEL_STOP_COLLECTIONS of them. */
struct channel_stop {
	uint64_t number, start_ns, stopped_ns, resume_ns, end_ns;
	uint32_t tid;
	uint16_t reason, flags;
	uint32_t threads, last_tid, next_tid;
	uint64_t last_ns, next_ns;
	uint16_t collection_count;
	struct channel_stop_collection collections[CHANNEL_STOP_COLLECTIONS];
};

enum channel_stop_stack_kind {
	CHANNEL_STACK_INDUCER = 1, /* who asked for the collection */
	CHANNEL_STACK_LATE = 2,    /* who came to a halt late */
};
#define CHANNEL_STACK_INCOMPLETE 0x100 /* beside the kind: callers may be missing */

/* STOP_STACKS: records up to the payload's end: u64 number of the stop, u64 time, u32 inner tid, u16 kind and CHANNEL_STACK_INCOMPLETE, u16 depth,
 * depth x u64 ip, leaf first: managed frames only. */
struct channel_stop_stack {
	uint64_t number, time_ns;
	uint32_t tid;
	uint16_t kind, depth;
	bool incomplete;
	uint64_t ips[CHANNEL_MAX_DEPTH];
};

void channel_put_stops_state(struct wire_writer *w, const struct channel_stops_state *v);
bool channel_get_stops_state(const struct channel_frame *f, struct channel_stops_state *v);
void channel_put_stop(struct wire_writer *w, const struct channel_stop *v);
bool channel_get_stop(struct wire_reader *r, struct channel_stop *v); /* the next; false at a bad one: times that do not rise, too many collections */
void channel_put_stop_stack(struct wire_writer *w, const struct channel_stop_stack *v);
bool channel_get_stop_stack(struct wire_reader *r, struct channel_stop_stack *v); /* the next; false at a bad one */

#endif
