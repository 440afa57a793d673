#include "agent/profilers/leak/leak_session.h"

#include "agent/host/cgroup.h"
#include "agent/heap/heap_graph.h"
#include "agent/heap/heap_walk.h"
#include "agent/profilers/leak/leak_plan.h"
#include "agent/profilers/leak/leak_report.h"
#include "agent/profilers/leak/leak_take.h"
#include "agent/host/proc.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/step.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LATER_OBJECTS 20000000 /* so many take some ten seconds: they are looked into when the session's time is over */
#define SOON_NS 1200000000     /* more than from tick to tick */
#define LOOK_MS (10 * 60 * 1000) /* a look into one, with threads that help; some ten seconds on a quiet machine */
#define LATER_MAX 3            /* snapshots of that size lie in files */

struct leak_own {
	struct leak_model model;
	struct {
		struct heap_snapshot *snapshot;
		struct leak_walk is; /* what is known of it already */
	} later[LATER_MAX];          /* to be looked into when the library has left: the last walk, and those of large heaps */
	size_t later_count;
	bool begun, first_known, last_known;
	int64_t walked_ns; /* the newest walk was over */
	struct err lost;   /* why the newest walk that could not be made, or looked into, was not */
};

static struct leak_own *leak_session_own(const struct attached_session *s)
{
	return s->own;
}

static size_t walks_made(const struct leak_own *o)
{
	return o->model.walk_count + o->later_count;
}

/* the process's memory ------------------------------------------------------------------------------------------------ */

static struct memory_range *heap_ranges(const struct heap_snapshot *h)
{
	struct memory_range *ranges = mem_calloc(h->range_count + 1, sizeof *ranges);
	for (size_t i = 0; i < h->range_count; i++)
		ranges[i] = (struct memory_range){h->ranges[i].start, h->ranges[i].length, h->ranges[i].generation == HEAP_GEN_FROZEN};
	return ranges;
}

/* Where it may not be read, the report says so. */
static bool read_account(const struct attached_session *s, const struct heap_snapshot *h, struct memory_account *a)
{
	struct err e = ERR_INIT;
	AUTO_FREE struct memory_range *ranges = heap_ranges(h);
	if (s->proc_fd < 0)
		return false;
	if (memory_account_load(a, s->proc_fd, &e) < 0) {
		LOG_DEBUG("session", "the process's memory map cannot be read", LOG_S("why", e.message));
		return false;
	}
	memory_account_classify(a, ranges, h->range_count);
	return true;
}

/* The first and the newest account are kept. */
static void note_account(struct attached_session *s, const struct heap_snapshot *h, struct leak_walk *w)
{
	struct leak_own *o = leak_session_own(s);
	struct memory_account *a = o->begun ? &o->model.last : &o->model.first;
	memory_account_fini(a);
	memory_account_init(a);
	bool known = read_account(s, h, a);
	*(o->begun ? &o->last_known : &o->first_known) = known;
	w->unmanaged_bytes = known ? (int64_t)memory_account_unmanaged(a) : -1;
}

static int64_t node_free_bytes(void)
{
	char text[4096];
	const char *at;
	long long kb;
	if (fsio_read_small(AT_FDCWD, PROC_ROOT "/meminfo", text, sizeof text) < 0 || !(at = strstr(text, "MemAvailable:")) ||
	    sscanf(at, "MemAvailable: %lld", &kb) != 1 || kb < 0)
		return -1;
	return kb * 1024;
}

static void read_container(const struct attached_session *s, struct leak_model *m, struct leak_walk *w)
{
	struct cgroup_memory c = {-1, -1};
	uint64_t resident, anonymous;
	w->resident_bytes = w->container_bytes = -1;
	struct cgroup_owner group = target_cgroup(s->q->target);
	cgroup_read_memory(PROC_ROOT, &group, &c);
	leak_limit_note(&m->limit, &c, node_free_bytes());
	w->container_bytes = c.usage_bytes;
	if (s->proc_fd >= 0 && memory_account_now(s->proc_fd, &resident, &anonymous) == 0)
		w->resident_bytes = (int64_t)resident;
}

