/* From a capture to kinds, groups of threads that stand at one place, and the merged tree of their stacks. Pure; one thread; borrows from the capture. */
#ifndef DRDOTNET_THREADS_ANALYSIS_H
#define DRDOTNET_THREADS_ANALYSIS_H

#include "agent/profilers/threads/thread_kind.h"
#include "agent/profilers/threads/threads_capture.h"
#include "agent/stacks/cpu_category.h"
#include "agent/stacks/stack_tree.h"
#include "agent/symbols/method_name.h"

#define THREADS_NONE UINT32_MAX
#define GROWTH_WINDOWS 6

struct threads_method { /* a function as the tree shows it: native code without symbols is its module */
	char *name;
	enum cpu_layer layer;
};

struct threads_group { /* of threads of one kind that wait alike at one place */
	enum thread_kind kind;
	enum thread_wait_kind wait;
	uint32_t place;       /* in methods; THREADS_NONE: no frame of the application */
	uint32_t call;        /* in methods, what the place called in one of them (others may be there by a tail call); THREADS_NONE */
	uint32_t threads;
	uint32_t still;       /* of them: have not run since the first look */
	uint32_t untimed;     /* of the still ones: wait without a time limit */
	int64_t oldest_ns, youngest_ns; /* ages of the still ones that wait without a time limit; -1: not known */
	uint32_t burst;       /* of those: most that began within two seconds */
	uint32_t worked;      /* of those: have been woken often since they began */
	uint32_t some;        /* one of its threads */
};

struct threads_growth { /* of one kind: the application's threads, the pool's workers, or those of libraries */
	uint32_t now, begun;  /* threads at the second look; those of them that began since the first */
	uint32_t windows;     /* parts of the time before the first look in which one began that is still there; of GROWTH_WINDOWS */
	double window_s;      /* each; 0: the process is too young to tell */
	uint32_t recent;      /* threads that began in those parts and are still there */
	uint32_t place;       /* where most of those that began lately began: their first function of the application; THREADS_NONE */
	uint32_t alike;       /* most threads with one first function, or at one place */
	uint32_t alike_place, alike_spread; /* which; parts of their life, of 20, in which one of them began */
	bool alike_last;      /* one began in the last two parts */
	int64_t alike_ns;     /* since the first of them began */
};

struct threads_analysis {
	const struct threads_capture *capture;
	struct thread_nature *natures; /* by thread; place, call and entry are frames of the capture here */
	uint32_t *groups_of;           /* by thread: in groups */
	struct threads_method *methods;
	size_t method_count, method_cap;
	uint32_t *method_of;           /* by frame of the capture */
	struct threads_group *groups;  /* most threads first, those with work to do before those that idle */
	size_t group_count;
	struct stack_tree tree;        /* of all threads whose stack is known; `method` in methods */
	uint32_t kinds[THREAD_KIND_COUNT]; /* threads */
	uint32_t still, unread;        /* threads that have not run; whose stack is not known */
	struct threads_growth application, workers, libraries; /* libraries: .NET's, native ones, and threads of unknown kind */
	uint32_t finalizer;            /* thread; THREADS_NONE */
	uint32_t finalizer_waiters;    /* threads that wait for finalizers */
};

void threads_analysis_make(const struct threads_capture *c, struct threads_analysis *out);
void threads_analysis_fini(struct threads_analysis *a);

/* Whether what its threads do is what threads of that kind do all their life: nothing to tell a person first. */
bool threads_group_idles(const struct threads_group *g);

/* A name in methods; "" for THREADS_NONE. */
const char *threads_method_name(const struct threads_analysis *a, uint32_t method);

/* The path of a thread through the tree, the entry first, into out[] of CAPTURE_MAX_DEPTH: methods. Gives how many. */
uint32_t threads_path(const struct threads_analysis *a, size_t thread, uint32_t *out);

#endif
