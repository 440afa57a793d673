#include "agent/cli/cli_run.h"

#include "agent/cli/cli_library.h"
#include "agent/cli/cli_output.h"
#include "agent/cli/cli_rules.h"
#include "agent/cli/cli_processes.h"
#include "agent/cli/cli_target.h"
#include "agent/cli/launch.h"
#include "agent/cli/ps.h"
#include "agent/profilers/profilers.h"
#include "common/api/reason.h"
#include "common/api/session_manifest.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/report/report_diff_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>

#define DISCOVER_MS 20000
#define ANSWER_MS 15000 /* of the one process that is named; among all of them a silent one is not waited for */
#define START_MS 60000    /* from the command to its first .NET process */
#define LOOK_MS 10000     /* from there to the one look at its heap, where no time is given */
#define MANIFEST_MAX (1024 * 1024)

struct run {
	const struct cli_args *a;
	struct session_spec spec;
	char *session_name;
	struct launch *launch; /* NULL: the process runs already */
	int64_t look_ms;       /* of a command whose heap is inspected once: so long after its start; 0: it is profiled from its start */
	struct target_list targets;
	size_t target;
	char *library, *dir;
	int dir_fd, signal_fd;
	bool progress_shown;
};

/* "-" is standard input. */
static int read_manifest(const char *path, struct buf *out, struct err *e)
{
	if (fsio_read(AT_FDCWD, strcmp(path, "-") == 0 ? "/dev/stdin" : path, MANIFEST_MAX, out, e) == 0)
		return 0;
	if (e && !e->reason)
		e->reason = REASON_InvalidSpec;
	return -1;
}

/* The heap of a process that begins is empty: of a command TIME says when it is inspected. */
static int take_options(struct run *r, struct err *e)
{
	struct session_options o = r->a->session;
	if (r->a->start && profiler_takes_one_look(r->spec.profiler)) {
		r->look_ms = o.duration_seconds ? o.duration_seconds * 1000 : LOOK_MS;
		o.duration_seconds = 0;
	}
	if (session_options_check(&o, r->spec.profiler, e) < 0)
		return -1;
	session_options_apply(&o, &r->spec);
	return 0;
}

static int load_spec(struct run *r, struct err *e)
{
	const struct cli_args *a = r->a;
	if (a->file) {
		AUTO_BUF struct buf text = {0};
		if (read_manifest(a->file, &text, e) < 0)
			return -1;
		if (session_manifest_parse(buf_str(&text), text.len, a->file, &r->session_name, &r->spec, e) < 0)
			return -1;
	} else {
		session_spec_init(&r->spec, a->session.profiler);
	}
	if (r->spec.baseline_session)
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec,
				      "%s: spec.baselineSession names a session of a cluster; a local session is compared with a file: --baseline FILE",
				      a->file);
	return take_options(r, e);
}

/* Before the process is touched: a file that is no baseline is said at once. */
static int check_baseline_file(struct run *r, struct err *e)
{
	if (!r->a->baseline || report_diff_file_check(r->a->baseline, profiler_kind_name(r->spec.profiler), e) == 0)
		return 0;
	if (e)
		e->reason = REASON_BaselineUnusable;
	return err_prefix(e, "--baseline");
}

/* Of a command that is started, its first .NET process, which waits at its start. */
static int choose_target(struct run *r, struct err *e)
{
	pid_t pid = (pid_t)r->a->pid;
	if (r->launch && (pid = launch_await_runtime(r->launch, clock_mono_ms() + START_MS, e)) < 0) {
		if (e)
			e->reason = REASON_NoDotnetProcess;
		return -1;
	}
	struct discover_options o = {
		.mode = AGENT_MODE_HOST_PID,
		.proc_root = "/proc",
		.pid = pid,
		.held = r->launch != NULL,
		.query_runtime = true,
		.answer_ms = pid ? ANSWER_MS : 0,
		.deadline_ms = clock_mono_ms() + DISCOVER_MS,
	};
	if (discover_targets(&o, &r->targets, e) < 0)
		return -1;
	if (pid && r->targets.count == 0)
		return err_set_reason(e, ERR_NOT_FOUND, REASON_ProcessNotFound, "process %lld is not a .NET process visible to this user", (long long)pid);
	ssize_t at = cli_target_choose_for(profilers_work_without(r->spec.profiler), &r->targets, r->a->name, e);
	if (at < 0)
		return -1;
	r->target = (size_t)at;
	return 0;
}