static void read_cpu(const struct attached_session *s, struct leak_walk *w)
{
	struct proc_stat stat;
	int64_t waited_ns = s->delay.begun ? run_delay_since(&s->delay.threads, s->proc_fd) : -1;
	if (waited_ns < 0 || s->proc_fd < 0 || proc_read_stat(s->proc_fd, &stat) < 0)
		return;
	w->waited_ns = waited_ns;
	w->ran_ns = (int64_t)((stat.utime_ticks + stat.stime_ticks) * (uint64_t)(1000000000 / sysconf(_SC_CLK_TCK)));
}

static void note_memory(struct attached_session *s)
{
	struct leak_own *o = leak_session_own(s);
	uint64_t resident, anonymous;
	if (s->proc_fd >= 0 && memory_account_now(s->proc_fd, &resident, &anonymous) == 0)
		leak_curve_add(&o->model.curve, clock_mono_ns(), anonymous);
}

/* walks ---------------------------------------------------------------------------------------------------------------- */

/* From the snapshot to the model's row; the objects are forgotten. */
static int analyze_snapshot(const struct attached_session *s, const struct heap_snapshot *h, const struct leak_walk *w, struct err *e)
{
	struct leak_model *m = &leak_session_own(s)->model;
	const struct heap_graph_options options = {.dirfd = s->q->out_dirfd};
	struct heap_graph *g = h->counts ? NULL : heap_graph_new(h, &options, e);
	int rc = h->counts ? leak_take_counts(m, h, w->at_ns, e) : g ? leak_take(m, g, w->at_ns, e) : -1;
	heap_graph_free(g);
	if (rc == 0) {
		m->walks[m->walk_count - 1].resident_bytes = w->resident_bytes;
		m->walks[m->walk_count - 1].container_bytes = w->container_bytes;
		m->walks[m->walk_count - 1].unmanaged_bytes = w->unmanaged_bytes;
		m->walks[m->walk_count - 1].ran_ns = w->ran_ns;
		m->walks[m->walk_count - 1].waited_ns = w->waited_ns;
	}
	return rc;
}

static int leak_session_walk(struct attached_session *s, bool last, struct err *e)
{
	struct leak_own *o = leak_session_own(s);
	struct heap_snapshot *h = NULL;
	struct leak_walk w = {0};
	STEP("next-walk");
	if (heap_walk_run(s, true, &h, e) < 0)
		return -1;
	w.at_ns = o->walked_ns = clock_mono_ns();
	note_account(s, h, &w);
	if (!o->begun)
		o->model.uptime_ms = proc_uptime_ms(s->proc_fd);
	o->begun = true;
	read_container(s, &o->model, &w);
	read_cpu(s, &w);
	note_memory(s);
	s->samples++;
	if (!s->first_sample_ns)
		s->first_sample_ns = w.at_ns;
	if (last || o->later_count || h->facts.objects > LATER_OBJECTS) {
		o->later[o->later_count].snapshot = h;
		o->later[o->later_count++].is = w;
		return 0;
	}
	attached_session_progress(s, JOB_PROFILING);
	attached_session_wait(s, LOOK_MS);
	int rc = analyze_snapshot(s, h, &w, e);
	heap_snapshot_free(h);
	return rc;
}

/* steps ---------------------------------------------------------------------------------------------------------------- */

/* When the next walk between the ends is due (CLOCK_MONOTONIC); INT64_MAX: none is. */
static int64_t due_ns(const struct attached_session *s)
{
	const struct leak_own *o = leak_session_own(s);
	int64_t left = s->q->spec->walks - (int64_t)walks_made(o);
	if (left <= 1 || walks_made(o) >= LEAK_MAX_WALKS - 1 || o->later_count >= LATER_MAX - 1)
		return INT64_MAX;
	return leak_plan_next_ns(o->walked_ns, attached_session_end_ns(s), (size_t)left);
}

/* To be on time for the next walk. */
static void look_out(struct attached_session *s)
{
	s->eager = due_ns(s) < clock_mono_ns() + SOON_NS;
}

static void note_lost_walk(struct attached_session *s, const char *what, const struct err *e)
{
	leak_session_own(s)->lost = *e;
	attached_session_no_answer(s, what, e);
}

