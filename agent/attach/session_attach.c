#include "agent/attach/session_attach.h"

#include "agent/attach/stage_sweep.h"
#include "agent/diag/diag_env.h"
#include "agent/diag/diag_ipc.h"
#include "agent/target/target_fs.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/step.h"
#include "common/proto/channel.h"

#include <string.h>

#define SOCKET_NAME "c"
#define ATTACH_TIMEOUT_MS 5000
#define OTHER_SESSION_MS 6000   /* the runtime's slowest way out takes 5 s */
#define OTHER_SESSION_POLL_MS 20
#define UNLOADING_MS 100        /* from a library's last word to the runtime's forgetting it: less than a millisecond as a rule */
#define START_POLL_MS 10
#define READY_TIMEOUT_MS 3000   /* at once as a rule */
#define DETACH_TIMEOUT_MS 3000  /* 0.3-0.4 s as a rule */
#define UNMAP_TIMEOUT_MS 6000   /* the runtime's slowest way out takes 5 s */
#define UNMAP_POLL_MS 3
#define STALLED_MS 3000         /* no wait of an agent that runs ends so late after its deadline */
#define STOPPED_PATIENCE_MS 500 /* for a process that cannot run now: it may go on at once */

/* `library`: its path in the process, or the name of one that is loaded there. */
static int ask_for_library(struct session_attach *a, const struct target *t, const char *library, int64_t deadline_ms, struct err *e)
{
	uint8_t data[512];
	AUTO_FREE char *socket_inner = mem_printf("%s/%s", a->stage.dir_inner, SOCKET_NAME);
	ssize_t len = profiler_channel_client_data(a->channel, socket_inner, data, sizeof data, e);
	if (len < 0)
		return -1;
	AUTO_FD int fd = diag_ipc_connect_in(a->stage.tmp_fd, t, deadline_ms, e);
	if (fd < 0)
		return -1;
	STEP("attach-connected");
	a->asked = true;
	return diag_ipc_attach(fd, profiler_channel_clsid(a->channel), library, data, (size_t)len, ATTACH_TIMEOUT_MS, deadline_ms, e);
}

/* Whether an earlier session may have left it there. Where nothing is seen of the process, the runtime has to be asked. */
static bool may_be_loaded(const struct session_attach *a, const struct target *t)
{
	return a->stage.is_named && (t->mode != AGENT_MODE_HOST_PID || stage_library_mapped(t, a->stage.library_name));
}

/* A copy that is loaded serves again: the process gets no second one. One that does not answer is left alone, and the file that is staged is loaded. */
static int ask_attach_once(struct session_attach *a, const struct target *t, int64_t deadline_ms, struct err *e)
{
	struct err why = ERR_INIT;
	if (may_be_loaded(a, t) && ask_for_library(a, t, a->stage.library_name, deadline_ms, &why) == 0)
		return 0;
	if (why.kind == ERR_TIMEOUT) {
		*e = why;
		return -1;
	}
	if (why.kind)
		LOG_DEBUG("session", "no library that is loaded serves again", LOG_S("why", why.message));
	return ask_for_library(a, t, a->stage.library_inner, deadline_ms, e);
}

/* A runtime that has just been let go takes no profiler for some moments. */
static int ask_attach(struct session_attach *a, const struct target *t, int64_t deadline_ms, struct err *e)
{
	struct err inner = ERR_INIT;

	while (ask_attach_once(a, t, deadline_ms, &inner) < 0) {
		if (!t->held || inner.reason != REASON_ProcessSuspended || clock_mono_ms() >= deadline_ms || !target_alive(t)) {
			*e = inner;
			return -1;
		}
		clock_sleep_until_ms(clock_mono_ms() + START_POLL_MS);
	}
	return 0;
}

/* Where a profiler started with the process (an APM), the session stands beside it: an attach as the main one would be refused, and a refused
 * library stays mapped; one that is for notifications only would hear nothing more after the session. Everywhere else each session attaches
 * as the main one. For when a main profiler detaches, runtimes count one for-notifications-only profiler less than there are, do not find the
 * next one of those, and end the process when it asks to be detached (docs/decisions/profiler-library.md). So it is always the one or always
 * the other, for the whole life of a process. */
static void choose_place(struct session_attach *a, const struct buf *variables)
{
	profiler_channel_set_notification_only(a->channel, diag_env_profiled(buf_str(variables), variables->len));
}

