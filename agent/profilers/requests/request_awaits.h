/* At which awaits requests stood: the runtime's async profiler (.NET 11) tells of each chain of async methods that is resumed on which thread, and when,
 * and until when it runs. The thread's switch to a request while it does says whose it is; so the time until then, in which no thread worked for it, was
 * spent at that await.
 *
 *   gather: request_awaits_buffer() as buffers come, request_awaits_name() while the session runs; request_awaits_sort() when all has come
 *   read:   request_awaits_add() for each request
 *
 * Bounded: what comes when it is full is counted. One thread. */
#ifndef DRDOTNET_REQUEST_AWAITS_H
#define DRDOTNET_REQUEST_AWAITS_H

#include "agent/attach/await_buffer.h"
#include "agent/profilers/requests/request_trail.h"
#include "agent/profilers/requests/request_work.h"
#include "agent/stacks/site_stacks.h"
#include "common/base/index_set.h"

#define AWAITS_MOST (1u << 20)
#define AWAIT_STACKS_MOST 16384u /* that differ */
#define AWAIT_PLACES 8           /* of an endpoint */
#define AWAIT_NO_FRAME UINT32_MAX

#define AWAIT_NONE UINT32_MAX

struct await_resumed {
	uint64_t time_ns;
	uint32_t tid;
	uint32_t stack; /* of the list; AWAIT_NONE: a chain has ended, or its stack found no room */
	uint32_t order; /* as it came, until it was sorted; then the place of the newest chain that runs after it, AWAIT_NONE: none */
	uint8_t kind;   /* enum await_kind */
};

struct await_stack {
	uint64_t *ips; /* return addresses, the innermost first */
	uint32_t stack; /* of the capture, once it is named; UINT32_MAX */
	uint16_t depth;
};

struct request_awaits {
	struct await_widths widths;
	struct await_resumed *list; /* after request_awaits_sort(): by thread, then by time */
	size_t count, cap;
	struct await_stack *stacks;
	size_t stack_count, stack_cap, named;
	struct index_set set;
	uint64_t malformed, left_out;
};

struct await_place {
	uint32_t frame;    /* of the capture: the application's innermost method there */
	uint32_t awaited;  /* the async method that it awaits; AWAIT_NO_FRAME: none, as Task.Delay */
	uint64_t ns, times;
	uint64_t other_ns; /* of ns: no call that is known was under way */
};

struct endpoint_awaits {
	struct await_place list[AWAIT_PLACES]; /* by falling ns once request_awaits_finish() was called */
	size_t count;
	uint64_t ns, told_ns; /* in awaits; of it, at one that is known */
};

void request_awaits_init(struct request_awaits *a);
void request_awaits_fini(struct request_awaits *a);
void request_awaits_buffer(struct request_awaits *a, const uint8_t *data, size_t len);
/* Names what has come since. */
void request_awaits_name(struct request_awaits *a, struct site_stacks *into, frame_resolve_fn *resolve, void *ctx);
void request_awaits_sort(struct request_awaits *a);

/* Adds one request; `t` is sorted, `names` has what request_awaits_name() named. */
void request_awaits_add(const struct request_awaits *a, const struct cpu_capture *names, const struct request_trail *t, const struct request_work *w,
			const struct channel_request_done *d, struct endpoint_awaits *out);
void request_awaits_finish(struct endpoint_awaits *e);

/* Where most of what is no call that is known was awaited, if that is most of `await_ns`; NULL. */
const struct await_place *request_awaits_main(const struct endpoint_awaits *e, uint64_t await_ns);

#endif
