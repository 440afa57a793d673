/* Parsers of the kernel's /proc/PID files, and readers that work relative to an open /proc/PID folder: such a
 * descriptor keeps naming the same process, so that a pid that is reused in between reads as ESRCH and not as somebody
 * else. The kernel's format is trusted, the words inside (names, paths, environment) are the process's own.
 * Formats: proc(5). Any thread; parsers are pure. */
#ifndef DRDOTNET_PROC_H
#define DRDOTNET_PROC_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_ROOT "/proc"
#define PROC_ENVIRON_MAX (256 * 1024) /* what lies behind is not looked at */
#define PROC_MAP_LINE_MAX 4352        /* address part + PATH_MAX */

struct proc_stat {
	char comm[64];       /* raw bytes: outside text */
	char state;          /* R S D T t Z X I ... */
	pid_t ppid;
	uint64_t utime_ticks, stime_ticks;
	int64_t thread_count;
	uint64_t start_time; /* ticks after boot */
};

struct proc_status {
	char state;
	bool is_thread;      /* the number names a thread that is not its process's first */
	pid_t tracer_pid;    /* 0: none */
	bool is_dumping;     /* the kernel writes its core dump (Linux 4.15) */
	uid_t uid;           /* effective, in the reader's user namespace */
	gid_t gid;
	pid_t inner_pid;     /* the last of NSpid; the reader's view when the kernel has no NSpid */
};

struct proc_map {
	uint64_t start, end, offset, inode;
	char perms[5];
	const char *path;    /* borrowed from the line; "" for anonymous memory; not NUL-terminated */
	size_t path_len;     /* without " (deleted)" */
	bool deleted;
};

struct proc_mount {
	char root[512], point[512]; /* octal escapes resolved */
	char fs_type[32];
	char super_options[256];    /* cgroup v1: the controllers */
};

/* Each returns 0, or -1 when the text is not of that format (then *out is undefined). */
int proc_parse_stat(const char *text, struct proc_stat *out);
int proc_parse_status(const char *text, struct proc_status *out);
int proc_parse_map_line(const char *line, size_t len, struct proc_map *out);
int proc_parse_mount_line(const char *line, size_t len, struct proc_mount *out);

/* A thread's wait for a CPU since its birth, the second field of schedstat; the time in which some task waited for one, of /proc/pressure/cpu.
 * Nanoseconds; -1: not of that format. */
int64_t proc_parse_schedstat(const char *text);
int64_t proc_parse_pressure(const char *text);

/* The soft limit of /proc/PID/limits' "Max open files"; INT64_MAX: unlimited; -1: not of that format. */
int64_t proc_parse_descriptor_limit(const char *text);

/* The value of NAME in an environ block ("A=1\0B=2\0"), borrowed; NULL when it is not there or its end was cut off. */
const char *proc_env_find(const char *block, size_t len, const char *name);

/* True when the mapping's file has this base name. */
bool proc_map_is(const struct proc_map *m, const char *base_name);

/* PROC_ROOT/PID opened, or -1 with errno. */
int proc_open(const char *proc_root, pid_t pid);

/* Read and parse `stat` and `status` of an open /proc/PID. 0 or -1 with errno (EPROTO: strange text). */
int proc_read_stat(int proc_fd, struct proc_stat *out);
int proc_read_status(int proc_fd, struct proc_status *out);

/* How long the process of an open /proc/PID has run, in milliseconds; -1: not known. */
int64_t proc_uptime_ms(int proc_fd);

/* How many threads of the process have this name, as the kernel keeps it (at most 15 characters). -1 with errno. */
int proc_count_threads(int proc_fd, const char *name);

/* How many descriptors the process may still open, by the soft limit in its `limits`. -1: not known. */
int64_t proc_descriptors_left(int proc_fd);

/* The whole `environ` (up to PROC_ENVIRON_MAX); *out is initialised here. 0 or -1 with errno. */
int proc_read_environ(int proc_fd, struct buf *out);

/* The command line with blanks between the arguments, cut at `size` - 1 bytes. 0 or -1 with errno. */
int proc_read_cmdline(int proc_fd, char *out, size_t size);

/* Line by line over a file that may be large (maps, mountinfo): no more memory than one line. A line longer than the
 * buffer is given cut. */
struct proc_lines {
	int fd;
	size_t have, pos;
	bool eof, skipping;
	char data[PROC_MAP_LINE_MAX];
};
int proc_lines_open(struct proc_lines *l, int dirfd, const char *path); /* 0 or -1 with errno */
bool proc_lines_next(struct proc_lines *l, const char **line, size_t *len); /* borrowed until the next call; no newline */
void proc_lines_close(struct proc_lines *l);

#endif
