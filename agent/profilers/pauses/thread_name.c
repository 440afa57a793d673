#include "agent/profilers/pauses/thread_name.h"

#include "common/base/cleanup.h"
#include "common/base/fsio.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ssize_t read_task_text(int proc_fd, const char *task, const char *file, char *out, size_t size)
{
	char path[96];
	snprintf(path, sizeof path, "task/%.20s/%s", task, file);
	return fsio_read_small(proc_fd, path, out, size);
}

/* The innermost of the NSpid line's numbers. */
static uint32_t parse_inner_tid(int proc_fd, const char *task)
{
	char text[4096];
	if (read_task_text(proc_fd, task, "status", text, sizeof text) <= 0)
		return 0;
	char *line = strstr(text, "\nNSpid:");
	if (!line)
		return 0;
	line += 7;
	line[strcspn(line, "\n")] = '\0';
	char *last = strrchr(line, '\t');
	return last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
}

static bool find_task(int proc_fd, uint32_t tid, char *task, size_t size)
{
	int fd = openat(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = fsio_opendir_take(fd);
	for (struct dirent *d; dir && (d = readdir(dir));)
		if (d->d_name[0] != '.' && parse_inner_tid(proc_fd, d->d_name) == tid) {
			snprintf(task, size, "%.20s", d->d_name);
			return true;
		}
	return false;
}

void thread_name_read(int proc_fd, uint32_t tid, bool same_ids, char *out, size_t size)
{
	char task[32];
	out[0] = '\0';
	snprintf(task, sizeof task, "%u", tid);
	if (proc_fd < 0 || (!same_ids && !find_task(proc_fd, tid, task, sizeof task)))
		return;
	if (read_task_text(proc_fd, task, "comm", out, size) <= 0)
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}