/* "./drdotnet-Checkout-20261121-085032"; the process's own word is reduced to letters that are harmless in a path. */
static char *default_dir(const struct target *t)
{
	char name[48] = "process", when[32];
	time_t now = time(NULL);
	struct tm tm;
	strftime(when, sizeof when, "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	if (t->entrypoint && t->entrypoint[0])
		snprintf(name, sizeof name, "%s", t->entrypoint);
	for (char *c = name; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *c))
			*c = '_';
	return mem_printf("./drdotnet-%s-%s", name, when);
}

static int open_dir(struct run *r, struct err *e)
{
	r->dir = r->a->output ? mem_strdup(r->a->output) : default_dir(&r->targets.items[r->target]);
	if (fsio_mkdir_p(r->dir, 0755, e) < 0)
		return -1;
	r->dir_fd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return r->dir_fd >= 0 ? 0 : err_set_errno(e, errno, "opening %s", r->dir);
}

/* From here on a signal does not end us but the session; the library is out of the process before we go. Ctrl-Z too: nobody would keep the session's
 * cost within its bounds while we are stopped. */
static int catch_run_signals(struct run *r, struct err *e)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signal_fd >= 0 ? 0 : err_set_errno(e, errno, "signalfd");
}

/* Everything that could be wrong without it has been looked at. */
static int start_command(struct run *r, struct err *e)
{
	signal(SIGPIPE, SIG_IGN);
	r->launch = launch_start(r->a->start, e);
	return r->launch ? 0 : -1;
}

static int find_run_library(struct run *r, struct err *e)
{
	r->library = cli_library_find(e);
	return r->library ? 0 : -1;
}

static void show_progress(void *ctx, const struct session_progress *p)
{
	struct run *r = ctx;
	cli_output_progress(stderr, p);
	r->progress_shown = true;
}

/* What changed since the baseline, or why that cannot be said; NULL: nothing was asked, or there is no report. */
static char *compare_with_baseline(const struct run *r, const struct session_outcome *out)
{
	struct err e = ERR_INIT;
	if (!r->a->baseline || out->report.report_count == 0)
		return NULL;
	AUTO_JSON json_t *diff = report_diff_file_make(r->a->baseline, r->dir, &e);
	return diff ? mem_strdup(jsonx_str_at(diff, "diagnosis", "")) : mem_printf("Not compared: %s.", e.message);
}

/* Until its heap is to be inspected, an end is asked for, or it ends by itself. */
static void let_run(const struct run *r)
{
	AUTO_FD int pid_fd = (int)syscall(SYS_pidfd_open, r->targets.items[r->target].pid, 0);
	struct pollfd ends[] = {{.fd = launch_cancel_fd(r->launch), .events = POLLIN}, {.fd = pid_fd, .events = POLLIN}};
	int64_t until_ms = clock_mono_ms() + r->look_ms, left_ms;
	launch_release(r->launch);
	while ((left_ms = until_ms - clock_mono_ms()) > 0 && poll(ends, 2, (int)left_ms) < 0 && errno == EINTR)
		;
}

/* To somebody who meant to come back to it. */
static void explain_stop(const struct run *r)
{
	struct signalfd_siginfo s;
	bool stopped = r->launch && launch_stopped(r->launch);
	while (r->signal_fd >= 0 && read(r->signal_fd, &s, sizeof s) == sizeof s)
		stopped |= s.ssi_signo == SIGTSTP;
	if (stopped)
		fputs("drdotnet: Ctrl-Z has ended the session: a stopped drdotnet could not keep its cost within bounds\n", stderr);
}

