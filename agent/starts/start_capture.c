#include "agent/starts/start_capture.h"

#include "agent/host/proc.h"
#include "agent/host/runtime_kind.h"
#include "agent/symbols/kernel_symbols.h"
#include "agent/target/apart.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAPS_TEXT_MAX (1 << 20)
#define PROCESSES_MAX 64 /* of a container, looked at in one turn */
#define READ_MS 2000

struct start_capture *start_capture_open(const struct cgroup_dir *dir, const char *pod_uid, const char *container_id, int64_t frequency_hertz,
					 struct err *e)
{
	struct start_capture *c = mem_alloc(sizeof *c);
	struct perf_sampler_options options = {
		.proc_fd = -1,
		.frequency_hertz = frequency_hertz,
		.kernel_chains = kernel_symbols_allowed(PROC_ROOT),
		.stacks = true,
		.group = dir,
	};
	c->appeared_ns = clock_mono_ns();
	c->dir = *dir;
	c->proc_fd = c->root_fd = -1;
	snprintf(c->pod_uid, sizeof c->pod_uid, "%s", pod_uid);
	snprintf(c->container_id, sizeof c->container_id, "%s", container_id);
	c->perf = perf_sampler_open(&options, e);
	c->pump = c->perf ? perf_pump_start(c->perf, e) : NULL;
	if (!c->pump) {
		start_capture_free(c);
		return NULL;
	}
	cgroup_read_cpu(PROC_ROOT, &(struct cgroup_owner){0, c->pod_uid, c->container_id}, &c->group_begin);
	buf_init(&c->maps, MAPS_TEXT_MAX);
	return c;
}

void start_capture_free(struct start_capture *c)
{
	if (!c)
		return;
	perf_pump_free(c->pump);
	perf_sampler_close(c->perf);
	target_fini(&c->target);
	buf_fini(&c->maps);
	free(c->main_path);
	cleanup_fd(&c->proc_fd);
	cleanup_fd(&c->root_fd);
	free(c);
}

/* What is read of a process, in a thread of its own: its files and memory may keep who reads them waiting for ever. */
struct process_read {
	int proc_fd;
	bool has_runtime;
	struct buf maps;
};

static void process_read_free(void *ctx)
{
	struct process_read *r = ctx;
	cleanup_fd(&r->proc_fd);
	buf_fini(&r->maps);
	free(r);
}

static void read_process(struct apart *a, void *ctx)
{
	struct process_read *r = ctx;
	char data[16384];
	ssize_t n;
	(void)a;
	r->has_runtime = runtime_kind_of(r->proc_fd) == RUNTIME_CORECLR;
	AUTO_FD int fd = r->has_runtime ? openat(r->proc_fd, "maps", O_RDONLY | O_CLOEXEC) : -1;
	while (fd >= 0 && (n = read(fd, data, sizeof data)) > 0)
		if (buf_append(&r->maps, data, (size_t)n) < 0)
			break;
}

/* Takes its mappings. false: it has no runtime, is ending, or does not let itself be read. */
static bool take_maps(struct start_capture *c, int proc_fd)
{
	char place[APART_PLACE_SIZE];
	struct process_read *r = mem_alloc(sizeof *r);
	r->proc_fd = fcntl(proc_fd, F_DUPFD_CLOEXEC, 0);
	buf_init(&r->maps, MAPS_TEXT_MAX);
	apart_place(&(struct target){.pod_uid = c->pod_uid, .container_id = c->container_id}, place);
	if (apart_run(place, read_process, r, process_read_free, READ_MS, NULL) < 0) {
		c->unreadable = true;
		return false;
	}
	bool any = r->has_runtime && r->maps.len;
	if (any) {
		struct buf swap = c->maps;
		c->maps = r->maps;
		r->maps = swap;
	}
	process_read_free(r);
	return any;
}

/* The process is the one, if it has the runtime. */
static bool take_process(struct start_capture *c, const char *proc_root, pid_t pid)
{
	AUTO_FD int proc_fd = proc_open(proc_root, pid);
	struct proc_stat stat;
	struct proc_status status;
	char exe[PATH_MAX];
	if (proc_fd < 0 || !take_maps(c, proc_fd) || proc_read_stat(proc_fd, &stat) < 0 || proc_read_status(proc_fd, &status) < 0)
		return false;
	c->runtime_ns = clock_mono_ns();
	c->target = (struct target){
		.mode = AGENT_MODE_HOST_PID,
		.pid = pid,
		.start_time = stat.start_time,
		.inner_pid = status.inner_pid,
		.uid = status.uid,
		.gid = status.gid,
		.pod_uid = mem_strdup(c->pod_uid),
		.container_id = mem_strdup(c->container_id),
		.proc_dir = mem_printf("%s/%d", proc_root, (int)pid),
	};
	ssize_t n = readlinkat(proc_fd, "exe", exe, sizeof exe);
	c->main_path = n > 0 && (size_t)n < sizeof exe ? mem_strndup(exe, (size_t)n) : NULL;
	c->root_fd = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	c->proc_fd = steal_fd(&proc_fd);
	return true;
}

bool start_capture_look(struct start_capture *c, const char *proc_root)
{
	char path[CGROUP_PATH_MAX + 16];
	struct proc_lines lines;
	if (c->runtime_ns)
		return true;
	snprintf(path, sizeof path, "%s/cgroup.procs", c->dir.path);
	if (proc_lines_open(&lines, AT_FDCWD, path) < 0) {
		c->ended = true; /* the container has gone */
		return false;
	}
	const char *line;
	size_t len;
	for (int i = 0; i < PROCESSES_MAX && !c->runtime_ns && !c->unreadable && proc_lines_next(&lines, &line, &len); i++) {
		char number[24];
		if (snprintf(number, sizeof number, "%.*s", (int)len, line) < (int)sizeof number)
			take_process(c, proc_root, (pid_t)cgroup_parse_number(number));
	}
	proc_lines_close(&lines);
	return c->runtime_ns != 0;
}

void start_capture_update(struct start_capture *c)
{
	if (c->proc_fd < 0 || c->ended)
		return;
	if (!c->unreadable)
		take_maps(c, c->proc_fd);
	c->ended = !target_alive(&c->target);
}

static void drop_sample(void *ctx, const struct perf_sample *s)
{
	(void)ctx, (void)s;
}

static void drop_name(void *ctx, uint32_t tid, const char *comm)
{
	(void)ctx, (void)tid, (void)comm;
}

void start_capture_trim(struct start_capture *c)
{
	struct pollfd much = {.fd = perf_pump_fd(c->pump), .events = POLLIN};
	if (poll(&much, 1, 0) > 0)
		perf_pump_take(c->pump, drop_sample, drop_name, NULL);
}
