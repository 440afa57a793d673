#include "agent/profilers/leak/memory_account.h"

#include "agent/host/proc.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES (UINT64_C(64) << 20) /* glibc's HEAP_MAX_SIZE: an arena's part begins at a multiple of it */
#define GUARD_MAX (UINT64_C(1) << 20)
#define STACK_MIN (UINT64_C(16) << 10)
#define STACK_MAX (UINT64_C(64) << 20)
#define FIGURE_MAX_KB (UINT64_C(1) << 47)

void memory_account_init(struct memory_account *a)
{
	*a = (struct memory_account){0};
}

void memory_account_fini(struct memory_account *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->count; i++)
		free(a->mappings[i].name);
	free(a->mappings);
	*a = (struct memory_account){0};
}

/* reading --------------------------------------------------------------------------------------------------------- */

static bool mapping_path_has(const struct proc_map *p, const char *part)
{
	return memmem(p->path, p->path_len, part, strlen(part)) != NULL;
}

static void add_mapping(struct memory_account *a, const struct proc_map *p)
{
	const struct memory_mapping *last = a->count ? &a->mappings[a->count - 1] : NULL;
	a->open = false;
	if (p->start >= p->end || memchr(p->path, '\0', p->path_len) || (last && p->start < last->end))
		return; /* not the kernel's word */
	if (a->count >= MEMORY_MAPPINGS_MAX) {
		a->beyond++;
		return;
	}
	GROW(a->mappings, a->count, a->cap);
	size_t shown = p->path_len < MEMORY_NAME_BYTES ? p->path_len : MEMORY_NAME_BYTES;
	struct memory_mapping *m = &a->mappings[a->count++];
	*m = (struct memory_mapping){
		.start = p->start,
		.end = p->end,
		.name = mem_strndup(p->path, shown),
		.is.size = p->end - p->start,
		.ours = mapping_path_has(p, "drdotnet"),
	};
	memcpy(m->perms, p->perms, sizeof m->perms);
	a->open = true;
}

/* "Rss:      12 kB"; false when it is another line. */
static bool take_figure(const char *line, size_t len, const char *key, uint64_t *bytes)
{
	size_t n = strlen(key);
	if (len <= n || memcmp(line, key, n) != 0)
		return false;
	const char *p = line + n, *end = line + len;
	while (p < end && *p == ' ')
		p++;
	uint64_t kb = 0;
	if (p == end || *p < '0' || *p > '9')
		return false;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		kb = kb * 10 + (uint64_t)(*p - '0');
		if (kb > FIGURE_MAX_KB)
			return false;
	}
	*bytes = kb << 10;
	return true;
}

void memory_account_add_line(struct memory_account *a, const char *line, size_t len)
{
	struct proc_map p;
	uint64_t bytes;
	struct memory_mapping *m = a->open ? &a->mappings[a->count - 1] : NULL;
	if (len && line[0] >= 'A' && line[0] <= 'Z') { /* addresses are lower case */
		if (m && take_figure(line, len, "Rss:", &bytes))
			m->is.rss = bytes;
		else if (m && take_figure(line, len, "Swap:", &bytes))
			m->is.swap = bytes;
		return;
	}
	if (proc_parse_map_line(line, len, &p) == 0)
		add_mapping(a, &p);
}

int memory_account_load(struct memory_account *a, int proc_fd, struct err *e)
{
	AUTO_FREE struct proc_lines *l = mem_alloc(sizeof *l);
	const char *line;
	size_t len;
	if (proc_lines_open(l, proc_fd, "smaps") < 0)
		return err_set_errno(e, errno, "read the process's memory map (smaps)");
	while (proc_lines_next(l, &line, &len))
		memory_account_add_line(a, line, len);
	proc_lines_close(l);
	if (a->count == 0)
		return err_set_reason(e, ERR_GONE, REASON_ProcessExited, "read the process's memory map (smaps): it is empty, the process ended");
	return 0;
}

int memory_account_now(int proc_fd, uint64_t *resident, uint64_t *anonymous)
{
	char text[128];
	uint64_t size, rss, file;
	if (fsio_read_small(proc_fd, "statm", text, sizeof text) < 0)
		return -1;
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &size, &rss, &file) != 3) {
		errno = EPROTO;
		return -1;
	}
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	*resident = rss * page;
	*anonymous = rss > file ? (rss - file) * page : 0;
	return 0;
}

/* kinds ----------------------------------------------------------------------------------------------------------- */

static bool is_nameless(const struct memory_mapping *m)
{
	return m->name[0] == '\0';
}

static bool is_reserve(const struct memory_mapping *m)
{
	return is_nameless(m) && memcmp(m->perms, "---", 3) == 0;
}

