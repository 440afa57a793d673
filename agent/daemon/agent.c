#include "agent/daemon/agent.h"

#include "agent/attach/stage_sweep.h"
#include "agent/catalogue/catalogue.h"
#include "agent/target/apart.h"
#include "agent/daemon/health_socket.h"
#include "agent/jobs/jobs.h"
#include "agent/link/link_ca.h"
#include "agent/link/link_client.h"
#include "agent/observe/observe.h"
#include "agent/observe/process_answer.h"
#include "agent/discover/shared_tmp.h"
#include "agent/jobs/spool.h"
#include "agent/starts/start_watch.h"
#include "agent/attach/stage.h"
#include "agent/observe/usage_query.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/daemon.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"
#include "common/link/health_line.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#define EPOCH_NAME "epoch"
#define CA_NAME "link-ca.crt" /* beside the health socket */
#define SWEEP_MS 20000
#define SWEEP_AGAIN_MS 1500 /* less than a health probe waits: this thread answers it */
#define SWEEP_OLDER_THAN_S 2 /* a session's folder is not locked yet in its first moments */
#define SWEEP_PAUSE_MS 1000
#define SWEEP_SETTLED_MS 4000
#define SWEEP_PATIENCE_MS 3000
#define SWEEP_LONGEST_PAUSE_MS (10 * 60 * 1000)

struct agent {
	const struct agent_options *options;
	char *own_store_url;
	struct link_ca *ca;
	struct spool *spool;
	struct jobs *jobs;
	_Atomic(struct link_client *) links; /* made last: resumed jobs may want to send before */
	struct usage_queries *usage;
	struct process_answers *processes;
	struct observe *observe;
	struct start_watch *starts; /* NULL: this agent cannot sample containers from their start */
	struct shared_tmp shared;
	bool has_shared;
	int signal_fd, health_fd;
	int left_fd;             /* eventfd: a session has left something behind */
	int64_t next_sweep_ms;   /* monotonic; 0: nothing to look for */
	int64_t sweep_pause_ms;
	pid_t sweep_from;        /* where a sweep that ran out of time goes on */
	int sweep_kept;          /* by its parts until now */
};

/* Seams between the parts ----------------------------------------------------------------------------------------- */

static void on_message(void *ctx, uint64_t link, const struct link_msg *m)
{
	struct agent *a = ctx;
	switch (m->type) {
	case LINK_MSG_ORDER:
		jobs_order(a->jobs, &m->u.order);
		break;
	case LINK_MSG_CANCEL:
		jobs_cancel(a->jobs, m->job_id);
		break;
	case LINK_MSG_FORGET:
		jobs_forget(a->jobs, m->job_id);
		break;
	case LINK_MSG_UPLOAD_GRANT:
	case LINK_MSG_UPLOAD_DENIED:
		jobs_upload_answer(a->jobs, m);
		break;
	case LINK_MSG_USAGE_QUERY:
		usage_queries_start(a->usage, link, m);
		break;
	case LINK_MSG_PROCESS_QUERY:
		process_answers_start(a->processes, link, m);
		break;
	case LINK_MSG_OBSERVE:
		observe_set(a->observe, m);
		break;
	case LINK_MSG_AWAIT_STARTS:
		if (a->starts)
			start_watch_set(a->starts, &m->u.await_starts);
		break;
	default:
		break;
	}
}

static bool next_job(void *ctx, uint64_t *version, struct link_job *out)
{
	return jobs_next(((struct agent *)ctx)->jobs, version, out);
}

static int on_epoch(void *ctx, int64_t epoch)
{
	struct err e = ERR_INIT;
	if (spool_set_number(((struct agent *)ctx)->spool, EPOCH_NAME, epoch, &e) == 0)
		return 0;
	LOG_ERROR("agent", "the spool cannot be written", LOG_S("error", e.kind ? e.message : ""));
	return -1;
}

static void on_leader(void *ctx, bool linked)
{
	if (linked)
		jobs_leader_linked(((struct agent *)ctx)->jobs);
}

static void jobs_changed(void *ctx)
{
	struct link_client *links = ((struct agent *)ctx)->links;
	if (links)
		link_client_jobs_changed(links);
}

static void left_behind(void *ctx)
{
	if (eventfd_write(((struct agent *)ctx)->left_fd, 1) < 0) {
		/* it is readable already */
	}
}

static int send_to_leader(void *ctx, const struct link_msg *m, struct err *e)
{
	struct link_client *links = ((struct agent *)ctx)->links;
	return links ? link_client_send(links, 0, m, e) : err_set(e, ERR_RETRY, 0, "no link yet");
}

