#include "agent/target/runtime_build.h"

#include "agent/host/maps.h"
#include "agent/host/proc.h"
#include "agent/target/target_fs.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_MOST ((off_t)64 << 20)
#define CHUNK (1u << 18)
#define OVERLAP 256 /* the mark may lie across two */

static bool parse_version(const char *text, size_t len, char out[RUNTIME_BUILD_BYTES])
{
	char version[24] = "";
	int major, minor;
	memcpy(version, text, len < sizeof version - 1 ? len : sizeof version - 1);
	if (sscanf(version, "%3d.%3d.", &major, &minor) != 2 || major < 1 || minor < 0)
		return false;
	snprintf(out, RUNTIME_BUILD_BYTES, "%d.%d", major, minor);
	return true;
}

bool runtime_build_parse(const char *text, size_t len, char out[RUNTIME_BUILD_BYTES])
{
	static const char mark[] = "@(#)Version ";
	const char *at = text;
	while (len && (at = memmem(at, len - (size_t)(at - text), mark, sizeof mark - 1)) != NULL) {
		at += sizeof mark - 1;
		if (parse_version(at, len - (size_t)(at - text), out))
			return true;
	}
	return false;
}

static bool search_file(int fd, char out[RUNTIME_BUILD_BYTES])
{
	AUTO_FREE char *chunk = mem_alloc(CHUNK);
	for (off_t at = 0; at < FILE_MOST; at += CHUNK - OVERLAP) {
		ssize_t n = pread(fd, chunk, CHUNK, at);
		if (n <= 0)
			return false;
		if (runtime_build_parse(chunk, (size_t)n, out))
			return true;
	}
	return false;
}

/* -1: it is not mapped, or not to be had. */
static int open_library(int proc_fd)
{
	struct proc_lines lines;
	const char *line;
	size_t len;
	char path[4352];
	int fd = -1;
	AUTO_FD int root = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || proc_lines_open(&lines, proc_fd, "maps") < 0)
		return -1;
	while (fd < 0 && proc_lines_next(&lines, &line, &len)) {
		struct proc_map map;
		if (proc_parse_map_line(line, len, &map) < 0 || !proc_map_is(&map, "libcoreclr.so"))
			continue;
		snprintf(path, sizeof path, "%.*s", (int)map.path_len, map.path);
		fd = target_fs_open_regular(root, path);
		if (fd < 0)
			break;
	}
	proc_lines_close(&lines);
	return fd;
}

bool runtime_build_of_musl(int proc_fd)
{
	static const char loader[] = "/ld-musl-";
	struct proc_lines lines;
	const char *line;
	size_t len;
	bool found = false;
	if (proc_lines_open(&lines, proc_fd, "maps") < 0)
		return false;
	while (!found && proc_lines_next(&lines, &line, &len)) {
		struct proc_map map;
		found = proc_parse_map_line(line, len, &map) == 0 && map.path_len && memmem(map.path, map.path_len, loader, sizeof loader - 1);
	}
	proc_lines_close(&lines);
	return found;
}

bool runtime_build_of(int proc_fd, char out[RUNTIME_BUILD_BYTES])
{
	AUTO_FD int library = open_library(proc_fd);
	AUTO_FD int exe = library < 0 ? openat(proc_fd, "exe", O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1; /* a single-file application has it there */
	return search_file(library < 0 ? exe : library, out);
}
