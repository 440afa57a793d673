#include "agent/locks/dac_table.h"

#include "agent/host/elf_probe.h"
#include "agent/host/proc.h"
#include "agent/target/target_fs.h"
#include "common/base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4352
#define FILES_MAX 8 /* that may be the runtime's: a process may map thousands of its name */

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

bool dac_table_export(int proc_fd, const char *name, uint64_t *address, uint64_t *size)
{
	struct proc_lines lines;
	const char *line;
	size_t len;
	bool found = false;
	int files = 0;
	if (proc_lines_open(&lines, proc_fd, "maps") < 0)
		return false;
	while (!found && files < FILES_MAX && proc_lines_next(&lines, &line, &len)) {
		struct proc_map map;
		if (proc_parse_map_line(line, len, &map) < 0 || !may_hold_runtime(proc_fd, &map))
			continue;
		files++;
		AUTO_FD int fd = open_mapped(proc_fd, &map);
		found = fd >= 0 && elf_probe_export(fd, name, address, size) == 0;
		*address += found ? map.start : 0;
	}
	proc_lines_close(&lines);
	return found;
}

void dac_table_read(const struct process_memory *m, int proc_fd, struct dac_table *out)
{
	uint64_t address = 0, size = 0;
	out->count = 0;
	out->why = NULL;
	if (dac_table_export(proc_fd, "g_dacTable", &address, &size))
		out->count = process_memory_read(m, address, out->words, size < sizeof out->words ? size : sizeof out->words) / sizeof *out->words;
	if (!out->count)
		out->why = "the runtime's library was not found in the process";
}