/* Waits until a library of another session has left. Until the runtime has said goodbye to it, it holds its own file, which is seen where the
 * process is, and locked, which is seen where the file is still there. */
static bool await_leaving(const struct target *t, int tmp_fd, int64_t until_ms)
{
	AUTO_FD int library_fd = stage_find_library(t, tmp_fd);
	bool was_there = false;
	while (stage_library_serves(t) || (library_fd >= 0 && !stage_library_gone(library_fd))) {
		was_there = true;
		if (clock_mono_ms() >= until_ms)
			return false;
		clock_sleep_until_ms(clock_mono_ms() + OTHER_SESSION_POLL_MS);
	}
	if (was_there)
		clock_sleep_until_ms(clock_mono_ms() + UNLOADING_MS);
	return true;
}

/* One that another agent has left behind ends within moments; another's session under way may not be joined, for the same reason. */
static int await_other_session(const struct target *t, int tmp_fd, int64_t deadline_ms, struct err *e)
{
	int64_t until_ms = clock_mono_ms() + OTHER_SESSION_MS;
	if (await_leaving(t, tmp_fd, until_ms < deadline_ms ? until_ms : deadline_ms))
		return 0;
	return err_set_reason(e, ERR_TIMEOUT, REASON_ProfilerAlreadyActive,
			      "another session (of another agent, or of the local command) is under way in the process: start this one again when that "
			      "has ended");
}

/* Where main profilers have come and gone before the present one, the runtime does not know of this one (see above): it answers nothing,
 * and could not be detached. */
static int await_ready_beside(struct session_attach *a, struct err *e)
{
	struct err inner = ERR_INIT;
	if (profiler_channel_await_ready(a->channel, clock_mono_ms() + READY_TIMEOUT_MS, &inner) == 0)
		return 0;
	if (inner.kind != ERR_TIMEOUT) {
		*e = inner;
		return -1;
	}
	return err_set_reason(e, ERR_DENIED, REASON_AttachFailed,
			      "the runtime does not finish an attach beside its other profiler (one attached and left before): the library stays in "
			      "the process without a thread; restart the process to profile it");
}

/* The folder that the process listens in: who could put a socket there may have a folder of ours there too. With it the agent's
 * rights are used for nothing that the process, by its word for the folder, could not do itself. What the runtime answers there of its
 * environment goes into *variables. */
static int open_tmp_for_attach(const struct target *t, struct buf *variables, int64_t deadline_ms, struct err *e)
{
	AUTO_FD int tmp = target_open_tmp(t, e);
	AUTO_FD int port = tmp < 0 || await_other_session(t, tmp, deadline_ms, e) < 0 ? -1 : diag_ipc_connect_in(tmp, t, deadline_ms, e);
	if (port < 0 || diag_ipc_environment(port, variables, deadline_ms, e) < 0)
		return -1;
	const char *setting = diag_env_disabled(buf_str(variables), variables->len);
	if (setting)
		return err_set_reason(e, ERR_INVALID, REASON_DiagnosticsDisabled, "%s=0 switches attaching a profiler off", setting);
	return steal_fd(&tmp);
}

static void tell_channel(const struct session_attach *a, struct profiler_channel *ch)
{
	if (a->on_channel)
		a->on_channel(a->ctx, ch);
}

