#include "agent/starts/start_capture.h"

#include "agent/host/proc.h"
#include "agent/host/runtime_kind.h"
#include "agent/symbols/kernel_symbols.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAPS_TEXT_MAX (1 << 20)
#define PROCESSES_MAX 64 /* of a container, looked at in one turn */
#define READ_MS 2000

struct start_capture *start_capture_open(const struct start_container *container, bool late, const char *namespace, int64_t frequency_hertz, struct err *e)
{
	struct start_capture *c = mem_alloc(sizeof *c);
	struct perf_sampler_options options = {
		.proc_fd = -1,
		.frequency_hertz = frequency_hertz,
		.kernel_chains = kernel_symbols_allowed(PROC_ROOT),
		.stacks = true,
		.group = &container->dir,
	};
	c->container = *container;
	c->frequency_hertz = frequency_hertz;
	c->proc_fd = c->root_fd = c->pid_fd = -1;
	snprintf(c->namespace, sizeof c->namespace, "%s", namespace);
	c->perf = perf_sampler_open(&options, e);
	c->pump = c->perf ? perf_pump_start(c->perf, e) : NULL;
	if (!c->pump) {
		start_capture_free(c);
		return NULL;
	}
	cgroup_read_cpu(PROC_ROOT, &(struct cgroup_owner){0, c->container.pod_uid, c->container.container_id}, &c->group_begin);
	c->missed_ns = late ? clock_mono_ns() - container->appeared_ns : 0;
	buf_init(&c->maps, MAPS_TEXT_MAX);
	return c;
}

void start_capture_free(struct start_capture *c)
{
	if (!c)
		return;
	apart_drop(c->reading);
	perf_pump_free(c->pump);
	perf_sampler_close(c->perf);
	target_fini(&c->target);
	buf_fini(&c->maps);
	free(c->main_path);
	cleanup_fd(&c->proc_fd);
	cleanup_fd(&c->root_fd);
	cleanup_fd(&c->pid_fd);
	free(c);
}

/* One look: for a process with the runtime among those of a group, or at one that is known. */
struct process_read {
	char *procs_path, *proc_root; /* NULL: at the one that is known */
	int proc_fd;                  /* -1: none was found */
	bool group_gone;
	/* of it: */
	struct buf maps; /* empty: it has no runtime, is ending, or does not let itself be read */
	pid_t pid;
	struct proc_stat stat;
	struct proc_status status;
	int root_fd, pid_fd;
	char *main_path;
};

static void process_read_free(void *ctx)
{
	struct process_read *r = ctx;
	cleanup_fd(&r->proc_fd);
	cleanup_fd(&r->root_fd);
	cleanup_fd(&r->pid_fd);
	buf_fini(&r->maps);
	free(r->main_path);
	free(r->procs_path);
	free(r->proc_root);
	free(r);
}

static bool read_maps(struct process_read *r, int proc_fd)
{
	char data[16384];
	ssize_t n;
	bool has_runtime = runtime_kind_of(proc_fd) == RUNTIME_CORECLR;
	AUTO_FD int fd = has_runtime ? openat(proc_fd, "maps", O_RDONLY | O_CLOEXEC) : -1;
	while (fd >= 0 && (n = read(fd, data, sizeof data)) > 0)
		if (buf_append(&r->maps, data, (size_t)n) < 0)
			break;
	return r->maps.len != 0;
}

/* The process is the one, if it has the runtime. */
static void read_process(struct process_read *r, pid_t pid)
{
	AUTO_FD int proc_fd = proc_open(r->proc_root, pid);
	AUTO_FD int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0); /* of the same process, if that is there afterwards */
	char exe[PATH_MAX];
	if (proc_fd < 0 || !read_maps(r, proc_fd) || proc_read_stat(proc_fd, &r->stat) < 0 || proc_read_status(proc_fd, &r->status) < 0)
		return;
	ssize_t n = readlinkat(proc_fd, "exe", exe, sizeof exe);
	r->pid = pid;
	r->main_path = n > 0 && (size_t)n < sizeof exe ? mem_strndup(exe, (size_t)n) : NULL;
	r->root_fd = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r->proc_fd = steal_fd(&proc_fd);
	r->pid_fd = steal_fd(&pid_fd);
}