static int send_to_link(void *ctx, uint64_t link, const struct link_msg *m, struct err *e)
{
	struct link_client *links = ((struct agent *)ctx)->links;
	return links ? link_client_send(links, link, m, e) : err_set(e, ERR_RETRY, 0, "no link yet");
}

/* Start ----------------------------------------------------------------------------------------------------------- */

/* Whether the kernel lets this process have perf events at all; tried on itself. */
static bool can_use_perf(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof attr,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	AUTO_FD int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd >= 0;
}

static void on_started(void *ctx, const char *pod_uid, const char *container_id)
{
	struct link_msg m = {.type = LINK_MSG_STARTED};
	struct err e = ERR_INIT;
	snprintf(m.u.started.pod_uid, sizeof m.u.started.pod_uid, "%s", pod_uid);
	snprintf(m.u.started.container_id, sizeof m.u.started.container_id, "%s", container_id);
	if (send_to_leader(ctx, &m, &e) < 0)
		LOG_WARN("agent", "the leader was not told that a container has started", LOG_S("pod", pod_uid), LOG_S("error", e.message));
}

struct sweeping {
	struct target target; /* a copy */
	int64_t older_than_s;
	int removed, kept;
};

static void sweeping_free(void *ctx)
{
	struct sweeping *s = ctx;
	target_fini(&s->target);
	free(s);
}

static void run_sweep(struct apart *apart, void *ctx)
{
	struct sweeping *s = ctx;
	(void)apart;
	s->removed = stage_sweep(&s->target, s->older_than_s, &s->kept);
}

/* In one process's folder, which may never answer. */
static void sweep_target(const struct target *t, int64_t older_than_s, int *removed, int *kept)
{
	char place[APART_PLACE_SIZE];
	struct sweeping *s = mem_alloc(sizeof *s);
	target_copy(&s->target, t);
	s->older_than_s = older_than_s;
	apart_place(t, place);
	if (apart_run(place, run_sweep, s, sweeping_free, SWEEP_PATIENCE_MS, NULL) < 0) {
		++*kept;
		return;
	}
	*removed += s->removed;
	*kept += s->kept;
	sweeping_free(s);
}

/* What a killed agent, or a session whose process was frozen at its end, has left in processes' folders. Their library ends
 * itself with its channel. Returns whether all processes were looked at; the next call goes on where this one had to stop. */
static bool sweep_stages(struct agent *a, int64_t older_than_s, int64_t limit_ms)
{
	const struct agent_options *o = a->options;
	struct discover_options d = {
		.mode = o->mode,
		.proc_root = o->proc_root,
		.shared_parent = o->shared_parent,
		.from_pid = a->sweep_from,
		.deadline_ms = clock_mono_ms() + limit_ms,
	};
	struct target_list list = {0};
	struct err e = ERR_INIT;
	if (discover_targets(&d, &list, &e) < 0) {
		LOG_WARN("agent", "cannot look for what an earlier session left behind", LOG_S("error", e.kind ? e.message : ""));
		a->sweep_kept++;
	}
	int removed = 0;
	for (size_t i = 0; i < list.count; i++)
		sweep_target(&list.items[i], older_than_s, &removed, &a->sweep_kept);
	a->sweep_from = list.next_pid;
	target_list_fini(&list);
	if (removed)
		LOG_WARN("agent", "removed what an earlier session left behind", LOG_I("folders", removed));
	return a->sweep_from == 0;
}

static void sweep_soon(struct agent *a)
{
	a->sweep_pause_ms = SWEEP_PAUSE_MS;
	a->next_sweep_ms = clock_mono_ms() + a->sweep_pause_ms;
}

