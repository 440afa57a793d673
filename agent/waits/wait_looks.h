/* From looks at threads to waits: who was asleep at two looks and has not run in between waited from one to the other; the time between two looks that differ
 * is halved, or nobody's where the second one came much too late. So each kind of waiting gets the share of the time that it has, whatever its waits' lengths;
 * how often short ones happen is not known. Pure but for the log that it fills; one thread. */
#ifndef DRDOTNET_WAIT_LOOKS_H
#define DRDOTNET_WAIT_LOOKS_H

#include "agent/waits/wait_log.h"

struct look_thread {
	uint32_t tid;
	bool asleep, met;    /* met: by the look that is under way */
	bool began_before;   /* it slept at the first look */
	bool fault;
	uint64_t ran;        /* how often it has got a CPU */
	uint64_t lock;
	int64_t from_ns;     /* it sleeps since */
	int64_t seen_ns;     /* and was seen so first */
	int64_t stack_ns;    /* 0: its stack could not be read */
	struct wait_reading read; /* the last one; its time 0: there was none */
	int64_t logged_ns;   /* of the last one that is in the log */
};

struct wait_looks {
	struct wait_log *log; /* borrowed */
	struct look_thread *threads; /* by id */
	size_t count, cap;
	int64_t first_ns;    /* what was there at the first look has been so since */
	int64_t last_ns;     /* of the last look; 0: there was none */
	int64_t now_ns;      /* of the look that is under way */
	int64_t stalled_ns;  /* before looks that came late */
	bool late;           /* the look that is under way did */
	int64_t unseen_ns;   /* waiting of which no stack is known */
	size_t looks;
};

void wait_looks_init(struct wait_looks *l, struct wait_log *log, int64_t first_ns);
void wait_looks_fini(struct wait_looks *l); /* takes zeroed structs */

/* It was due at `due_ns`; 0: whenever it comes. */
void wait_looks_begin(struct wait_looks *l, int64_t now_ns, int64_t due_ns);

/* The thread with that id, which is there at this look; valid until the next call. */
struct look_thread *wait_looks_thread(struct wait_looks *l, uint32_t tid);

/* The scheduler's figures of it, as read now. The log gets those that differ, and the last ones before. */
void wait_looks_times(struct wait_looks *l, struct look_thread *t, const struct wait_reading *r);

/* It has run since the last look, or is new. With `asleep` it sleeps now, with that stack (as WAIT_EVENT_STACK; its time 0: unread); else it runs. */
void wait_looks_change(struct wait_looks *l, struct look_thread *t, uint64_t ran, bool asleep, const struct wait_event *stack);

/* After the first look, where all switches were recorded until then: the wait of each thread that slept at it goes on from there, as its records have it. Those
 * records say nothing more of it. */
void wait_looks_adopt(struct wait_looks *l);

/* Threads that were not met have ended. */
void wait_looks_end(struct wait_looks *l);

/* The session is over. */
void wait_looks_finish(struct wait_looks *l, int64_t end_ns);

#endif