static int run_profile(struct run *r)
{
	struct report_context context = {
		.session_name = r->session_name ? r->session_name : "",
		.session_namespace = "",
		.session_uid = "",
		.pod_name = "",
		.container = "",
		.node_name = "",
	};
	struct session_request q = {
		.spec = &r->spec,
		.target = &r->targets.items[r->target],
		.context = &context,
		.library_path = r->library,
		.out_dirfd = r->dir_fd,
		.cancel_fd = r->launch ? launch_cancel_fd(r->launch) : r->signal_fd,
		.launched = r->launch && !r->look_ms,
		.on_prepared = r->launch ? launch_release : NULL,
		.prepared_ctx = r->launch,
		.on_progress = !r->launch && !r->a->quiet && isatty(STDERR_FILENO) ? show_progress : NULL,
		.progress_ctx = r,
	};
	struct session_outcome out;
	if (r->look_ms)
		let_run(r);
	profilers_run(&q, &out);
	if (r->progress_shown)
		cli_output_progress_end(stderr);
	explain_stop(r);
	AUTO_FREE char *comparison = compare_with_baseline(r, &out);
	FILE *to = r->launch ? stderr : stdout; /* the command's output is its own */
	if (r->a->json)
		cli_output_json(to, &out, q.target, r->dir, comparison);
	else
		cli_output_text(to, stderr, &out, r->dir_fd, r->dir, comparison);
	if (out.report.report_count == 0)
		rmdir(r->dir); /* leaves no empty folder; a folder with something in it stays */
	int status = out.phase == JOB_SUCCEEDED || out.report.report_count > 0 ? CLI_OK : CLI_FAILED;
	session_outcome_fini(&out);
	return status;
}

typedef int run_step(struct run *r, struct err *e);

/* Where the name of a process was not enough, with those that there are. */
static void fail(const struct run *r, const struct err *e)
{
	cli_output_error(r->a->start ? stderr : stdout, stderr, r->a->json, e);
	if (r->a->json || (e->reason != REASON_AmbiguousProcess && e->reason != REASON_ProcessNotFound) || r->targets.count == 0)
		return;
	fputc('\n', stderr);
	ps_print(&r->targets, false, stderr);
}

/* A rule file that is left out is named; the others hold. */
static int add_rules(struct run *r, struct err *e)
{
	return r->a->rules && cli_rules_add(r->a->rules, stderr, e) < 0 ? -1 : 0;
}

int cli_run(const struct cli_args *a)
{
	if (!a->file && !a->session.has_profiler && !a->pid && !a->name && !a->start)
		return cli_processes_explain(a);
	run_step *const steps[] = {load_spec, add_rules, check_baseline_file, find_run_library, a->start ? start_command : catch_run_signals, choose_target,
				   open_dir};
	struct run r = {.a = a, .dir_fd = -1, .signal_fd = -1};
	struct err e = ERR_INIT;
	int status = CLI_OK;
	for (size_t i = 0; i < sizeof steps / sizeof *steps && status == CLI_OK; i++)
		if (steps[i](&r, &e) < 0)
			status = e.reason == REASON_InvalidSpec || e.reason == REASON_BaselineUnusable ? CLI_USAGE : CLI_FAILED;
	if (status == CLI_OK)
		status = run_profile(&r);
	else
		fail(&r, &e);
	if (r.launch)
		status = launch_finish(r.launch);
	else if (a->start && e.code == LAUNCH_NOT_FOUND)
		status = LAUNCH_NOT_FOUND;
	else if (a->start && e.code == LAUNCH_NOT_EXECUTABLE)
		status = LAUNCH_NOT_EXECUTABLE;
	session_spec_fini(&r.spec);
	target_list_fini(&r.targets);
	free(r.session_name);
	free(r.library);
	free(r.dir);
	if (r.dir_fd >= 0)
		close(r.dir_fd);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	return status;
}
