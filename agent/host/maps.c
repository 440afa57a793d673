#include "agent/host/maps.h"

#include "agent/host/proc.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

void maps_init(struct maps *m, const char *main_path)
{
	*m = (struct maps){.main_path = mem_strdup(main_path)};
}

void maps_fini(struct maps *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->file_count; i++)
		free(m->files[i].path);
	free(m->files);
	index_set_fini(&m->by_name);
	free(m->entries);
	free(m->main_path);
	*m = (struct maps){0};
}

static bool path_ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);
	return len >= n && memcmp(s + len - n, end, n) == 0;
}

static bool begins_with(const char *s, size_t len, const char *begin)
{
	size_t n = strlen(begin);
	return len >= n && memcmp(s, begin, n) == 0;
}

/* The runtime maps its code twice, writable and executable, from a memfd or an unlinked file of this name (W^X). */
static bool is_double_mapped(const char *path, size_t len)
{
	return begins_with(path, len, "/memfd:doublemapper") || memmem(path, len, "/doublemapper_", 14) ||
	       begins_with(path, len, "/dev/shm/doublemapper");
}

static enum map_kind classify(const struct maps *m, const char *path, size_t len)
{
	if (len == 0 || begins_with(path, len, "[anon") || begins_with(path, len, "[heap") || begins_with(path, len, "[stack") ||
	    is_double_mapped(path, len))
		return MAP_JIT;
	if (path[0] == '[')
		return MAP_KERNEL;
	if (path_ends_with(path, len, ".dll") || path_ends_with(path, len, ".exe"))
		return MAP_ASSEMBLY;
	if (m->main_path && strlen(m->main_path) == len && memcmp(m->main_path, path, len) == 0)
		return MAP_MAIN;
	return MAP_LIBRARY;
}

static bool is_c_library(const char *name)
{
	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2", 6) == 0 || strncmp(name, "libc.musl", 9) == 0 ||
	       strncmp(name, "libpthread", 10) == 0 || strncmp(name, "ld-", 3) == 0;
}

static uint32_t intern_file(struct maps *m, const char *path, size_t len, uint64_t inode)
{
	enum map_kind kind = classify(m, path, len);
	if (kind == MAP_JIT) {
		len = 0;
		inode = 0;
	}
	uint32_t hash = index_hash(index_hash(INDEX_HASH_START, &inode, sizeof inode), path, len), i;
	size_t at = hash;
	while ((i = index_set_next(&m->by_name, hash, &at)) != INDEX_NONE) {
		const struct map_file *f = &m->files[i];
		if (f->inode == inode && f->kind == kind && strlen(f->path) == len && memcmp(f->path, path, len) == 0)
			return i;
	}
	GROW(m->files, m->file_count, m->file_cap);
	struct map_file *f = &m->files[m->file_count];
	*f = (struct map_file){.path = mem_strndup(path, len), .kind = kind, .inode = inode};
	const char *slash = strrchr(f->path, '/');
	f->name = slash ? slash + 1 : f->path;
	f->c_library = kind == MAP_LIBRARY && is_c_library(f->name);
	index_set_add(&m->by_name, hash, (uint32_t)m->file_count);
	return (uint32_t)m->file_count++;
}

/* Files are mapped from their first byte on, mostly readable only; what is executable follows. */
static uint64_t image_of(struct maps *m, const struct proc_map *p)
{
	uint32_t name = index_hash(index_hash(INDEX_HASH_START, &p->inode, sizeof p->inode), p->path, p->path_len);
	if (p->offset == 0 && p->path_len) {
		m->image.start = p->start;
		m->image.name = name;
	}
	return p->path_len && name == m->image.name ? m->image.start : 0;
}

void maps_add_line(struct maps *m, const char *line, size_t len)
{
	struct proc_map p;
	if (proc_parse_map_line(line, len, &p) < 0 || p.start >= p.end)
		return;
	uint64_t image = image_of(m, &p);
	if (p.perms[2] != 'x')
		return;
	if (m->entry_count >= MAPS_MAX || m->file_count >= MAPS_MAX)
		return;
	if (m->entry_count && p.start < m->entries[m->entry_count - 1].end)
		return; /* the kernel lists them in order; anything else is not its word */
	if (memchr(p.path, '\0', p.path_len))
		return;
	GROW(m->entries, m->entry_count, m->entry_cap);
	m->entries[m->entry_count++] = (struct map_entry){
		.start = p.start,
		.end = p.end,
		.offset = p.offset,
		.image = image,
		.file = intern_file(m, p.path, p.path_len, p.inode),
	};
}

int maps_load(struct maps *m, int proc_fd, struct err *e)
{
	AUTO_FREE struct proc_lines *lines = mem_alloc(sizeof *lines);
	if (proc_lines_open(lines, proc_fd, "maps") < 0)
		return err_set_reason(e, ERR_GONE, REASON_ProcessExited, "reading the process's mappings: it has ended");
	size_t before = m->entry_count;
	const char *line;
	size_t len;
	m->entry_count = 0;
	m->image.start = 0;
	while (proc_lines_next(lines, &line, &len))
		maps_add_line(m, line, len);
	proc_lines_close(lines);
	if (m->entry_count == 0) { /* a process that is ending has no mappings; nothing was overwritten */
		m->entry_count = before;
		return err_set_reason(e, ERR_GONE, REASON_ProcessExited, "the process has no mappings any more: it is ending");
	}
	return 0;
}

const struct map_entry *maps_find(const struct maps *m, uint64_t ip)
{
	size_t low = 0, high = m->entry_count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (ip < m->entries[mid].start)
			high = mid;
		else if (ip >= m->entries[mid].end)
			low = mid + 1;
		else
			return &m->entries[mid];
	}
	return NULL;
}
