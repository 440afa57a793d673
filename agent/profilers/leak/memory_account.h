/* What a process's memory consists of, by the kernel's own count (/proc/PID/smaps): each mapping with a kind (the managed heap,
 * compiled code, malloc, thread stacks, files ...) and a name. Two accounts of one process tell what grew outside of the
 * managed heap (memory_growth.h). Paths are the process's own words; there are at most MEMORY_MAPPINGS_MAX mappings, what lies beyond
 * is counted in the totals only. One thread owns an account; nothing here stops the process, though the kernel holds its table of
 * mappings for reading meanwhile.
 *
 *   memory_account_init(&a); memory_account_load(&a, proc_fd, e); memory_account_classify(&a, ranges, count); ... memory_account_fini(&a) */
#ifndef DRDOTNET_MEMORY_ACCOUNT_H
#define DRDOTNET_MEMORY_ACCOUNT_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_MAPPINGS_MAX 65536 /* vm.max_map_count is 65530 where nobody raised it */
#define MEMORY_NAME_BYTES 300

enum memory_kind {
	MEMORY_GC,         /* the managed heap */
	MEMORY_CODE,       /* JIT-compiled code and stubs */
	MEMORY_MALLOC,     /* the C library's heap and arenas */
	MEMORY_STACKS,
	MEMORY_ANONYMOUS,  /* other anonymous memory: large blocks of malloc, mmap of native libraries, the runtime's own */
	MEMORY_SHARED,     /* memfd, shared memory */
	MEMORY_FILES,
	MEMORY_ASSEMBLIES, /* .dll, .exe */
	MEMORY_LIBRARIES,  /* the executable, shared libraries */
	MEMORY_KIND_COUNT,
};

struct memory_figures {
	uint64_t size, rss, swap; /* bytes */
};

struct memory_range { /* a part of the managed heap */
	uint64_t start, length;
	bool apart;       /* not in the collector's own extent of addresses: a frozen segment */
};

struct memory_mapping {
	uint64_t start, end;
	char *name;               /* "" for anonymous memory */
	enum memory_kind kind;    /* after memory_account_classify */
	char perms[5];
	bool ours;                /* the profiler's own: in no figure */
	struct memory_figures is;
};

struct memory_account {
	struct memory_mapping *mappings; /* by address */
	size_t count, cap;
	size_t beyond;            /* mappings that found no place */
	bool open;                /* the last line read belongs to the newest mapping (false: to one that found no place) */
	struct memory_figures total, by_kind[MEMORY_KIND_COUNT];
};

void memory_account_init(struct memory_account *a);
void memory_account_fini(struct memory_account *a);

/* Takes in one line of smaps: a mapping's first line or one of its figures. Lines of no known form are passed over. Pure. */
void memory_account_add_line(struct memory_account *a, const char *line, size_t len);

/* Reads smaps of the open folder /proc/PID into an empty account. ERR_GONE: the process ended; ERR_DENIED: the agent may not. */
int memory_account_load(struct memory_account *a, int proc_fd, struct err *e);

/* Gives each mapping its kind, and sums. `gc` are the extents of the managed heap's generations (0: not known; then its
 * memory counts as anonymous). Pure. */
void memory_account_classify(struct memory_account *a, const struct memory_range *gc, size_t gc_count);

/* Resident bytes without swap, and of these the anonymous ones, from /proc/PID/statm, which needs no right. 0, or -1 with errno. */
int memory_account_now(int proc_fd, uint64_t *resident, uint64_t *anonymous);

/* All that is neither the managed heap nor a mapped file: what an unmanaged leak would make grow, in memory or swapped out. */
uint64_t memory_account_unmanaged(const struct memory_account *a);

const char *memory_kind_name(enum memory_kind k);  /* "malloc": for programs */
const char *memory_kind_title(enum memory_kind k); /* "malloc (native heap)": for people */

#endif
