/* From context switches to waits: a thread that lost its CPU waits until it gets one again. Events may be added in any order between CPUs; those before a
 * moment are settled in the order of time once all of them are there. Each wait is counted, by thread and length; those whose stack is known are kept one by
 * one. Where switches are recorded for moments only, waits that were seen by looks at the threads come from the caller. Pure; one thread. */
#ifndef DRDOTNET_WAIT_LOG_H
#define DRDOTNET_WAIT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAIT_LOG_THREADS 65536
#define WAIT_LOG_WAITS (1u << 19)
#define WAIT_LOG_READINGS (1u << 20)
#define WAIT_LENGTHS 40 /* lengths by powers of two of microseconds: the last one begins at six days */
#define WAIT_STACK_NS 5000000 /* a stack that was taken for a switch is older by less */

enum wait_event_kind {
	WAIT_EVENT_ASLEEP, /* the session began, and the thread slept */
	WAIT_EVENT_STACK,  /* its stack was taken: as it lost its CPU, or while it sleeps */
	WAIT_EVENT_OUT,
	WAIT_EVENT_IN,
	WAIT_EVENT_PAUSE,  /* of no thread: switches are recorded no longer; who waits now is not followed further */
	WAIT_EVENT_LOSS,   /* of no thread: records are missing about here; who waits now may have run since */
};

struct wait_event {
	int64_t time_ns;
	uint64_t lock;  /* WAIT_EVENT_STACK: a monitor whose address is on it; 0: none */
	uint32_t tid;
	uint8_t kind;   /* enum wait_event_kind */
	bool runnable;  /* WAIT_EVENT_OUT: it could have gone on */
	bool fault;     /* WAIT_EVENT_STACK: it was in no system call */
};

struct wait {
	int64_t out_ns, in_ns;
	int64_t stack_ns; /* when its stack was taken; 0: it was not (wait_log.keep_all) */
	int64_t least_ns; /* looked: it was seen at looks so far apart */
	uint64_t lock;
	uint32_t thread;
	bool runnable, fault;
	bool doubtful; /* wait_log.keep_all: an end of it was not seen; the thread may have slept in that time, or run */
	bool began_before, open; /* it had begun before the session, it was not over at its end, or when switches were recorded no longer */
	bool looked;             /* seen by looks at the thread: its time is exact to the distance of looks, and short ones were met by chance */
};

struct wait_length { /* of all waits of a thread that lasted about as long */
	uint64_t count, ns;
};

struct wait_lengths { /* of a thread; ready: it could have gone on */
	struct wait_length sleeping[WAIT_LENGTHS], ready[WAIT_LENGTHS];
};

struct wait_log_thread {
	uint32_t tid;
	bool off, runnable;   /* it waits since out_ns */
	bool began_before;
	bool doubtful;        /* records are missing: it may have run since out_ns */
	bool asked;           /* for the caller's use */
	uint32_t index;       /* the caller's number for it */
	int64_t out_ns, stack_ns, next_stack_ns;
	int64_t last_ns;      /* of its last switch */
	uint64_t lock, next_lock;
	bool fault, next_fault;
	uint64_t switches;    /* from a CPU */
	struct wait_lengths before_looks, beside_looks; /* see wait_log.looks */
};

struct wait_reading { /* of the scheduler's figures of a thread, since it began */
	int64_t at_ns;
	uint64_t run_ns, delay_ns; /* delay: it could run, and waited for a CPU */
	uint32_t thread;
};

struct wait_log {
	struct wait_log_thread *threads;
	size_t thread_count, thread_cap;
	struct wait *waits;
	size_t wait_count, wait_cap;
	bool looks;           /* threads are looked at, too: from now on looks tell the times; set by the caller */
	bool keep_all;        /* keep waits without a stack one by one, too, and readings; set by the caller, as the next one */
	struct wait_reading *readings; /* of each thread by time */
	size_t reading_count, reading_cap;
	int64_t opened_ns;    /* since when switches are recorded: who gets a CPU and was not seen to lose one may have waited since */
	uint64_t kept_none;   /* waits with a stack that found no room */
	uint64_t lost;        /* waits of which an end was not seen, or may not have been: they are in nothing else */
	int64_t settled_ns;
	struct wait_event *events; /* not settled yet */
	size_t event_count, event_cap;
	void *index;          /* of threads by tid */
};

struct wait_log *wait_log_new(void);
void wait_log_free(struct wait_log *l); /* takes NULL */

void wait_log_add(struct wait_log *l, const struct wait_event *e);

/* All events before `until_ns` have been added. */
void wait_log_settle(struct wait_log *l, int64_t until_ns);

/* A wait that was seen by looks; its thread is that with the id `tid`. */
void wait_log_looked(struct wait_log *l, uint32_t tid, const struct wait *w);

/* What looks have read of a thread. Bounded: later ones are left out. */
void wait_log_times(struct wait_log *l, uint32_t tid, const struct wait_reading *r);

/* The thread has ended: it left its CPU for good, which is no wait. After wait_log_settle(). */
void wait_log_ended(struct wait_log *l, uint32_t tid);

/* The kernel counts so many switches of the thread from its CPU, since the session began: if none of them is missing, no doubt is left of its wait. */
void wait_log_counted(struct wait_log *l, uint32_t tid, uint64_t switches);

/* The session is over: what waits now has waited until `end_ns`. */
void wait_log_finish(struct wait_log *l, int64_t end_ns);

/* The thread with that id; NULL: nothing was heard of it. */
struct wait_log_thread *wait_log_find(const struct wait_log *l, uint32_t tid);

/* Switches from a CPU, of all threads. */
uint64_t wait_log_switches(const struct wait_log *l);

/* Its place in wait_lengths. */
size_t wait_length_of(int64_t ns);

#endif
