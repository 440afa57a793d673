#include "agent/waits/wait_record.h"

#include "common/base/cleanup.h"
#include "agent/waits/wait_pace.h"
#include "common/base/clock.h"

#include <sys/epoll.h>

/* An even number would always meet the same one of threads that take turns. */
static uint64_t period_near(uint64_t period, uint64_t random)
{
	return period > 4 ? (period - period / 4 + random % (period / 2)) | 1 : period;
}

int wait_record_open(struct wait_record *r, struct err *e)
{
	r->period = period_near(r->plan.period, wait_plan_random(&r->random));
	const struct perf_sampler_options options = {.pid = r->pid, .proc_fd = r->proc_fd, .switches = r->period, .stacks = true};
	r->perf = perf_sampler_open(&options, e);
	r->pump = r->perf ? perf_pump_start(r->perf, e) : NULL;
	if (!r->pump) {
		perf_sampler_close(r->perf);
		r->perf = NULL;
		return -1;
	}
	struct epoll_event ready = {.events = EPOLLIN, .data.u32 = 1};
	if (r->epoll_fd >= 0)
		epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, perf_pump_fd(r->pump), &ready); /* without it the records are taken a little later */
	r->opened_ns = perf_sampler_started_ns(r->perf);
	r->max_depth = perf_sampler_max_depth(r->perf);
	r->windows++;
	r->closed = false;
	r->missing = r->taken = 0;
	r->debt_ns = 0;
	r->rated_ns = r->opened_ns;
	r->rated_cpu_ns = wait_pace_cpu_ns(r->pid);
	r->next_ns = r->plan.window_ns < r->plan.cycle_ns ? r->opened_ns + r->plan.window_ns : 0; /* it stays open */
	return 0;
}

/* For what the process did since `rated_ns`. */
static struct wait_plan plan_for(const struct wait_record *r, int64_t now_ns, int64_t cpu_ns)
{
	double seconds = (double)(now_ns - r->rated_ns) / 1e9;
	struct wait_plan p = wait_plan_make((double)r->taken / seconds, (double)(cpu_ns - r->rated_cpu_ns) / seconds, r->duration_ns, false);
	p.looks = true;
	return p;
}

bool wait_record_outgrown(struct wait_record *r, int64_t now_ns, struct wait_plan *out)
{
	if (!r->perf || r->closed || r->next_ns || now_ns <= r->rated_ns)
		return false;
	int64_t cpu_ns = wait_pace_cpu_ns(r->pid);
	r->debt_ns += wait_plan_excess_ns(&r->plan, r->taken, now_ns - r->rated_ns, cpu_ns - r->rated_cpu_ns);
	if (r->debt_ns > WAIT_PLAN_DEBT_NS) {
		*out = plan_for(r, now_ns, cpu_ns);
		return true;
	}
	r->debt_ns = r->debt_ns > 0 ? r->debt_ns : 0;
	r->taken = 0;
	r->rated_ns = now_ns;
	r->rated_cpu_ns = cpu_ns;
	return false;
}

void wait_record_close(struct wait_record *r)
{
	if (!r->perf || r->closed)
		return;
	r->left_group |= perf_sampler_left_group(r->perf);
	perf_sampler_stop(r->perf);
	perf_pump_stop(r->pump);
	int64_t now_ns = clock_mono_ns(), stalled_ns = perf_pump_stalled_ns(r->pump);
	r->covered_ns += now_ns - r->opened_ns - (r->plan.looks ? stalled_ns : 0);
	r->stalled_ns += r->plan.looks ? 0 : stalled_ns;
	r->closed_ns = now_ns;
	r->closed_cpu_ns = wait_pace_cpu_ns(r->pid);
	r->closed = true;
}

void wait_record_drop(struct wait_record *r)
{
	if (!r->perf)
		return;
	wait_record_close(r);
	r->helper_cpu_ns += perf_pump_cpu_ns(r->pump);
	const struct perf_sampler_stats *stats = perf_sampler_stats(r->perf);
	r->lost += stats->lost + stats->malformed + perf_pump_dropped_switches(r->pump);
	r->dropped += stats->lost_stacks + perf_pump_dropped(r->pump);
	bool whole = perf_pump_stalled_ns(r->pump) == 0;
	perf_pump_free(r->pump);
	perf_sampler_close(r->perf);
	r->pump = NULL;
	r->perf = NULL;
	r->next_ns = 0;
	r->cycle_ns += r->cycle_ns ? r->plan.cycle_ns : 0; /* one window in each */
	if (whole && r->plan.window_ns < r->plan.cycle_ns && r->closed_ns - r->opened_ns >= r->plan.window_ns)
		r->plan = plan_for(r, r->closed_ns, r->closed_cpu_ns);
}

/* Where in between records are missing is not known, and what was written meanwhile may lack some, too. */
static void note_missing(struct wait_record *r, struct wait_log *log, uint64_t missing, int64_t until_ns)
{
	bool more = missing > r->missing;
	r->missing = missing;
	if (more || r->was_missing) {
		int64_t from_ns = log->settled_ns < until_ns ? log->settled_ns : until_ns; /* all is settled when a window begins */
		wait_log_add(log, &(struct wait_event){.kind = WAIT_EVENT_LOSS, .time_ns = from_ns});
		wait_log_add(log, &(struct wait_event){.kind = WAIT_EVENT_LOSS, .time_ns = until_ns});
	}
	r->was_missing = more;
}

void wait_record_take(struct wait_record *r, struct wait_log *log, perf_sample_fn *on_sample, perf_comm_fn *on_comm, void *ctx)
{
	AUTO_FREE struct perf_switch *list = NULL;
	int64_t until_ns;
	uint64_t missing;
	if (!r->pump)
		return;
	size_t count = perf_pump_take_switches(r->pump, &list, &until_ns, &missing);
	perf_pump_take(r->pump, on_sample, on_comm, ctx);
	r->taken += missing - r->missing;
	for (size_t i = 0; i < count; i++) {
		const struct perf_switch *x = &list[i];
		r->taken += x->out;
		wait_log_add(log, &(struct wait_event){.kind = x->out ? WAIT_EVENT_OUT : WAIT_EVENT_IN, .tid = x->tid, .time_ns = x->time_ns,
						       .runnable = x->runnable});
	}
	note_missing(r, log, missing, until_ns);
	wait_log_settle(log, until_ns);
}

static void plan_window(struct wait_record *r, int64_t now_ns)
{
	if (!r->cycle_ns)
		r->cycle_ns = now_ns;
	while (r->cycle_ns + r->plan.cycle_ns <= now_ns)
		r->cycle_ns += r->plan.cycle_ns;
	r->next_ns = wait_plan_opens_ns(&r->plan, r->cycle_ns, wait_plan_random(&r->random));
}

bool wait_record_step(struct wait_record *r, int64_t now_ns)
{
	if (r->plan.cycle_ns == 0 || (r->perf && r->plan.window_ns == r->plan.cycle_ns))
		return false;
	if (r->perf)
		return now_ns >= r->next_ns;
	if (!r->next_ns) {
		plan_window(r, now_ns);
		return false;
	}
	if (now_ns >= r->next_ns && wait_record_open(r, NULL) < 0)
		r->next_ns = now_ns + r->plan.cycle_ns;
	return false;
}
