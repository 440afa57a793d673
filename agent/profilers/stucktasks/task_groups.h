/* The operations of a look, grouped by where they stand: the await, what is waited for, and the callers; with those that have not moved since an earlier
 * look. Pure; one thread. */
#ifndef DRDOTNET_TASK_GROUPS_H
#define DRDOTNET_TASK_GROUPS_H

#include "agent/profilers/stucktasks/task_brief.h"

#define TASK_GROUPS_MAX 2000
#define TASK_CALLERS_MAX 24 /* that are kept of a chain */

struct task_call {
	char *method;    /* "Shop.Orders.LoadAsync"; of what is no method: the type, "Task.WhenAll" */
	int16_t state;   /* of its await; TASK_STATE_UNKNOWN */
	bool framework;
};

struct task_group {
	uint64_t key;
	enum task_wait wait;
	char *awaited;           /* type of what it waits for; "" not known */
	struct task_call *calls; /* the one that waits first, then who called it */
	size_t call_count;
	bool calls_cut;
	size_t place;            /* of the calls: the first of the application; call_count: there is none */
	uint64_t count;          /* operations in this look */
	uint64_t before;         /* in the look before */
	uint64_t lasting;        /* the same ones in both, at the same await */
	uint64_t unheld;         /* of the lasting: nothing but the operation refers to what it waits for */
	uint64_t kept;           /* of the unheld: something refers to the last caller, or a thread blocks on one of the chain */
	uint64_t frozen;         /* of the lasting: its semaphore had no place, and the same first waiter, in both */
	uint64_t blocks;         /* threads that block on one of the chain */
	uint64_t behind;         /* more operations that wait for one of these to end, beside the callers that are shown */
	int32_t most;            /* of the semaphores: their largest number of places */
	bool queued;             /* it waits for a connection of a pool */
	bool asked;              /* its request has been sent, and no response has begun */
	bool bounded;            /* it waits for a time at most */
	bool main;               /* the program's own, which waits for its end */
};

struct task_groups {
	struct task_group *items; /* the largest first */
	size_t count;
	uint64_t left_out, left_out_operations;
	uint64_t operations, lasting;  /* that wait */
	uint64_t boxes, tasks;         /* unfinished ones: of async methods, others */
	uint64_t unread;               /* tasks of methods that the runtime suspends itself, of which not all are known */
	uint64_t completed;            /* tasks that are: a process has some from its start */
	uint64_t running;              /* operations that do not wait */
	uint64_t waits[TASK_WAITS];    /* operations by what they wait for */
	uint64_t faults, lasting_faults;
	char *fault_place;             /* the method of most of the lasting ones; NULL: not known */
	uint64_t fault_most;           /* how many those are */
	struct task_pool pool;         /* of which most wait for a connection; all 0: none is known */
	uint64_t blocked;              /* threads that block on a task, as far as tasks tell */
};

/* The holders must have been looked for. */
void task_groups_make(const struct task_look *l, const struct task_brief *before, struct task_groups *out);
void task_groups_fini(struct task_groups *g);

#endif
