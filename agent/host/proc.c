#include "agent/host/proc.h"

#include "common/base/cleanup.h"
#include "common/base/fsio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int proc_parse_stat(const char *text, struct proc_stat *out)
{
	/* The name may hold blanks and parentheses: it ends at the last one. */
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	if (!open || !close || close < open || close[1] != ' ')
		return -1;
	size_t n = (size_t)(close - open - 1);
	if (n >= sizeof out->comm)
		n = sizeof out->comm - 1;
	memcpy(out->comm, open + 1, n);
	out->comm[n] = '\0';
	int got = sscanf(close + 2,
			 "%c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64 " %*s %*s %*s %*s %" SCNd64
			 " %*s %" SCNu64,
			 &out->state, &out->ppid, &out->utime_ticks, &out->stime_ticks, &out->thread_count, &out->start_time);
	return got == 6 ? 0 : -1;
}

/* The text behind "\n<key>:" or a leading "<key>:"; the kernel escapes newlines in the Name line. */
static const char *status_field(const char *text, const char *key)
{
	size_t n = strlen(key);
	for (const char *p = text; p; p = strchr(p, '\n')) {
		if (*p == '\n')
			p++;
		if (strncmp(p, key, n) == 0 && p[n] == ':') {
			p += n + 1;
			return p + strspn(p, " \t");
		}
	}
	return NULL;
}

static pid_t last_number(const char *p)
{
	long last = -1;
	while (*p && *p != '\n') {
		char *end;
		last = strtol(p, &end, 10);
		if (end == p)
			return -1;
		p = end + strspn(end, " \t");
	}
	return last > 0 && last <= INT32_MAX ? (pid_t)last : -1;
}

int proc_parse_status(const char *text, struct proc_status *out)
{
	const char *state = status_field(text, "State"), *pid = status_field(text, "Pid");
	const char *tracer = status_field(text, "TracerPid"), *ns_pid = status_field(text, "NSpid");
	const char *uid = status_field(text, "Uid"), *gid = status_field(text, "Gid");
	const char *group = status_field(text, "Tgid"), *dumping = status_field(text, "CoreDumping");
	if (!state || !*state || !pid || !uid || !gid)
		return -1;
	unsigned real, effective, effective_gid;
	if (sscanf(uid, "%u %u", &real, &effective) != 2 || sscanf(gid, "%u %u", &real, &effective_gid) != 2)
		return -1;
	out->state = *state;
	out->is_thread = group && atoi(group) != atoi(pid);
	out->uid = effective;
	out->gid = effective_gid;
	out->tracer_pid = tracer ? atoi(tracer) : 0;
	out->is_dumping = dumping && atoi(dumping) != 0;
	out->inner_pid = last_number(ns_pid ? ns_pid : pid);
	return out->inner_pid > 0 ? 0 : -1;
}

static bool take_hex(const char **p, const char *end, char stop, uint64_t *out)
{
	uint64_t v = 0;
	const char *s = *p;
	for (; s < end && *s != stop; s++) {
		unsigned digit = *s >= '0' && *s <= '9'   ? (unsigned)(*s - '0')
				 : *s >= 'a' && *s <= 'f' ? (unsigned)(*s - 'a') + 10
							  : 16;
		if (digit == 16 || v >> 60)
			return false;
		v = v << 4 | digit;
	}
	if (s == *p || s == end)
		return false;
	*p = s + 1;
	*out = v;
	return true;
}

