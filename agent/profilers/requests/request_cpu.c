#include "agent/profilers/requests/request_cpu.h"

#include "common/base/clock.h"

#define FREQUENCY_HERTZ 99

static void on_cpu_sample(void *ctx, const struct perf_sample *x)
{
	cpu_collect_perf_sample(ctx, x);
}

static void on_cpu_comm(void *ctx, uint32_t tid, const char *comm)
{
	cpu_collect_thread_name(ctx, tid, comm);
}

void request_cpu_open(struct request_cpu *c, struct attached_session *s, struct request_capture *capture)
{
	const struct target *t = s->q->target;
	const struct perf_sampler_options options = {.pid = t->pid, .proc_fd = s->proc_fd, .frequency_hertz = FREQUENCY_HERTZ, .stacks = true};
	if (s->proc_fd < 0) {
		err_set(&c->why, ERR_DENIED, 0, "Without the host's pid namespace the kernel lets the agent see no other process.");
	} else {
		c->perf = perf_sampler_open(&options, &c->why);
		c->pump = c->perf ? perf_pump_start(c->perf, &c->why) : NULL;
	}
	if (!c->pump) {
		perf_sampler_close(c->perf);
		c->perf = NULL;
	}
	capture->has_cpu = c->perf != NULL;
	capture->cpu_started_ns = c->perf ? perf_sampler_started_ns(c->perf) : clock_mono_ns();
	if (!c->perf)
		return;
	capture->cpu.frequency_hertz = FREQUENCY_HERTZ;
	capture->cpu.method = perf_sampler_way(c->perf) == PERF_WAY_CPU ? "perf-cpu" : "perf-thread";
	const struct cpu_collect_options collect = {
		.capture = &capture->cpu,
		.proc_fd = s->proc_fd,
		.same_ids = t->pid == t->inner_pid,
		.started_ns = capture->cpu_started_ns,
		.max_depth = perf_sampler_max_depth(c->perf),
		.code = attached_session_ask_code,
		.code_ctx = s,
		.il = attached_session_ask_il,
		.il_ctx = s,
	};
	c->collect = cpu_collect_new(&collect);
	cpu_collect_begin(c->collect);
}

void request_cpu_take(struct request_cpu *c, struct attached_session *s)
{
	if (!c->pump)
		return;
	perf_pump_take(c->pump, on_cpu_sample, on_cpu_comm, c->collect);
	if (cpu_collect_wants_flush(c->collect))
		cpu_collect_flush(c->collect, attached_session_resolve, s);
}

static void fetch_collections(struct attached_session *s, struct request_capture *capture)
{
	const struct channel_collection *list;
	size_t count;
	if (attached_session_collections(s, &list, &count) == 0)
		capture_set_collections(&capture->cpu, list, count, capture->cpu_started_ns);
}

void request_cpu_tick(struct request_cpu *c, struct attached_session *s, struct request_capture *capture, bool last)
{
	request_cpu_take(c, s);
	if (c->collect && (last || attached_session_may_ask(s)))
		cpu_collect_flush(c->collect, attached_session_resolve, s);
	fetch_collections(s, capture);
	if (c->collect && last)
		cpu_collect_finish(c->collect);
}

void request_cpu_stop(struct request_cpu *c)
{
	if (!c->perf)
		return;
	perf_sampler_stop(c->perf);
	perf_pump_stop(c->pump);
}

void request_cpu_close(struct request_cpu *c, struct attached_session *s, struct cpu_capture *capture)
{
	if (c->perf) {
		perf_pump_stop(c->pump);
		s->helper_cpu_ns += perf_pump_cpu_ns(c->pump);
		limits_note_stall(&s->facts.limits, perf_pump_stalled_ns(c->pump));
		capture->lost_samples = (int64_t)perf_sampler_stats(c->perf)->lost;
		capture->dropped += (int64_t)(perf_sampler_stats(c->perf)->malformed + perf_pump_dropped(c->pump));
	}
	perf_pump_free(c->pump);
	perf_sampler_close(c->perf);
	cpu_collect_free(c->collect);
	c->pump = NULL;
	c->perf = NULL;
	c->collect = NULL;
}
