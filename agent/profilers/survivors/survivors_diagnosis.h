/* What a doctor would say of a heap: some lines, the first stands alone. Pure; one thread. */
#ifndef DRDOTNET_SURVIVORS_DIAGNOSIS_H
#define DRDOTNET_SURVIVORS_DIAGNOSIS_H

#include "agent/profilers/survivors/survivors.h"
#include "agent/report/rules.h"

struct survivors_numbers;

enum survivors_finding {
	SURVIVORS_FINDS_EMPTY,       /* hardly anything is there */
	SURVIVORS_FINDS_HOLDER,      /* one holder has most of it */
	SURVIVORS_FINDS_TYPE,        /* one type takes most, below many holders */
	SURVIVORS_FINDS_SEVERAL,     /* most is held by several roots together */
	SURVIVORS_FINDS_SPREAD,
	SURVIVORS_FINDS_FREE,        /* most is free space between objects */
	SURVIVORS_FINDS_UNREACHABLE, /* most is held by no known root */
	SURVIVORS_FINDS_UNREAD,      /* much may be held by roots that were not read */
};
const char *survivors_finding_name(enum survivors_finding f); /* "holder" */

struct survivors_diagnosis {
	enum survivors_finding finding;
	const struct survivors_holder *holder; /* to look at first; NULL: none. Borrowed from the survivors, like all here. */
	uint32_t keeper;                       /* the object below the holder that a person can change, a node of the tree; 0: the holder itself */
	const struct heap_path *path;          /* how it holds, from the keeper on where there is one; NULL: not known */
	struct heap_path kept;                 /* what `path` points to then */
	uint32_t type;                         /* to look at first; HEAP_NODE_NONE: none */
	uint64_t count;                        /* how many of them make most of what the holder has; 0: no one type does */
	struct survivors_numbers *numbers;     /* what the rules judged, and what they said */
	struct findings found;
	char *headline;                        /* <= HEADLINE_MAX_CHARS characters */
	char *text;                            /* <= DIAGNOSIS_MAX_BYTES; lines; the first is the headline */
};

/* Whom the diagnosis names: the keeper, else the holder; NULL: neither. */
const char *survivors_diagnosis_named(const struct survivors *s, const struct survivors_diagnosis *d);

void survivors_diagnosis_make(const struct survivors *s, struct survivors_diagnosis *out);
void survivors_diagnosis_fini(struct survivors_diagnosis *d);

#endif
