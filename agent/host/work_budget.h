/* How much work may be spent on what a process says of itself. Its memory and files may lead in circles, or name a table of zeros a thousand times: room that
 * is bounded does not bound the time. Whoever reads them counts its steps here; when they or the thread's CPU time are used up, each further step is refused,
 * the read fails as if nothing were there, and the report says so as a limit (work_thread_passed()). The same ends a thread that nobody waits for any more.
 * One thread. */
#ifndef DRDOTNET_WORK_BUDGET_H
#define DRDOTNET_WORK_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORK_STEPS UINT64_C(20000000)      /* a step: a small read of memory, a record, some bytes that are compared */
#define WORK_CPU_NS INT64_C(2000000000)
#define WORK_STEP_BYTES 1024               /* that are copied */

/* What is read, one budget for each. */
enum work_kind {
	WORK_LOCKS,   /* locks, tasks, queues, the runtime's threads: of one look */
	WORK_NAMES,   /* methods' names: of a session */
	WORK_LINES,   /* portable PDBs: of a session */
	WORK_SYMBOLS, /* ELF files: of a session */
	WORK_KINDS,
};

struct work_budget {
	enum work_kind kind;
	bool begun, over;
	uint64_t steps;    /* done */
	uint64_t clock_at; /* at so many the clock is looked at again */
	int64_t cpu_ns;    /* spent in the turns before */
	int64_t from_ns;   /* of the thread's CPU clock: when this turn began */
};

/* Whole again, and not begun. */
void work_budget_init(struct work_budget *b, enum work_kind kind);

/* What is spent counts from begin to end, and CPU time only then; outside of that all is free. Any number of turns; they do not nest. */
void work_budget_begin(struct work_budget *b);
void work_budget_begin_anew(struct work_budget *b, enum work_kind kind); /* a whole one's first turn */
void work_budget_end(struct work_budget *b);

/* Before so many steps. False: they may not be done, nor any later ones. NULL: all is free. */
bool work_budget_spend(struct work_budget *b, uint64_t steps);
bool work_budget_over(const struct work_budget *b); /* NULL: no */

/* What is larger than any that is honest is not read, for which the report has the same limit; others may be. */
void work_budget_leave_out(struct work_budget *b);

/* For the thread from here on: its steps are refused as soon as *stop is set (NULL: never), and no budget was passed. */
void work_thread_begin(const atomic_bool *stop);

/* The kinds whose budget this thread has passed since, or of which something was left out, each as 1 << kind. */
unsigned work_thread_passed(void);

/* "method names and source lines", of such bits. */
#define WORK_WORDS_BYTES 128
const char *work_words(unsigned kinds, char out[WORK_WORDS_BYTES]);

#endif
