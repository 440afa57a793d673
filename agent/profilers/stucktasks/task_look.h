/* One look at a process's async operations: the tasks and boxes of a heap that are not completed, who goes on after whom, and what the last of each chain
 * waits for. Made of a snapshot with the walk's values (enum heap_value), which it does not need any more but for the names of types. One thread. */
#ifndef DRDOTNET_TASK_LOOK_H
#define DRDOTNET_TASK_LOOK_H

#include "agent/heap/heap_index.h"
#include "agent/profilers/stucktasks/task_type.h"

#define TASK_NONE UINT32_MAX
#define TASK_STATE_UNKNOWN INT16_MIN
#define TASK_METHOD_UNKNOWN UINT32_MAX
#define TASK_CHAIN_MAX 64 /* operations that call each other; more are not followed */

enum task_flag {
	TASK_BLOCKS = 1,   /* a thread is blocked until it is completed */
	TASK_HELD = 2,     /* a completion that is held by more than those that wait for it */
	TASK_WORKS = 4,    /* has a delegate that runs or will */
	TASK_KEPT = 8,     /* the last caller of a chain: something beside the chain refers to it */
	TASK_QUEUED = 16,  /* it waits at a semaphore */
	TASK_UNREAD = 64,  /* a task of methods that the runtime suspended itself: not all of them are known */
	TASK_FED = 32,     /* a completion that a block of the dataflow library holds: it comes with the next message */
};

/* What many of them have in common. */
struct task_kind {
	uint32_t type;    /* of the snapshot: of the state machine where that is an object of its own */
	uint32_t method;  /* of a box without a state machine: 1 + index of the snapshot's, TASK_METHOD_UNKNOWN; else 0 */
	int16_t state;    /* of a box: the number of the await where it stands, -1: it runs */
	uint16_t role;    /* enum task_role */
};

struct task_node {
	uint32_t next;    /* who goes on when this one is completed; TASK_NONE: nobody that is known */
	uint32_t awaits;  /* whom it goes on after; TASK_NONE: not known, or nobody */
	uint32_t kind : 24;
	uint32_t flags : 8; /* enum task_flag */
};

struct task_semaphore {
	uint64_t address, head; /* who waits first; 0: nobody */
	int32_t count, most;
	uint32_t waiters;
};

struct task_waiter {
	uint32_t node, semaphore; /* where it waits */
};

struct task_fault { /* an exception that nobody has looked at */
	uint64_t address, task; /* of its holder; of the task that failed */
	uint32_t type;          /* of the task, of the snapshot; TASK_NONE: not known */
};

/* Of connections, as it counts them itself. */
struct task_pool {
	uint64_t address;
	enum task_wait wait;   /* TASK_WAIT_HTTP, TASK_WAIT_DATABASE */
	int32_t open, most;    /* connections that it has (or is about to have), and may have at most */
	int32_t idle;          /* of those that it has */
	bool idle_known;
	uint64_t waiting, lasting; /* operations that wait for one of its connections; that did at the look before: task_groups_make() */
};

/* What a box waits for that is no unfinished task and no source that is known to lead back to it. */
struct task_awaited {
	uint32_t node;
	uint32_t type;  /* of the snapshot */
};

struct task_look {
	const struct heap_snapshot *snapshot; /* borrowed */
	struct task_type *types;              /* as many as the snapshot's */
	struct task_node *nodes;              /* by address */
	size_t count;
	struct task_kind *kinds;
	size_t kind_count, kind_cap;
	struct task_semaphore *semaphores;
	size_t semaphore_count, semaphore_cap;
	struct task_waiter *waiters;          /* by node */
	size_t waiter_count, waiter_cap;
	struct task_fault *faults;
	size_t fault_count, fault_cap;
	struct task_awaited *others;          /* by node */
	size_t other_count, other_cap;
	struct task_pool *pools;              /* by address */
	size_t pool_count, pool_cap;
	struct task_pool_user *users;         /* private */
	size_t user_count, user_cap;
	uint64_t completed;                   /* tasks that are */
	uint64_t unlinked;                    /* links of unfinished tasks to who goes on that lead to nothing that is known */
	bool methods;                         /* operations of async methods were recognized */
	bool holders_known;                   /* TASK_HELD is */
	/* private: where the nodes lie, and which kinds there are */
	struct heap_memory memory;
	struct heap_index index;
	bool indexed;
	struct task_kind_entry *kind_entries;
};

/* Never fails: what cannot be followed is not. */
void task_look_make(const struct heap_snapshot *s, struct task_look *out);
void task_look_fini(struct task_look *l); /* takes zeroed ones */

/* Somebody goes on after tasks, but nobody who does was recognized: what async operations look like here is not understood. */
bool task_look_strange(const struct task_look *l);

/* Whether it is the last of its chain: what it waits for is not another operation. */
bool task_look_is_last(const struct task_look *l, uint32_t node);
/* The task or source at the end of what a box waits for, over WhenAll and its like; TASK_NONE: none is known, or it is another box. */
uint32_t task_look_leaf(const struct task_look *l, uint32_t node);
/* The last of those that go on after it, itself if nobody does. */
uint32_t task_look_last_caller(const struct task_look *l, uint32_t node);
/* The semaphore where it waits; NULL: at none. */
const struct task_semaphore *task_look_semaphore(const struct task_look *l, uint32_t node);
static inline const struct task_kind *task_look_kind(const struct task_look *l, uint32_t node)
{
	return &l->kinds[l->nodes[node].kind];
}
uint64_t task_look_address(const struct task_look *l, uint32_t node);
uint32_t task_look_find(const struct task_look *l, uint64_t address); /* TASK_NONE: it is none of them */

#endif