static int start_ca(struct agent *a, struct err *e)
{
	const struct agent_options *o = a->options;
	const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT"), *slash = strrchr(o->health_socket, '/');
	AUTO_FREE char *copy = mem_printf("%.*s" CA_NAME, slash ? (int)(slash + 1 - o->health_socket) : 0, o->health_socket);
	AUTO_FREE char *server = !host || !port ? NULL : mem_printf(strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
	a->ca = link_ca_new(&(struct link_ca_config){o->ca_file, o->ca_config_map, server, o->api_access, copy}, e);
	return a->ca ? 0 : -1;
}

static int start_jobs(struct agent *a, struct err *e)
{
	const struct agent_options *o = a->options;
	a->spool = spool_new(o->spool, o->spool_quota_mib * 1024 * 1024, e);
	if (!a->spool)
		return -1;
	a->own_store_url = mem_printf("https://%s:%d/", o->host, o->port);
	if (o->mode == AGENT_MODE_HOST_PID && can_use_perf()) {
		struct err why = ERR_INIT;
		a->starts = start_watch_new(&(struct start_watch_config){o->proc_root, a, on_started}, &why);
	}
	struct jobs_config config = {
		.mode = o->mode,
		.proc_root = o->proc_root,
		.shared_parent = o->shared_parent,
		.library_path = o->library,
		.node_name = o->node_name,
		.upload_ca_file = o->upload_ca_file,
		.own_store_url = a->own_store_url,
		.own_store_ca = a->ca,
		.spool = a->spool,
		.max_running = (size_t)o->max_sessions,
		.ctx = a,
		.changed = jobs_changed,
		.send = send_to_leader,
		.left_behind = left_behind,
		.starts = a->starts,
	};
	a->jobs = jobs_new(&config);
	a->usage = usage_queries_new(o->proc_root, send_to_link, a);
	struct process_answers_config processes = {
		.mode = o->mode, .proc_root = o->proc_root, .shared_parent = o->shared_parent, .send = send_to_link, .ctx = a};
	a->processes = process_answers_new(&processes);
	a->observe = observe_new(&(struct observe_config){.proc_root = o->proc_root, .ctx = a, .send = send_to_leader});
	return 0;
}

static int start_links(struct agent *a, struct err *e)
{
	const struct agent_options *o = a->options;
	struct link_client_config config = {
		.host = o->host,
		.port = o->port,
		.server_name = o->server_name,
		.ca = a->ca,
		.token_file = o->token_file,
		.mode = o->mode == AGENT_MODE_HOST_PID ? "hostPID" : "sharedTmp",
		.perf_events = o->mode == AGENT_MODE_HOST_PID && can_use_perf(),
		.pod_starts = a->starts != NULL,
		.highest_epoch = spool_get_number(a->spool, EPOCH_NAME),
		.refresh_ms = o->refresh_seconds * 1000,
		.timeout_s = (int)o->link_timeout_seconds,
		.ctx = a,
		.on_message = on_message,
		.next_job = next_job,
		.on_epoch = on_epoch,
		.on_leader = on_leader,
	};
	a->links = link_client_new(&config, e);
	return a->links ? 0 : -1;
}

static void add_rule_file(void *context, const char *path, const char *text, size_t length, struct err *e)
{
	(void)context;
	if (e->message[0] || catalogue_add_user(text, length, path, e))
		LOG_WARN("agent", "a rule of your own is left out", LOG_S("error", e->message));
	else
		LOG_INFO("agent", "a rule of your own is in use", LOG_S("file", path));
}

/* A folder that cannot be read is no reason not to profile. */
static void add_rules(const char *folder)
{
	struct err e = ERR_INIT;
	if (folder && catalogue_each_file(folder, add_rule_file, NULL, &e))
		LOG_WARN("agent", "the folder of your own rules cannot be read", LOG_S("error", e.message));
}

static int start_descriptors(struct agent *a, struct err *e)
{
	const struct agent_options *o = a->options;
	a->signal_fd = daemon_signal_fd(e);
	if (a->signal_fd < 0)
		return -1;
	if (fsio_mkdir_p(o->spool, 0700, e) < 0)
		return -1;
	a->health_fd = health_socket_listen(o->health_socket, e);
	if (a->health_fd < 0)
		return -1;
	a->left_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->left_fd < 0)
		return err_set_errno(e, errno, "make an eventfd");
	if (o->mode == AGENT_MODE_SHARED_TMP) {
		a->has_shared = true;
		return shared_tmp_init(&a->shared, o->shared_parent, e);
	}
	return 0;
}

/* Run ------------------------------------------------------------------------------------------------------------- */

static void answer_health(struct agent *a)
{
	struct link_client_status s;
	link_client_get_status(a->links, &s);
	struct observe_status observed;
	observe_get_status(a->observe, &observed);
	AUTO_FREE char *line = mem_printf("ok linked=%zu of=%zu leader=%d epoch=%lld jobs=%zu observed=%zu looks=%llu\n%s%s%s", s.linked, s.addresses,
					  s.leader, (long long)s.highest_epoch, jobs_count(a->jobs), observed.count,
					  (unsigned long long)observed.samples, s.settled ? "" : HEALTH_LINE_BARE, s.why, s.settled ? "" : "\n");
	health_socket_answer(a->health_fd, line);
}

