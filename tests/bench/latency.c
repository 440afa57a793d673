/* latency PID LIBRARY TIMES: runs so many short CPU sessions on one process, as the agent does, and prints one JSON line each: how long
 * after the order the first sample was taken and known, and how long after the end the library was out of the process. */
#include "agent/discover/discover.h"
#include "agent/profilers/profilers.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define DISCOVER_MS 5000
#define STAY_MS 300 /* in the session, after its first sample */

struct times {
	int64_t ordered_wall_ms, ordered_ns, known_ns, sample_wall_ms, end_ns, left_ns;
	int cancel_fd;
	pid_t pid;
	bool mapped;
};

static bool is_mapped(pid_t pid)
{
	char path[32], line[4096];
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "re");
	bool found = false;
	while (f && !found && fgets(line, sizeof line, f))
		found = strstr(line, "drdotnet") != NULL;
	if (f)
		fclose(f);
	return found;
}

/* The session ends some moments after its first sample; it is analyzed when the library has left. */
static void on_progress(void *ctx, const struct session_progress *p)
{
	struct times *t = ctx;
	uint64_t one = 1;
	if (p->phase == JOB_PROFILING && p->first_sample_wall_ms && !t->known_ns) {
		t->known_ns = clock_mono_ns();
		t->sample_wall_ms = p->first_sample_wall_ms;
		t->mapped = is_mapped(t->pid);
		usleep(STAY_MS * 1000);
		t->end_ns = clock_mono_ns();
		if (write(t->cancel_fd, &one, sizeof one) < 0)
			perror("eventfd");
	}
	if (p->phase == JOB_ANALYZING)
		t->left_ns = clock_mono_ns();
	if (p->phase == JOB_ANALYZING && is_mapped(t->pid))
		fprintf(stderr, "latency: the library is still mapped\n");
}

static int run_once(const struct target *target, const char *library, int dir_fd)
{
	struct session_spec spec;
	struct session_outcome out;
	struct report_context context = {
		.session_name = "", .session_namespace = "", .session_uid = "", .pod_name = "", .container = "", .node_name = ""};
	AUTO_FD int cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct times t = {.pid = target->pid, .cancel_fd = cancel_fd, .ordered_wall_ms = clock_wall_ms(), .ordered_ns = clock_mono_ns()};
	session_spec_init(&spec, PROFILER_CPU_HOTPATHS);
	struct session_request q = {
		.spec = &spec,
		.target = target,
		.context = &context,
		.library_path = library,
		.out_dirfd = dir_fd,
		.cancel_fd = cancel_fd,
		.on_progress = on_progress,
		.progress_ctx = &t,
	};
	profilers_run(&q, &out);
	bool done = t.known_ns && t.left_ns && t.mapped;
	if (done)
		printf("{\"first_sample_ms\":%" PRId64 ",\"known_ms\":%.1f,\"left_ms\":%.1f}\n", t.sample_wall_ms - t.ordered_wall_ms,
		       (double)(t.known_ns - t.ordered_ns) / 1e6, (double)(t.left_ns - t.end_ns) / 1e6);
	else
		fprintf(stderr, "latency: %s\n", out.message ? out.message : "no session");
	fflush(stdout);
	session_outcome_fini(&out);
	session_spec_fini(&spec);
	return done ? 0 : -1;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: latency PID LIBRARY TIMES\n");
		return 2;
	}
	char folder[] = "/tmp/drdotnet-latency-XXXXXX";
	AUTO_FD int dir_fd = mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct discover_options o = {
		.mode = AGENT_MODE_HOST_PID,
		.proc_root = "/proc",
		.pid = atoi(argv[1]),
		.query_runtime = true,
		.deadline_ms = clock_mono_ms() + DISCOVER_MS,
	};
	struct target_list list = {0};
	struct err e = ERR_INIT;
	int status = 0;
	if (dir_fd < 0 || discover_targets(&o, &list, &e) < 0 || list.count != 1) {
		fprintf(stderr, "latency: no such process: %s\n", e.message);
		return 1;
	}
	for (int i = 0; i < atoi(argv[3]) && status == 0; i++)
		status = run_once(&list.items[0], argv[2], dir_fd);
	target_list_fini(&list);
	AUTO_FREE char *remove = mem_printf("rm -rf '%s'", folder);
	return system(remove) == 0 && status == 0 ? 0 : 1;
}
