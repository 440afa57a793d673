#include "agent/waits/start_waits.h"

#include "agent/host/proc.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PEERS_MAX 4096

/* How long the main thread has waited for a CPU since its birth. */
static int64_t main_delay_ns(const struct start_waits *w)
{
	char path[48], text[64];
	snprintf(path, sizeof path, "task/%d/schedstat", (int)w->follow.session->q->target->pid);
	AUTO_FD int fd = openat(w->follow.session->proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	return proc_parse_schedstat(text);
}

bool start_waits_begin(struct start_waits *w, struct attached_session *s)
{
	struct err e = ERR_INIT;
	w->begun = true;
	w->over = true;
	w->follow.looks_only = true;
	if (wait_follow_prepare(&w->follow, s, &e) < 0) {
		LOG_INFO("session", "what the start waits for cannot be seen", LOG_S("why", e.message));
		return false;
	}
	w->over = false;
	w->delay_begin_ns = main_delay_ns(w);
	wait_follow_start(&w->follow, clock_mono_ns());
	return true;
}

/* Whether it is a new wait of the thread. */
static bool is_to_ask(struct start_waits *w, const struct look_thread *t)
{
	size_t i = 0;
	if (!t->asleep || !t->stack_ns)
		return false;
	while (i < w->asked_count && w->asked[i].tid != t->tid)
		i++;
	if (i == START_WAITS_THREADS || (i < w->asked_count && w->asked[i].stack_ns == t->stack_ns))
		return false;
	w->asked_count += i == w->asked_count;
	w->asked[i].tid = t->tid;
	w->asked[i].stack_ns = t->stack_ns;
	return true;
}

static void ask_peer(struct start_waits *w, int task_fd, const struct look_thread *t)
{
	struct start_peer p = {.stack_ns = t->stack_ns, .tid = t->tid};
	struct thread_wait now = {.tid = (pid_t)t->tid};
	struct thread_times times;
	if (w->peer_count == PEERS_MAX || thread_wait_call(task_fd, now.tid, &now) < 0 || !now.sp)
		return;
	wait_peer_of(&w->follow.memory, w->follow.session->proc_fd, &now, p.peer);
	if (!p.peer[0] || thread_wait_times(task_fd, now.tid, &times) < 0 || times.ran != t->ran) /* it has gone on meanwhile */
		return;
	GROW(w->peers, w->peer_count, w->peer_cap);
	w->peers[w->peer_count++] = p;
}

static void ask_peers(struct start_waits *w)
{
	const struct wait_looks *l = &w->follow.looks;
	AUTO_FD int task_fd = -1;
	for (size_t i = 0; i < l->count; i++) {
		if (!is_to_ask(w, &l->threads[i]))
			continue;
		if (task_fd < 0)
			task_fd = openat(w->follow.session->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (task_fd < 0)
			return;
		ask_peer(w, task_fd, &l->threads[i]);
	}
}

void start_waits_look(struct start_waits *w)
{
	if (!w->begun || w->over || w->follow.session->stopped)
		return;
	wait_follow_look(&w->follow, clock_mono_ns());
	ask_peers(w);
}

void start_waits_end(struct start_waits *w)
{
	if (!w->begun || w->over)
		return;
	w->over = true;
	int64_t delay_ns = main_delay_ns(w);
	w->ready_ns = delay_ns < 0 || w->delay_begin_ns < 0 ? -1 : delay_ns - w->delay_begin_ns;
	wait_follow_stop(&w->follow);
}

void start_waits_tick(struct start_waits *w, bool last)
{
	if (!w->begun || !w->follow.collect)
		return;
	if (last)
		start_waits_end(w);
	wait_follow_tick(&w->follow, last);
}

void start_waits_take(struct start_waits *w)
{
	if (w->begun && w->follow.collect)
		wait_follow_take(&w->follow);
}

void start_waits_put(const struct start_waits *w, int64_t started_ns, struct capture_start *out)
{
	struct wait_analysis a;
	if (!w->begun || !w->follow.capture.ended_ns)
		return;
	wait_analysis_run(&w->follow.capture, &a);
	out->ready_ns = w->ready_ns;
	start_path_make(&a, (uint32_t)w->follow.session->q->target->pid, started_ns, w->peers, w->peer_count, out);
	wait_analysis_fini(&a);
}

void start_waits_fini(struct start_waits *w)
{
	if (w->begun)
		wait_follow_fini(&w->follow);
	free(w->peers);
}
