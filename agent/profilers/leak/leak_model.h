/* What is kept of a session's heap walks: no objects, but how much hangs on each path from a root, by type, by walk. Paths of the
 * walks are one tree, joined by the root's label and the types on the way (objects move and die, paths stay), so that a step's
 * figures stand side by side for all walks. Bounded: beyond LEAK_MAX_STEPS steps and LEAK_MAX_TYPES types the small ones of later walks
 * find no place, which is counted. One thread; pure but for memory. */
#ifndef DRDOTNET_LEAK_MODEL_H
#define DRDOTNET_LEAK_MODEL_H

#include "agent/heap/heap_snapshot.h"
#include "common/base/index_set.h"
#include "agent/profilers/leak/leak_curve.h"
#include "agent/profilers/leak/memory_account.h"
#include "common/proto/heap_stream.h"

#define LEAK_MAX_WALKS 10
#define LEAK_MAX_STEPS 65536
#define LEAK_MAX_TYPES 65536
#define LEAK_NONE UINT32_MAX
#define LEAK_DEPENDENT_FIELD "(ConditionalWeakTable)" /* of an object that a dependent handle ties to the step before */

enum leak_root { /* the most lasting first; LEAK_ROOT_UNKNOWN: no known root reaches it */
	LEAK_ROOT_STATIC,
	LEAK_ROOT_THREAD_STATIC,
	LEAK_ROOT_HANDLE,
	LEAK_ROOT_PINNED_HANDLE,
	LEAK_ROOT_DEPENDENT_HANDLE,
	LEAK_ROOT_FINALIZER,
	LEAK_ROOT_OTHER,
	LEAK_ROOT_STACK,
	LEAK_ROOT_UNKNOWN,
};

struct leak_figures {
	uint64_t count, bytes; /* the step's own objects */
	uint64_t held;         /* theirs and of all that hangs below */
};

struct leak_step {
	uint32_t parent;   /* LEAK_NONE: a root; a parent comes before its children */
	uint32_t name;     /* the root's label or the objects' type: leak_model_text() */
	uint32_t shown;    /* the same without namespaces */
	uint32_t module;   /* of the type */
	uint32_t field;    /* of the step before that refers to it; LEAK_NONE: not known */
	enum leak_root root;
	unsigned depth;    /* 0: a root */
	bool nested;       /* the type holds itself here */
	bool plugged;      /* of an assembly that can be unloaded, or what stands for such a one: whoever holds it keeps the assembly */
};

struct leak_type_figures {
	uint64_t count, bytes; /* of objects that something holds */
	uint64_t old_bytes;    /* of `bytes`: in the oldest generation, the large or pinned object heap or frozen */
	uint64_t loose_count;  /* objects that no known root holds */
	uint64_t loose_bytes;
};

struct leak_type {
	uint32_t name, module;
};

struct leak_space { /* a generation */
	uint64_t size, used, free;
};

struct leak_walk {
	int64_t at_ns;         /* CLOCK_MONOTONIC */
	bool exact;            /* roots by a forced collection */
	bool roots_unread;     /* some roots were not read: what none of the others holds may be held by them */
	const char *why;       /* static storage */
	bool types_only;       /* no roots, no steps: all objects count as held */
	struct heap_needs needs; /* of the walk that shows holders, where it is */
	int64_t stop_us;       /* the longest one */
	uint64_t objects, bytes;             /* that a root holds */
	uint64_t loose_objects, loose_bytes; /* that no known root holds */
	uint64_t free_bytes, pinned_objects;
	struct leak_space spaces[HEAP_GENERATIONS];
	int64_t resident_bytes;  /* -1: not known (so are the others) */
	int64_t container_bytes; /* working set */
	int64_t unmanaged_bytes; /* memory_account_unmanaged() */
	int64_t ran_ns, waited_ns; /* of all threads on a CPU since their birth; ready to run and without one since the session began. 0: not known */
};