/* One that cannot be made is left out: the next attempt is at the next tick. */
static void walk_between(struct attached_session *s)
{
	struct err e = ERR_INIT;
	if (due_ns(s) > clock_mono_ns() || !attached_session_may_ask(s))
		return;
	if (leak_session_walk(s, false, &e) < 0) {
		note_lost_walk(s, "a heap walk between the first and the last could not be made", &e);
		s->eager = false;
	} else {
		look_out(s);
	}
}

static int leak_session_start(struct attached_session *s, struct err *e)
{
	leak_model_init(&leak_session_own(s)->model);
	leak_session_own(s)->model.limit.bytes = s->facts.memory_limit_bytes;
	if (leak_session_walk(s, false, e) < 0)
		return -1;
	s->counts_from_ns = leak_session_own(s)->walked_ns;
	look_out(s);
	return 0;
}

static void leak_session_tick(struct attached_session *s, bool last)
{
	note_memory(s);
	if (last)
		return;
	look_out(s);
	walk_between(s);
}

/* The last walk. Without it one between must do; with one walk alone nothing can be said. */
static int leak_session_stop(struct attached_session *s, struct err *e)
{
	struct err inner = ERR_INIT;
	if (!attached_session_may_ask(s))
		return 0;
	if (leak_session_walk(s, true, &inner) == 0)
		return 0;
	if (walks_made(leak_session_own(s)) < 2) {
		*e = inner;
		return -1;
	}
	note_lost_walk(s, "the last heap walk could not be made", &inner);
	return 0;
}

static bool leak_session_any(const struct attached_session *s)
{
	return walks_made(leak_session_own(s)) >= 2;
}

/* One that cannot be looked into takes nothing from the others. */
static int look_into_later(struct attached_session *s, struct err *e)
{
	struct leak_own *o = leak_session_own(s);
	for (size_t i = 0; i < o->later_count; i++) {
		struct err inner = ERR_INIT;
		if (analyze_snapshot(s, o->later[i].snapshot, &o->later[i].is, &inner) < 0) {
			LOG_WARN("session", "a heap walk could not be looked into", LOG_S("why", inner.message), LOG_I("pid", s->q->target->pid));
			*e = o->lost = inner;
		}
		heap_snapshot_free(o->later[i].snapshot);
		o->later[i].snapshot = NULL;
	}
	return o->model.walk_count < 2 ? -1 : 0;
}

/* Walks that found no place in the pause budget or the agent's memory are left out, and that is said. */
static void leave_out_walks(struct attached_session *s)
{
	struct leak_own *o = leak_session_own(s);
	struct leak_model *m = &o->model;
	size_t left_out = leak_model_types_only(m) ? leak_model_leave_out_types(m) : 0;
	if (left_out)
		limits_note(&s->facts.limits, "walks", s->q->spec->walks, (int64_t)m->walk_count,
			    "%zu of %lld heap walks only counted objects by type and were left out: the walk with holders did not fit.", left_out,
			    (long long)s->q->spec->walks);
	else if (o->lost.message[0] && (int64_t)m->walk_count < s->q->spec->walks)
		limits_note(&s->facts.limits, "walks", s->q->spec->walks, (int64_t)m->walk_count, "Only %zu of %lld heap walks were made: %s.",
			    m->walk_count, (long long)s->q->spec->walks, o->lost.message);
}

static int leak_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	struct leak_own *o = leak_session_own(s);
	if (look_into_later(s, e) < 0)
		return -1;
	o->model.memory_known = o->first_known && o->last_known;
	leave_out_walks(s);
	if (leak_model_types_only(&o->model))
		leak_model_count_all(&o->model);
	return leak_report_write(&o->model, &s->facts, s->started_ns, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void leak_session_fini(struct attached_session *s)
{
	for (size_t i = 0; i < leak_session_own(s)->later_count; i++)
		heap_snapshot_free(leak_session_own(s)->later[i].snapshot);
	leak_model_fini(&leak_session_own(s)->model);
}

const struct session_profiler leak_session = {
	.name = "MemoryLeak",
	.visits = true,
	.nothing = {REASON_AttachFailed, "the heap was walked once only: there is nothing to compare"},
	.own_size = sizeof(struct leak_own),
	.start = leak_session_start,
	.readable = walk_between,
	.tick = leak_session_tick,
	.stop = leak_session_stop,
	.any = leak_session_any,
	.report = leak_session_report,
	.fini = leak_session_fini,
};