static bool is_plain_mapping(const struct memory_mapping *m)
{
	return is_nameless(m) && memcmp(m->perms, "rw-p", 4) == 0;
}

static bool mapping_begins_with(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static bool ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);
	return n >= m && strcmp(s + n - m, with) == 0;
}

static enum memory_kind named_kind(const struct memory_mapping *m)
{
	const char *name = m->name, *base = strrchr(name, '/');
	base = base ? base + 1 : name;
	if (strcmp(name, "[heap]") == 0 || mapping_begins_with(name, "[anon: glibc: malloc") || mapping_begins_with(name, "[anon:scudo"))
		return MEMORY_MALLOC;
	if (mapping_begins_with(name, "[stack") || mapping_begins_with(name, "[anon: glibc: pthread stack"))
		return MEMORY_STACKS;
	if (strstr(name, "doublemapper")) /* the runtime maps its code twice, writable and executable (W^X) */
		return MEMORY_CODE;
	if (mapping_begins_with(name, "[anon"))
		return m->perms[2] == 'x' ? MEMORY_CODE : MEMORY_ANONYMOUS;
	if (name[0] == '[')
		return MEMORY_LIBRARIES; /* [vdso] and its like */
	if (mapping_begins_with(name, "/memfd:") || mapping_begins_with(name, "/dev/shm/") || mapping_begins_with(name, "/SYSV") ||
	    mapping_begins_with(name, "/dev/zero"))
		return MEMORY_SHARED;
	if (ends(base, ".dll") || ends(base, ".exe"))
		return MEMORY_ASSEMBLIES;
	if (ends(base, ".so") || strstr(base, ".so."))
		return MEMORY_LIBRARIES;
	return MEMORY_FILES;
}

/* An arena of glibc is reserved as 64 MiB at a multiple of that and opened from its start. */
static bool is_arena(const struct memory_mapping *m, const struct memory_mapping *next)
{
	if (!is_plain_mapping(m) || m->start % ARENA_BYTES)
		return false;
	uint64_t upto = m->start + (m->is.size + ARENA_BYTES - 1) / ARENA_BYTES * ARENA_BYTES;
	return m->end == upto || (next && is_reserve(next) && next->start == m->end && next->end >= upto);
}

/* The page below a thread's stack is a guard that nobody may touch. */
static bool is_stack(const struct memory_mapping *m, const struct memory_mapping *previous)
{
	return is_plain_mapping(m) && m->is.size >= STACK_MIN && m->is.size <= STACK_MAX && previous && is_reserve(previous) &&
	       previous->end == m->start && previous->is.size <= GUARD_MAX;
}

static enum memory_kind mapping_kind(const struct memory_account *a, size_t i)
{
	const struct memory_mapping *m = &a->mappings[i], *next = i + 1 < a->count ? m + 1 : NULL, *previous = i ? m - 1 : NULL;
	if (!is_nameless(m))
		return named_kind(m);
	if (m->perms[2] == 'x')
		return MEMORY_CODE;
	if (is_arena(m, next))
		return MEMORY_MALLOC;
	return is_stack(m, previous) ? MEMORY_STACKS : MEMORY_ANONYMOUS;
}

/* The executable itself has no telling name: a file with a part that may be run is a library to us. */
static void mark_executables(struct memory_account *a)
{
	for (size_t i = 0; i < a->count; i++) {
		struct memory_mapping *m = &a->mappings[i];
		if (m->kind != MEMORY_FILES || m->perms[2] != 'x')
			continue;
		for (size_t k = i; k-- > 0 && strcmp(a->mappings[k].name, m->name) == 0;)
			a->mappings[k].kind = MEMORY_LIBRARIES;
		for (size_t k = i; k < a->count && strcmp(a->mappings[k].name, m->name) == 0; k++)
			a->mappings[k].kind = MEMORY_LIBRARIES;
	}
}

static bool mapping_overlaps(const struct memory_mapping *m, const struct memory_range *r)
{
	return m->start < r->start + r->length && r->start < m->end;
}

static bool may_be_heap(const struct memory_mapping *m)
{
	return is_nameless(m) && m->perms[2] != 'x';
}

/* The first mapping behind those that follow each other without a hole from i on. */
static size_t end_of_run(const struct memory_account *a, size_t i)
{
	size_t end = i + 1;
	while (end < a->count && may_be_heap(&a->mappings[end]) && a->mappings[end].start == a->mappings[end - 1].end)
		end++;
	return end;
}

/* More of it than an arena of malloc's could have. */
static bool is_great_reserve(const struct memory_mapping *m)
{
	return is_reserve(m) && m->is.size > ARENA_BYTES;
}