/* After a whole sweep. */
static void plan_next_sweep(struct agent *a, int64_t now_ms)
{
	bool again = a->sweep_kept > 0 || a->sweep_pause_ms < SWEEP_SETTLED_MS;
	a->sweep_kept = 0;
	a->sweep_pause_ms = a->sweep_pause_ms * 4 < SWEEP_LONGEST_PAUSE_MS ? a->sweep_pause_ms * 4 : SWEEP_LONGEST_PAUSE_MS;
	a->next_sweep_ms = again ? now_ms + a->sweep_pause_ms : 0;
}

/* Sweeps when it is time; how long until the next one, as poll wants it. A library whose agent was killed a moment ago, or whose
 * process is frozen, is still mapped and its file stays then; so this is done again until nothing is left, ever more seldom.
 * Sessions of this agent hold a lock on their folders. */
static int sweep_due(struct agent *a)
{
	int64_t now_ms = clock_mono_ms();
	if (a->next_sweep_ms && now_ms >= a->next_sweep_ms) {
		bool whole = sweep_stages(a, SWEEP_OLDER_THAN_S, SWEEP_AGAIN_MS);
		now_ms = clock_mono_ms();
		if (whole)
			plan_next_sweep(a, now_ms);
		else
			a->next_sweep_ms = now_ms + SWEEP_PAUSE_MS;
	}
	if (!a->next_sweep_ms)
		return -1;
	return a->next_sweep_ms > now_ms ? (int)(a->next_sweep_ms - now_ms) : 0;
}

static void wait_for_end(struct agent *a)
{
	struct pollfd fds[] = {
		{.fd = a->signal_fd, .events = POLLIN},
		{.fd = a->health_fd, .events = POLLIN},
		{.fd = a->has_shared ? shared_tmp_fd(&a->shared) : -1, .events = POLLIN},
		{.fd = a->left_fd, .events = POLLIN},
	};
	for (;;) {
		if (poll(fds, 4, sweep_due(a)) < 0 && errno != EINTR)
			return;
		if (fds[0].revents)
			return;
		if (fds[1].revents)
			answer_health(a);
		if (fds[2].revents)
			shared_tmp_step(&a->shared);
		eventfd_t count;
		if (fds[3].revents && eventfd_read(a->left_fd, &count) == 0)
			sweep_soon(a);
	}
}

static void agent_stop(struct agent *a)
{
	/* The jobs' threads send over the links, the links' thread gives orders to the jobs: first no thread of the former,
	 * then none of the latter, then the memory of both. */
	if (a->jobs)
		jobs_stop(a->jobs);
	if (a->usage)
		usage_queries_stop(a->usage);
	if (a->processes)
		process_answers_stop(a->processes);
	if (a->observe)
		observe_stop(a->observe);
	start_watch_free(a->starts);
	link_client_free(a->links);
	observe_free(a->observe);
	usage_queries_free(a->usage);
	process_answers_free(a->processes);
	jobs_free(a->jobs);
	link_ca_free(a->ca);
	spool_free(a->spool);
	if (a->has_shared)
		shared_tmp_fini(&a->shared);
	if (a->health_fd >= 0)
		unlink(a->options->health_socket);
	cleanup_fd(&a->signal_fd);
	cleanup_fd(&a->health_fd);
	cleanup_fd(&a->left_fd);
	free(a->own_store_url);
}

int agent_prepare(const struct agent_options *o, struct err *e)
{
	return shared_tmp_make(o->shared_parent, e);
}

int agent_run(const struct agent_options *o, struct err *e)
{
	struct agent a = {.options = o, .signal_fd = -1, .health_fd = -1, .left_fd = -1};
	int rc = start_descriptors(&a, e);
	if (rc == 0) {
		sweep_stages(&a, 0, SWEEP_MS); /* no session runs yet: whatever is there was left behind */
		sweep_soon(&a);
	}
	if (rc == 0)
		rc = start_ca(&a, e);
	add_rules(o->rules);
	if (rc == 0)
		rc = start_jobs(&a, e);
	if (rc == 0)
		rc = start_links(&a, e);
	if (rc == 0) {
		LOG_INFO("agent", "ready for orders", LOG_S("controller", o->controller));
		wait_for_end(&a);
		LOG_INFO("agent", "stopping: sessions end early and keep their reports");
	}
	agent_stop(&a);
	return rc;
}
