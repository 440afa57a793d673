/* Calls that touch what a pod owns, in threads of their own. A file system of the pod's making (FUSE, a network file system)
 * may keep a system call waiting for ever, and no signal ends it: such a call costs a small thread and not its caller. One that
 * hangs is left alone; until it returns, the pod is not touched again, so there is at most a handful of them for each pod and
 * APART_MAX_HANGING in all. Any thread. */
#ifndef DRDOTNET_APART_H
#define DRDOTNET_APART_H

#include "agent/target/target.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define APART_MAX_HANGING 64
#define APART_PLACE_SIZE 80

struct apart;
typedef void apart_fn(struct apart *a, void *ctx);

/* Whose things a target's are: its pod, container or process, as the node says. */
void apart_place(const struct target *t, char place[APART_PLACE_SIZE]);

/* Runs fn(ctx) in a thread of its own and waits for it while it gives a sign of life within each `patience_ms`. What computes, or could and gets
 * no CPU, does not hang: for some minutes that is such a sign, too. 0: it is done and ctx is the caller's again. -1 (ProcessUnresponsive): it hangs
 * (ERR_TIMEOUT), or an earlier call for this place does (ERR_RETRY); ctx is no longer the caller's: release(ctx) is called once nobody uses it. What the thread
 * of one that hangs would read by a work budget (agent/host/work_budget.h) is refused from then on. */
int apart_run(const char *place, apart_fn *fn, void *ctx, void (*release)(void *ctx), int64_t patience_ms, struct err *e);

/* The same for who cannot wait: NULL is as -1. The caller looks again and again until it is done (1), or given up (-1, as above); 0: not yet. */
struct apart *apart_begin(const char *place, apart_fn *fn, void *ctx, void (*release)(void *ctx), int64_t patience_ms, struct err *e);
int apart_poll(struct apart *a, struct err *e);
/* Nobody looks any more: ctx is released when fn has returned. NULL is taken. */
void apart_drop(struct apart *a);

/* For fn: a sign of life, good for so long. */
void apart_alive(struct apart *a, int64_t patience_ms);

/* For fn: what the caller does twice a second while it waits, as it were between the next two. It may not wait. */
void apart_meanwhile(struct apart *a, void (*turn)(void *ctx));

/* For fn: between these two the caller waits and what it owns may be used; false: it has given up. */
bool apart_hold(struct apart *a);
void apart_let_go(struct apart *a);

size_t apart_hanging(void);

/* What the call's thread did in a part of the waiting. */
struct apart_signs {
	int64_t passed_ms;
	int64_t ran_ns, ready_ns; /* ready: it could run, and waited for a CPU; that of a wait is known when it is over */
	bool is_ready;            /* it is, or runs, at the end of that time */
};

/* Until when it is waited for then, if until `until_ms` before. Pure. */
int64_t apart_until_ms(const struct apart_signs *s, int64_t now_ms, int64_t patience_ms, int64_t until_ms);

#endif