struct leak_limit {
	int64_t bytes;           /* 0: there is none; -1: not known */
	int64_t used_bytes;      /* at the last walk; -1: not known */
	int64_t node_free_bytes; /* for where there is no limit; -1: not known */
};

struct leak_model {
	char **texts;
	size_t text_count, text_cap;
	struct index_set by_text, by_step, by_type;
	struct leak_step *steps;
	struct leak_figures *figures;           /* [step * LEAK_MAX_WALKS + walk] */
	size_t step_count, step_cap;
	struct leak_type *types;
	struct leak_type_figures *type_figures; /* [type * LEAK_MAX_WALKS + walk] */
	size_t type_count, type_cap;
	uint64_t no_place;                      /* steps and types */
	struct leak_walk walks[LEAK_MAX_WALKS];
	size_t walk_count;
	struct memory_account first, last;      /* beside the first and the last walk */
	bool memory_known;                      /* both are there */
	struct leak_curve curve;                /* memory of the process between them */
	struct leak_limit limit;
	int64_t uptime_ms;                      /* of the process at the first walk; -1: not known */
	int64_t beyond_bytes;                   /* that objects grew between the accounts, more than between the first and the last walk: walks were left out */
	int64_t least_bytes;                    /* of a step to be in the tree at all, at the worst walk */
};

void leak_model_init(struct leak_model *m);
void leak_model_fini(struct leak_model *m);

bool leak_model_roots_unread(const struct leak_model *m); /* in any walk */

/* Borrowed; "" for LEAK_NONE. */
const char *leak_model_text(const struct leak_model *m, uint32_t text);

/* The step, made when it is new; LEAK_NONE: no place. A field that was not known before is noted. */
uint32_t leak_model_root(struct leak_model *m, enum leak_root kind, const char *label);
uint32_t leak_model_step(struct leak_model *m, uint32_t parent, const char *type, const char *shown, const char *module, const char *field);
void leak_model_name_field(struct leak_model *m, uint32_t step, const char *field); /* "" changes nothing */
uint32_t leak_model_type(struct leak_model *m, const char *name, const char *module);
/* The sum over types whose names begin so, at a walk. */
uint64_t leak_model_count_of(const struct leak_model *m, const char *prefix, size_t walk);

static inline struct leak_figures *leak_model_at(const struct leak_model *m, uint32_t step, size_t walk)
{
	return &m->figures[step * LEAK_MAX_WALKS + walk];
}

static inline struct leak_type_figures *leak_model_type_at(const struct leak_model *m, uint32_t type, size_t walk)
{
	return &m->type_figures[type * LEAK_MAX_WALKS + walk];
}

/* Whether any walk has no holders: then none can be compared, see leak_types.h. */
bool leak_model_types_only(const struct leak_model *m);
/* Where enough walks show holders to compare, the walks that only counted types are left out: one that found no room in the pause budget must not take
 * from the others what they show. Once, after the last walk. Gives how many were left out. */
size_t leak_model_leave_out_types(struct leak_model *m);
/* Makes the other walks' figures comparable with those: what no root held counts, too. Once, after the last walk. */
void leak_model_count_all(struct leak_model *m);

/* What hung there at the last walk more than at the first; negative: less. */
int64_t leak_model_grown(const struct leak_model *m, uint32_t step);
int64_t leak_model_more(const struct leak_model *m, uint32_t step); /* objects of the step itself */

/* The walks' times as the process was given them: of a stretch in which its threads waited for a CPU most of the time, little counts. False: it had CPU
 * enough, or what it had is not known. */
bool leak_model_given_ns(const struct leak_model *m, int64_t given_ns[LEAK_MAX_WALKS]);
/* CPUs that it used between the first and the last walk; -1: not known. */
double leak_model_cpus(const struct leak_model *m);

double leak_model_seconds(const struct leak_model *m); /* between the first and the last walk; 0: fewer than two */

#endif