int session_attach_begin(struct session_attach *a, const struct target *t, const struct session_attach_options *o, struct err *e)
{
	*a = (struct session_attach){.stage = {.tmp_fd = -1, .dir_fd = -1}, .on_channel = o->on_channel, .ctx = o->ctx};
	gc_settings_init(&a->gc);
	struct err inner = ERR_INIT;
	AUTO_BUF struct buf variables = {0};
	int tmp = open_tmp_for_attach(t, &variables, o->deadline_ms, &inner);
	if (tmp < 0 || stage_prepare_in_take(t, tmp, o->library_path, &a->stage, &inner) < 0)
		goto failed;
	a->library_bytes = a->stage.mapped_bytes;
	STEP("staged");
	a->channel = profiler_channel_listen(a->stage.dir_fd, SOCKET_NAME, &inner);
	if (!a->channel) {
		inner.reason = REASON_NoStagingPlace;
		goto failed;
	}
	profiler_channel_set_features(a->channel, o->features);
	profiler_channel_set_lease(a->channel, SESSION_LEASE_MS);
	choose_place(a, &variables);
	gc_settings_environment(&a->gc, buf_str(&variables), variables.len);
	profiler_channel_set_pause_budget(a->channel, (uint32_t)(o->pause_budget_ms * 1000));
	if (ask_attach(a, t, o->deadline_ms, &inner) < 0)
		goto failed;
	STEP("attached");
	if (profiler_channel_accept(a->channel, t->pid, o->deadline_ms, &inner) < 0)
		goto failed;
	tell_channel(a, a->channel);
	STEP("connected");
	if (profiler_channel_notification_only(a->channel) && await_ready_beside(a, &inner) < 0)
		goto failed;
	return 0;
failed:
	if (clock_mono_ms() >= o->deadline_ms + STALLED_MS)
		err_set_reason(&inner, ERR_RETRY, REASON_AgentStalled, "the agent could not run for some time while its session began");
	if (!inner.reason)
		inner.reason = target_alive(t) ? REASON_AttachFailed : REASON_ProcessExited;
	if (e)
		*e = inner;
	return -1;
}

/* musl unmaps no library: there it is out of the process when it has let go of its own file. */
static bool stays_unused(const struct target *t)
{
	return target_has_musl(t) && t->mode == AGENT_MODE_HOST_PID && !stage_library_serves(t);
}

/* Waits until the library is out of the process, as far as can be seen. */
static int wait_unmapped(const struct session_attach *a, const struct target *t, uint32_t *left, struct err *e)
{
	int64_t began_ms = clock_mono_ms(), ran_ms = began_ms; /* when it was seen last that the process can run */
	if (target_has_musl(t) && t->mode != AGENT_MODE_HOST_PID)
		*left |= CHANNEL_LEFT_UNUSED; /* which is not seen */
	while (target_alive(t) && stage_library_mapped(t, a->stage.library_name)) {
		int64_t now_ms = clock_mono_ms();
		if (stays_unused(t)) {
			*left |= CHANNEL_LEFT_UNUSED;
			return 0;
		}
		if (now_ms - ran_ms >= STOPPED_PATIENCE_MS / 2 && !target_stopped(t))
			ran_ms = now_ms;
		if (now_ms - ran_ms >= STOPPED_PATIENCE_MS)
			return err_set_reason(e, ERR_TIMEOUT, REASON_ProcessStopped,
					      "the process is stopped or frozen; the library leaves it when it goes on");
		if (now_ms - began_ms >= UNMAP_TIMEOUT_MS)
			return err_set(e, ERR_TIMEOUT, 0,
				       "the library is still in the process: the runtime, or code of the application that the runtime called for it, has "
				       "not let it go; it leaves by itself as soon as they do");
		clock_sleep_until_ms(now_ms + UNMAP_POLL_MS);
	}
	return 0;
}

static void detach(struct session_attach *a, const struct target *t, struct channel_stats *stats)
{
	struct err why = ERR_INIT;
	if (!a->asked || !a->channel || !target_alive(t))
		return;
	int64_t patience_ms = target_stopped(t) ? STOPPED_PATIENCE_MS : DETACH_TIMEOUT_MS;
	if (profiler_channel_detach(a->channel, stats, clock_mono_ms() + patience_ms, &why) < 0)
		LOG_DEBUG("session", "no orderly detach; closing the channel", LOG_S("why", why.message));
}

int session_attach_end(struct session_attach *a, const struct target *t, struct channel_stats *stats, struct err *e)
{
	STEP("detach");
	tell_channel(a, NULL);
	detach(a, t, stats);
	STEP("detached");
	if (a->channel) {
		profiler_channel_pause(a->channel, &a->pause);
		a->lapsed = profiler_channel_lapsed(a->channel);
	}
	profiler_channel_free(a->channel);
	a->channel = NULL;
	int rc = a->asked && !(stats->left & CHANNEL_LEFT_MAPPED) ? wait_unmapped(a, t, &stats->left, &a->stays) : 0;
	a->asked = false;
	if (rc < 0 && e)
		*e = a->stays;
	STEP("unmapped");
	if (stage_remove(&a->stage, rc == 0 ? e : NULL) < 0)
		rc = -1;
	STEP("unstaged");
	return rc;
}