/* Where the collector's extent ends, of which the generations that are known reach up to `high`: it has a great reserve, of what it is going to open.
 * Where there is none between the generations, they end below it, and so does what the collector has opened since the walk, or keeps for later. */
static uint64_t end_of_extent(const struct memory_account *a, size_t from, size_t to, uint64_t low, uint64_t high)
{
	for (size_t i = from; i < to; i++) {
		const struct memory_mapping *m = &a->mappings[i];
		if (m->end > low && is_great_reserve(m))
			return m->start < high ? high : m->start;
	}
	return high;
}

/* The collector reserves one extent of addresses and opens parts of it, and nobody else finds a place there: what lies between its lowest
 * generation and its end, without a hole between, is its own, in use, kept for later, or opened since the walk. Where there are holes, what looks
 * like malloc's or a stack is. Frozen segments lie elsewhere. */
static void mark_run(struct memory_account *a, size_t from, size_t to, const struct memory_range *gc, size_t count)
{
	uint64_t low = UINT64_MAX, high = 0, start = a->mappings[from].start, end = a->mappings[to - 1].end;
	for (size_t k = 0; k < count; k++) {
		if (gc[k].apart || gc[k].start < start || gc[k].start >= end)
			continue;
		low = gc[k].start < low ? gc[k].start : low;
		high = gc[k].start + gc[k].length > high ? gc[k].start + gc[k].length : high;
	}
	if (high)
		high = end_of_extent(a, from, to, low, high);
	for (size_t i = from; i < to; i++) {
		if (a->mappings[i].start >= low && a->mappings[i].end <= high)
			a->mappings[i].kind = MEMORY_GC;
	}
}

static void mark_heap(struct memory_account *a, const struct memory_range *gc, size_t count)
{
	for (size_t i = 0, run = 0; i < a->count; i++) {
		struct memory_mapping *m = &a->mappings[i];
		bool inside = false, below = false, above = false;
		if (!may_be_heap(m))
			continue;
		if (i >= run) {
			run = end_of_run(a, i);
			mark_run(a, i, run, gc, count);
		}
		for (size_t k = 0; k < count && !inside; k++) {
			inside = mapping_overlaps(m, &gc[k]);
			below |= !gc[k].apart && gc[k].start + gc[k].length <= m->start;
			above |= !gc[k].apart && gc[k].start >= m->end;
		}
		if (inside || (below && above && m->kind != MEMORY_MALLOC && m->kind != MEMORY_STACKS))
			m->kind = MEMORY_GC;
	}
}

static void add_figures(struct memory_figures *to, const struct memory_figures *f)
{
	to->size += f->size;
	to->rss += f->rss;
	to->swap += f->swap;
}

void memory_account_classify(struct memory_account *a, const struct memory_range *gc, size_t gc_count)
{
	for (size_t i = 0; i < a->count; i++)
		a->mappings[i].kind = mapping_kind(a, i);
	mark_executables(a);
	mark_heap(a, gc, gc_count);
	a->total = (struct memory_figures){0};
	memset(a->by_kind, 0, sizeof a->by_kind);
	for (size_t i = 0; i < a->count; i++) {
		const struct memory_mapping *m = &a->mappings[i];
		if (m->ours)
			continue;
		add_figures(&a->total, &m->is);
		add_figures(&a->by_kind[m->kind], &m->is);
	}
}

uint64_t memory_account_unmanaged(const struct memory_account *a)
{
	static const enum memory_kind kinds[] = {MEMORY_CODE, MEMORY_MALLOC, MEMORY_STACKS, MEMORY_ANONYMOUS, MEMORY_SHARED};
	uint64_t sum = 0;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		sum += a->by_kind[kinds[i]].rss + a->by_kind[kinds[i]].swap;
	return sum;
}

static const struct {
	const char *name, *title;
} kinds[MEMORY_KIND_COUNT] = {
	[MEMORY_GC] = {"gc", "managed heap"},
	[MEMORY_CODE] = {"code", "compiled code and stubs"},
	[MEMORY_MALLOC] = {"malloc", "malloc (native heap)"},
	[MEMORY_STACKS] = {"stacks", "thread stacks"},
	[MEMORY_ANONYMOUS] = {"anonymous", "other anonymous memory"},
	[MEMORY_SHARED] = {"shared", "shared memory"},
	[MEMORY_FILES] = {"files", "mapped files"},
	[MEMORY_ASSEMBLIES] = {"assemblies", "assemblies"},
	[MEMORY_LIBRARIES] = {"libraries", "executable and libraries"},
};

const char *memory_kind_name(enum memory_kind k)
{
	return kinds[k].name;
}

const char *memory_kind_title(enum memory_kind k)
{
	return kinds[k].title;
}