static bool take_decimal(const char **p, const char *end, uint64_t *out)
{
	uint64_t v = 0;
	const char *s = *p;
	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		if (v > (UINT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	if (s == *p)
		return false;
	*p = s;
	*out = v;
	return true;
}

int proc_parse_map_line(const char *line, size_t len, struct proc_map *out)
{
	static const char deleted[] = " (deleted)";
	const char *p = line, *end = line + len;
	uint64_t device;
	if (!take_hex(&p, end, '-', &out->start) || !take_hex(&p, end, ' ', &out->end))
		return -1;
	if (end - p < 5 || p[4] != ' ' || out->end < out->start)
		return -1;
	memcpy(out->perms, p, 4);
	out->perms[4] = '\0';
	p += 5;
	if (!take_hex(&p, end, ' ', &out->offset) || !take_hex(&p, end, ':', &device) ||
	    !take_hex(&p, end, ' ', &device) || !take_decimal(&p, end, &out->inode))
		return -1;
	while (p < end && *p == ' ')
		p++;
	out->path = p;
	out->path_len = (size_t)(end - p);
	size_t cut = sizeof deleted - 1;
	out->deleted = out->path_len > cut && memcmp(end - cut, deleted, cut) == 0;
	if (out->deleted)
		out->path_len -= cut;
	return 0;
}

bool proc_map_is(const struct proc_map *m, const char *base_name)
{
	size_t n = strlen(base_name);
	if (m->path_len < n || memcmp(m->path + m->path_len - n, base_name, n) != 0)
		return false;
	return m->path_len > n && m->path[m->path_len - n - 1] == '/';
}

static bool is_octal_escape(const char *p, const char *end)
{
	return end - p >= 3 && p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' && p[2] >= '0' && p[2] <= '7';
}

/* One blank-separated field with the kernel's \040-style escapes resolved. */
static int mount_field(const char **p, const char *end, char *out, size_t size)
{
	size_t n = 0;
	while (*p < end && **p != ' ') {
		char c = *(*p)++;
		if (c == '\\' && is_octal_escape(*p, end)) {
			c = (char)(((*p)[0] - '0') << 6 | ((*p)[1] - '0') << 3 | ((*p)[2] - '0'));
			*p += 3;
		}
		if (n + 1 < size)
			out[n++] = c;
		else if (size > 1)
			return -1;
	}
	if (size > 0)
		out[n] = '\0';
	while (*p < end && **p == ' ')
		(*p)++;
	return 0;
}

int proc_parse_mount_line(const char *line, size_t len, struct proc_mount *out)
{
	const char *p = line, *end = line + len;
	char ignored[1];
	for (int i = 0; i < 3; i++)
		mount_field(&p, end, ignored, sizeof ignored);
	if (mount_field(&p, end, out->root, sizeof out->root) < 0 ||
	    mount_field(&p, end, out->point, sizeof out->point) < 0 || out->point[0] != '/')
		return -1;
	while (p < end && !(*p == '-' && (p + 1 == end || p[1] == ' ')))
		mount_field(&p, end, ignored, sizeof ignored);
	mount_field(&p, end, ignored, sizeof ignored);
	if (mount_field(&p, end, out->fs_type, sizeof out->fs_type) < 0 || out->fs_type[0] == '\0')
		return -1;
	mount_field(&p, end, ignored, sizeof ignored);
	return mount_field(&p, end, out->super_options, sizeof out->super_options);
}

/* A number that ends at `end`; -1: none, or too large. */
static int64_t proc_number(const char *text, char end)
{
	char *stop;
	errno = 0;
	long long v = *text >= '0' && *text <= '9' ? strtoll(text, &stop, 10) : -1;
	return v < 0 || errno || (*stop != end && *stop != '\0') ? -1 : v;
}

int64_t proc_parse_schedstat(const char *text)
{
	const char *second = strchr(text, ' ');
	return second ? proc_number(second + 1, ' ') : -1;
}

int64_t proc_parse_pressure(const char *text)
{
	const char *total = strncmp(text, "some ", 5) == 0 ? strstr(text, " total=") : NULL;
	int64_t us = total ? proc_number(total + 7, '\n') : -1;
	return us < 0 || us > INT64_MAX / 1000 ? -1 : us * 1000;
}

const char *proc_env_find(const char *block, size_t len, const char *name)
{
	size_t n = strlen(name);
	const char *p = block, *end = block + len;
	while (p < end) {
		const char *stop = memchr(p, '\0', (size_t)(end - p));
		if (!stop)
			return NULL;
		if ((size_t)(stop - p) > n && memcmp(p, name, n) == 0 && p[n] == '=')
			return p + n + 1;
		p = stop + 1;
	}
	return NULL;
}

int proc_open(const char *proc_root, pid_t pid)
{
	char path[512];
	if (snprintf(path, sizeof path, "%s/%d", proc_root, (int)pid) >= (int)sizeof path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int proc_read_stat(int proc_fd, struct proc_stat *out)
{
	char text[2048];
	if (fsio_read_small(proc_fd, "stat", text, sizeof text) < 0)
		return -1;
	if (proc_parse_stat(text, out) == 0)
		return 0;
	errno = EPROTO;
	return -1;
}

int proc_read_status(int proc_fd, struct proc_status *out)
{
	char text[8192];
	if (fsio_read_small(proc_fd, "status", text, sizeof text) < 0)
		return -1;
	if (proc_parse_status(text, out) == 0)
		return 0;
	errno = EPROTO;
	return -1;
}

int64_t proc_uptime_ms(int proc_fd)
{
	struct timespec now;
	struct proc_stat is;
	long ticks = sysconf(_SC_CLK_TCK);
	if (proc_fd < 0 || ticks <= 0 || proc_read_stat(proc_fd, &is) < 0 || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return -1;
	int64_t up = (int64_t)now.tv_sec * 1000 - (int64_t)(is.start_time / (uint64_t)ticks * 1000);
	return up > 0 ? up : 0;
}

int proc_count_threads(int proc_fd, const char *name)
{
	int task_fd = openat(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = fsio_opendir_take(task_fd);
	struct dirent *entry;
	int count = 0;
	if (!dir)
		return -1;
	while ((entry = readdir(dir))) {
		char path[300], comm[32];
		snprintf(path, sizeof path, "%s/comm", entry->d_name);
		if (entry->d_name[0] == '.' || fsio_read_small(task_fd, path, comm, sizeof comm) <= 0)
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		count += strncmp(comm, name, 15) == 0;
	}
	return count;
}

int64_t proc_parse_descriptor_limit(const char *text)
{
	static const char row[] = "Max open files";
	const char *p = strstr(text, row);
	char *end;
	if (!p)
		return -1;
	p += sizeof row - 1 + strspn(p + sizeof row - 1, " ");
	if (strncmp(p, "unlimited", 9) == 0)
		return INT64_MAX;
	errno = 0;
	long long v = strtoll(p, &end, 10);
	return end == p || errno || v < 0 ? -1 : v;
}

int64_t proc_descriptors_left(int proc_fd)
{
	char limits[4096];
	struct dirent *entry;
	int64_t open_now = 0;
	if (fsio_read_small(proc_fd, "limits", limits, sizeof limits) <= 0)
		return -1;
	int64_t most = proc_parse_descriptor_limit(limits);
	AUTO_DIR DIR *dir = fsio_opendir_take(openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (most < 0 || !dir)
		return -1;
	while ((entry = readdir(dir)))
		open_now += entry->d_name[0] != '.';
	return most > open_now ? most - open_now : 0;
}

int proc_read_environ(int proc_fd, struct buf *out)
{
	buf_init(out, PROC_ENVIRON_MAX);
	AUTO_FD int fd = openat(proc_fd, "environ", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	char chunk[8192];
	ssize_t n;
	while ((n = read(fd, chunk, sizeof chunk)) > 0) {
		if (buf_append(out, chunk, (size_t)n) < 0)
			return 0;
	}
	return n < 0 ? -1 : 0;
}

int proc_read_cmdline(int proc_fd, char *out, size_t size)
{
	ssize_t n = fsio_read_small(proc_fd, "cmdline", out, size);
	if (n < 0)
		return -1;
	for (ssize_t i = 0; i + 1 < n; i++) {
		if (out[i] == '\0')
			out[i] = ' ';
	}
	return 0;
}

int proc_lines_open(struct proc_lines *l, int dirfd, const char *path)
{
	l->have = l->pos = 0;
	l->eof = l->skipping = false;
	l->fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	return l->fd < 0 ? -1 : 0;
}

static bool refill_lines(struct proc_lines *l)
{
	memmove(l->data, l->data + l->pos, l->have - l->pos);
	l->have -= l->pos;
	l->pos = 0;
	ssize_t n;
	do {
		n = read(l->fd, l->data + l->have, sizeof l->data - l->have);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		l->eof = true;
	else
		l->have += (size_t)n;
	return n > 0;
}

bool proc_lines_next(struct proc_lines *l, const char **line, size_t *len)
{
	for (;;) {
		char *start = l->data + l->pos;
		size_t left = l->have - l->pos;
		char *stop = memchr(start, '\n', left);
		bool whole = stop || (l->eof && left > 0) || left == sizeof l->data;
		if (!whole) {
			if (l->eof || (!refill_lines(l) && l->have == l->pos))
				return false;
			continue;
		}
		bool was_tail = l->skipping;
		l->skipping = !stop && !l->eof;
		*line = start;
		*len = stop ? (size_t)(stop - start) : left;
		l->pos += *len + (stop ? 1 : 0);
		if (!was_tail)
			return true;
	}
}

void proc_lines_close(struct proc_lines *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}
