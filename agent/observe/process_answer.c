#include "agent/observe/process_answer.h"

#include "agent/host/proc.h"
#include "agent/observe/query_threads.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILTERED_PODS 4 /* so few are looked for one by one: the others' processes are then not asked */

struct process_answers {
	struct process_answers_config config;
	struct query_threads threads;
};

struct answer {
	struct process_answers *all;
	uint64_t link;
	struct link_process_query query;
};

/* Looking ---------------------------------------------------------------------------------------------------------- */

static const struct link_queried_pod *find_queried_pod(const struct link_process_query *q, const char *pod_uid)
{
	for (size_t i = 0; pod_uid && i < q->count; i++) {
		if (strcmp(q->pods[i].uid, pod_uid) == 0)
			return &q->pods[i];
	}
	return NULL;
}

static void describe_process(const struct target *t, const char *pod_uid, struct link_process *p)
{
	*p = (struct link_process){
		.pid = t->inner_pid,
		.user = t->uid == (uid_t)-1 ? -1 : (int64_t)t->uid,
		.cpu_millicores = -1,
		.memory_bytes = -1,
		.can_profile = t->profilable,
		.entrypoint = mem_strdup(t->entrypoint),
		.runtime_version = mem_strdup(t->runtime_version),
		.reason = t->profilable ? NULL : mem_strdup(t->reason),
		.message = t->profilable ? NULL : mem_strdup(t->message),
	};
	snprintf(p->pod_uid, sizeof p->pod_uid, "%s", pod_uid);
	if (t->container_id && strlen(t->container_id) < sizeof p->container_id)
		strcpy(p->container_id, t->container_id);
	if (t->container_name && strlen(t->container_name) < sizeof p->container)
		strcpy(p->container, t->container_name);
}

struct seen {
	struct target_list targets; /* those that were asked for */
	bool more;
};

static void keep_queried_targets(struct target_list *found, const struct link_process_query *q, struct seen *s)
{
	for (size_t i = 0; i < found->count; i++) {
		struct target *t = &found->items[i];
		if (t->inner_pid <= 0 || !find_queried_pod(q, t->pod_uid))
			continue;
		if (s->targets.count == LINK_MAX_PROCESSES)
			s->more = true;
		else
			target_list_add_take(&s->targets, t);
	}
	s->more = s->more || found->next_pid != 0;
	target_list_fini(found);
}

static void discover(struct discover_options *o, const struct link_process_query *q, struct seen *s)
{
	struct target_list found = {0};
	struct err e = ERR_INIT;
	if (discover_targets(o, &found, &e) < 0) {
		LOG_WARN("processes", "cannot look for all processes", LOG_S("error", e.message));
		s->more = true;
	}
	keep_queried_targets(&found, q, s);
}

static void find_targets(const struct process_answers_config *c, const struct link_process_query *q, struct seen *s)
{
	struct discover_options o = {
		.mode = c->mode,
		.proc_root = c->proc_root,
		.shared_parent = c->shared_parent,
		.query_runtime = true,
		.deadline_ms = clock_mono_ms() + PROCESS_ANSWER_LOOK_MS,
	};
	if (c->mode == AGENT_MODE_HOST_PID && q->count > FILTERED_PODS) {
		discover(&o, q, s);
		return;
	}
	for (size_t i = 0; i < q->count; i++) {
		o.pod_uid = q->pods[i].uid;
		o.pod_namespace = q->pods[i].namespace;
		o.pod_name = q->pods[i].name;
		if (clock_mono_ms() >= o.deadline_ms)
			s->more = true;
		else
			discover(&o, q, s);
	}
}

/* Usage ------------------------------------------------------------------------------------------------------------ */

/* CPU time until now, if it is still the same process; -1: not known. */
static int64_t target_cpu_ticks(const char *proc_root, const struct target *t)
{
	AUTO_FD int fd = t->pid > 0 ? proc_open(proc_root, t->pid) : -1;
	struct proc_stat stat;
	if (fd < 0 || proc_read_stat(fd, &stat) < 0 || stat.start_time != t->start_time)
		return -1;
	return (int64_t)(stat.utime_ticks + stat.stime_ticks);
}

static int64_t target_resident_bytes(const char *proc_root, const struct target *t)
{
	AUTO_FD int fd = t->pid > 0 ? proc_open(proc_root, t->pid) : -1;
	char text[128];
	int64_t pages = -1;
	if (fd < 0 || fsio_read_small(fd, "statm", text, sizeof text) <= 0 || sscanf(text, "%*d %" SCNd64, &pages) != 1 || pages < 0)
		return -1;
	return pages * sysconf(_SC_PAGESIZE);
}