static void search_group(struct process_read *r)
{
	struct proc_lines lines;
	const char *line;
	size_t len;
	if (proc_lines_open(&lines, AT_FDCWD, r->procs_path) < 0) {
		r->group_gone = true;
		return;
	}
	for (int i = 0; i < PROCESSES_MAX && r->proc_fd < 0 && proc_lines_next(&lines, &line, &len); i++) {
		char number[24];
		if (snprintf(number, sizeof number, "%.*s", (int)len, line) < (int)sizeof number)
			read_process(r, (pid_t)cgroup_parse_number(number));
	}
	proc_lines_close(&lines);
}

static void run_look(struct apart *a, void *ctx)
{
	struct process_read *r = ctx;
	(void)a;
	if (r->procs_path)
		search_group(r);
	else
		read_maps(r, r->proc_fd);
}

static void begin_look(struct start_capture *c, const char *proc_root)
{
	char place[APART_PLACE_SIZE];
	struct process_read *r = mem_alloc(sizeof *r);
	r->proc_fd = proc_root ? -1 : fcntl(c->proc_fd, F_DUPFD_CLOEXEC, 0);
	r->root_fd = r->pid_fd = -1;
	r->procs_path = proc_root ? mem_printf("%s/cgroup.procs", c->container.dir.path) : NULL;
	r->proc_root = mem_strdup(proc_root);
	buf_init(&r->maps, MAPS_TEXT_MAX);
	apart_place(&(struct target){.pod_uid = c->container.pod_uid, .container_id = c->container.container_id}, place);
	c->reading = apart_begin(place, run_look, r, process_read_free, READ_MS, NULL);
	c->read = c->reading ? r : NULL;
	c->reading_since_ns = clock_mono_ns();
	c->unreadable = !c->reading;
}

/* What the look has found, the caller's to free; NULL: it is under way, or will never end. */
static struct process_read *end_look(struct start_capture *c)
{
	int done = apart_poll(c->reading, NULL);
	struct process_read *r = done > 0 ? c->read : NULL;
	if (done != 0)
		c->reading = NULL;
	c->unreadable |= done < 0;
	return r;
}

static void note_end(struct start_capture *c)
{
	if (!c->ended)
		c->ended_ns = clock_mono_ns();
	c->ended = true;
}

static void take_process(struct start_capture *c, struct process_read *r)
{
	c->runtime_ns = clock_mono_ns();
	c->target = (struct target){
		.mode = AGENT_MODE_HOST_PID,
		.pid = r->pid,
		.start_time = r->stat.start_time,
		.inner_pid = r->status.inner_pid,
		.uid = r->status.uid,
		.gid = r->status.gid,
		.pod_uid = mem_strdup(c->container.pod_uid),
		.container_id = mem_strdup(c->container.container_id),
		.proc_dir = mem_printf("%s/%d", r->proc_root, (int)r->pid),
	};
	c->main_path = steal_ptr(&r->main_path);
	c->root_fd = steal_fd(&r->root_fd);
	c->proc_fd = steal_fd(&r->proc_fd);
	c->pid_fd = steal_fd(&r->pid_fd);
}

static void take_maps(struct start_capture *c, struct process_read *r)
{
	struct buf swap = c->maps;
	if (!r->maps.len)
		return;
	c->maps = r->maps;
	r->maps = swap;
}

bool start_capture_look(struct start_capture *c, const char *proc_root)
{
	if (c->runtime_ns || c->unreadable)
		return c->runtime_ns != 0;
	struct process_read *r = c->reading ? end_look(c) : NULL;
	if (!r) {
		if (!c->reading && !c->unreadable)
			begin_look(c, proc_root);
		return false;
	}
	if (r->group_gone)
		note_end(c); /* the container has gone */
	if (r->proc_fd >= 0) {
		take_process(c, r);
		take_maps(c, r);
	}
	process_read_free(r);
	return c->runtime_ns != 0;
}

void start_capture_update(struct start_capture *c)
{
	if (c->proc_fd < 0 || c->ended)
		return;
	struct process_read *r = c->reading ? end_look(c) : NULL;
	if (r) {
		take_maps(c, r);
		process_read_free(r);
	} else if (!c->reading && !c->unreadable) {
		begin_look(c, NULL);
	}
	if (!target_alive(&c->target))
		note_end(c);
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
