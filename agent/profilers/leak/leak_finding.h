/* What a doctor would say of a process's memory over two or more heap walks: some lines, the first stands alone. Pure; one thread. */
#ifndef DRDOTNET_LEAK_FINDING_H
#define DRDOTNET_LEAK_FINDING_H

#include "agent/profilers/leak/leak_group.h"
#include "agent/profilers/leak/leak_limit.h"
#include "agent/profilers/leak/leak_numbers.h"

enum leak_finding {
	LEAK_FOUND_GROWS,       /* a holder in the heap */
	LEAK_FOUND_UNMANAGED,   /* memory outside of the managed heap */
	LEAK_FOUND_FREE_MEMORY, /* the runtime keeps memory that no object uses */
	LEAK_FOUND_UNCERTAIN,   /* it grew between two walks, or an array by a leap: whether more comes cannot be told yet */
	LEAK_FOUND_SLOWS_DOWN,  /* its pace decays: a cache that fills, or a leak with less load; `group` NULL: unmanaged memory, or a type */
	LEAK_FOUND_WARMING_UP,
	LEAK_FOUND_LEVELLED_OFF,
	LEAK_FOUND_CHURN,       /* what grew is only in use for the moment */
	LEAK_FOUND_STEADY,      /* nothing grew */
	LEAK_FOUND_UNKNOWN,     /* one walk only */
	LEAK_FOUND_TYPES,       /* a type grows; who holds it is not known: see leak_types.h */
	LEAK_FINDINGS,
};
const char *leak_finding_name(enum leak_finding f); /* "levelledOff" */

struct leak_diagnosis {
	enum leak_finding finding;
	const struct leak_group *group;   /* that the finding is about; NULL: none. Borrowed from `groups`. */
	struct leak_groups groups;        /* empty with one walk, and with types only */
	uint32_t type;                    /* types only: that grows most; LEAK_NONE: none, or there are holders */
	int64_t type_bytes;               /* its growth */
	enum leak_verdict types;          /* the verdict on it */
	struct leak_forecast forecast;
	struct leak_fit fit;              /* of what the finding is about */
	enum leak_confidence confidence;
	bool memory_known;
	enum leak_verdict unmanaged;      /* of the memory outside of the heap */
	int64_t heap_bytes;               /* growth of what is held; so below */
	int64_t unmanaged_bytes, free_bytes;
	bool keeps;                       /* the runtime keeps much more memory that no object uses */
	bool torn;                        /* gaps between objects grew, and so did the number of pinned ones */
	int64_t held_bytes, churn_bytes;  /* of the groups: those that grow; those in use or not held */
	double detectable_per_minute;
	struct leak_numbers numbers;      /* that the rules judged */
	struct findings findings;         /* what they said; borrows `numbers`: a diagnosis is not copied while they are used */
	char *headline;                   /* <= 80 characters */
	char *text;                       /* <= 2 KiB; the first line is the headline */
};

void leak_diagnosis_make(const struct leak_model *m, struct leak_diagnosis *out);
void leak_diagnosis_fini(struct leak_diagnosis *d);

/* "static Shop.Cache._items -> Dictionary<int, Order> -> Entry[]", at most max_chars characters: steps in the middle make room. */
void leak_put_path(struct buf *out, const struct leak_model *m, uint32_t step, size_t max_chars);

#endif