static void measure_targets(const struct process_answers_config *c, const struct seen *s, int64_t window_ms, struct link_process *out)
{
	AUTO_FREE int64_t *before = mem_calloc(s->targets.count + 1, sizeof *before);
	int64_t began_ms = clock_mono_ms();
	for (size_t i = 0; i < s->targets.count; i++) {
		before[i] = window_ms > 0 ? target_cpu_ticks(c->proc_root, &s->targets.items[i]) : -1;
		out[i].memory_bytes = target_resident_bytes(c->proc_root, &s->targets.items[i]);
	}
	if (window_ms > 0 && s->targets.count > 0)
		clock_sleep_until_ms(began_ms + window_ms);
	int64_t took_ms = clock_mono_ms() - began_ms;
	for (size_t i = 0; i < s->targets.count; i++) {
		int64_t now = before[i] < 0 || took_ms <= 0 ? -1 : target_cpu_ticks(c->proc_root, &s->targets.items[i]);
		if (now >= before[i] && now >= 0)
			out[i].cpu_millicores = (now - before[i]) * 1000000 / sysconf(_SC_CLK_TCK) / took_ms;
	}
}

void process_answers_look(const struct process_answers_config *c, const struct link_process_query *q, struct link_processes *out)
{
	struct seen s = {.more = false};
	find_targets(c, q, &s);
	*out = (struct link_processes){.more = s.more, .count = s.targets.count, .items = mem_calloc(s.targets.count + 1, sizeof *out->items)};
	for (size_t i = 0; i < s.targets.count; i++)
		describe_process(&s.targets.items[i], s.targets.items[i].pod_uid, &out->items[i]);
	if (c->mode == AGENT_MODE_HOST_PID)
		measure_targets(c, &s, q->window_ms, out->items);
	target_list_fini(&s.targets);
}

/* Answering -------------------------------------------------------------------------------------------------------- */

struct process_answers *process_answers_new(const struct process_answers_config *c)
{
	struct process_answers *a = mem_alloc(sizeof *a);
	a->config = *c;
	query_threads_init(&a->threads);
	return a;
}

void process_answers_stop(struct process_answers *a)
{
	query_threads_stop(&a->threads);
}

void process_answers_free(struct process_answers *a)
{
	if (!a)
		return;
	query_threads_fini(&a->threads);
	free(a);
}

static void free_answer(struct answer *one)
{
	free(one->query.pods);
	free(one);
}

/* Texts of processes may make an answer larger than a message: then fewer are told of. */
static void send_answer(const struct answer *one, struct link_msg *m)
{
	const struct process_answers_config *c = &one->all->config;
	size_t count = m->u.processes.count;
	struct err e;
	do {
		e = (struct err)ERR_INIT;
		if (c->send(c->ctx, one->link, m, &e) == 0)
			break;
		m->u.processes.count /= 2;
		m->u.processes.more = true;
	} while (e.kind == ERR_INVALID && m->u.processes.count > 0);
	if (e.kind)
		LOG_DEBUG("processes", "nobody takes the answer", LOG_S("error", e.message));
	m->u.processes.count = count;
}

static void *run_answer_thread(void *arg)
{
	struct answer *one = arg;
	struct link_msg m = {.type = LINK_MSG_PROCESSES};
	process_answers_look(&one->all->config, &one->query, &m.u.processes);
	m.u.processes.request_id = one->query.request_id;
	send_answer(one, &m);
	link_msg_fini(&m);
	struct query_threads *threads = &one->all->threads;
	free_answer(one);
	query_threads_leave(threads);
	return NULL;
}

static struct answer *make_answer(struct process_answers *a, uint64_t link, const struct link_process_query *q)
{
	struct answer *one = mem_alloc(sizeof *one);
	one->all = a;
	one->link = link;
	one->query = *q;
	one->query.pods = mem_calloc(q->count ? q->count : 1, sizeof *q->pods);
	memcpy(one->query.pods, q->pods, q->count * sizeof *q->pods);
	return one;
}

void process_answers_start(struct process_answers *a, uint64_t link, const struct link_msg *query)
{
	struct answer *one = make_answer(a, link, &query->u.process_query);
	if (!query_threads_start(&a->threads, "processes", PROCESS_ANSWER_MAX, run_answer_thread, one))
		free_answer(one);
}
