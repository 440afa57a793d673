#include "agent/profilers/deadlocks/deadlock_look.h"

#include "agent/host/elf_probe.h"
#include "agent/host/proc.h"
#include "agent/target/target_fs.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define PATH_BYTES 4352
#define LOOK_STACK_BYTES 65536 /* of a thread's stack, from its top */

/* the runtime's table for debuggers -------------------------------------------------------------------------------- */

/* Opens what a line of /proc/PID/maps maps, as the process sees it; -1: not to be had. */
static int open_mapped(int proc_fd, const struct proc_map *map)
{
	char path[PATH_BYTES];
	AUTO_FD int root = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof path, "%.*s", (int)map->path_len, map->path);
	return root < 0 ? -1 : target_fs_open_regular(root, path);
}

/* A single-file application has the runtime in its executable. */
static bool may_hold_runtime(int proc_fd, const struct proc_map *map)
{
	char exe[PATH_BYTES];
	if (map->offset != 0 || map->path_len == 0)
		return false;
	if (proc_map_is(map, "libcoreclr.so"))
		return true;
	ssize_t n = readlinkat(proc_fd, "exe", exe, sizeof exe);
	return n > 0 && (size_t)n == map->path_len && memcmp(exe, map->path, map->path_len) == 0;
}

static bool read_dac_words(const struct process_memory *m, int proc_fd, const struct proc_map *map, struct dac_table *out)
{
	uint64_t address, size;
	AUTO_FD int fd = open_mapped(proc_fd, map);
	if (fd < 0 || elf_probe_export(fd, "g_dacTable", &address, &size) < 0)
		return false;
	size_t most = size < sizeof out->words ? size : sizeof out->words;
	out->count = process_memory_read(m, map->start + address, out->words, most) / sizeof *out->words;
	return out->count > 0;
}

void dac_table_read(const struct process_memory *m, int proc_fd, struct dac_table *out)
{
	struct proc_lines lines;
	const char *line;
	size_t len;
	out->count = 0;
	out->why = "the runtime's library was not found in the process";
	if (proc_lines_open(&lines, proc_fd, "maps") < 0)
		return;
	while (out->why && proc_lines_next(&lines, &line, &len)) {
		struct proc_map map;
		if (proc_parse_map_line(line, len, &map) == 0 && may_hold_runtime(proc_fd, &map) && read_dac_words(m, proc_fd, &map, out))
			out->why = NULL;
	}
	proc_lines_close(&lines);
}

/* who waits for what ------------------------------------------------------------------------------------------------ */

uint32_t deadlock_look_waited(const struct sync_table *t, const uint64_t *words, size_t count)
{
	uint64_t lowest = UINT64_MAX, highest = 0;
	for (size_t i = 0; i < t->waited_count; i++) {
		uint64_t at = t->waited[i].sync_block;
		lowest = at < lowest ? at : lowest;
		highest = at > highest ? at : highest;
	}
	for (size_t k = 0; k < count; k++) {
		if (words[k] < lowest || words[k] > highest)
			continue;
		for (size_t i = 0; i < t->waited_count; i++)
			if (t->waited[i].sync_block == words[k])
				return (uint32_t)i;
	}
	return UINT32_MAX;
}

/* Only a thread that sleeps on a futex can wait for a monitor. */
static void find_waits(const struct process_memory *m, struct deadlock_look *l)
{
	AUTO_FREE uint64_t *stack = mem_alloc(LOOK_STACK_BYTES);
	l->waits_for = mem_calloc(l->thread_count + 1, sizeof *l->waits_for);
	for (size_t i = 0; i < l->thread_count; i++) {
		const struct thread_wait *t = &l->threads[i];
		l->waits_for[i] = UINT32_MAX;
		if (!l->table.waited_count || t->system_call != SYS_futex || !t->sp)
			continue;
		size_t bytes = process_memory_read(m, t->sp & ~UINT64_C(7), stack, LOOK_STACK_BYTES);
		l->waits_for[i] = deadlock_look_waited(&l->table, stack, bytes / sizeof *stack);
	}
	explicit_bzero(stack, LOOK_STACK_BYTES);
}

void deadlock_look_take(const struct process_memory *m, int proc_fd, const struct dac_table *dac, struct deadlock_look *out)
{
	*out = (struct deadlock_look){.at_ns = clock_mono_ns(), .unread = dac->why};
	uint64_t table = dac->why ? 0 : sync_table_find(m, dac->words, dac->count);
	ssize_t threads = thread_wait_list(proc_fd, &out->threads, &out->full);
	if (threads < 0) {
		out->unread = "the process's threads could not be read";
		return;
	}
	out->thread_count = (size_t)threads;
	out->table_found = table != 0;
	if (table)
		sync_table_read(m, table, &out->table);
	out->full |= out->table.full;
	find_waits(m, out);
}

void deadlock_look_fini(struct deadlock_look *l)
{
	sync_table_fini(&l->table);
	free(l->threads);
	free(l->waits_for);
	*l = (struct deadlock_look){0};
}
