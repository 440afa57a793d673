#include "agent/profilers/exceptions/exception_samples.h"

#include "agent/stacks/cpu_category.h"
#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/step.h"

#include <stdlib.h>
#include <string.h>

#define FREQUENCY_HERTZ 99
#define NATIVE_MAX ((size_t)1 << 20)
#define THROWING_MAX ((size_t)1 << 18)
#define THROWING_FRAMES 5 /* of a throw's stack: the runtime's own, and the one that throws */

static bool is_native(const struct maps *m, uint64_t ip)
{
	const struct map_entry *e = maps_find(m, ip);
	return e && (m->files[e->file].kind == MAP_LIBRARY || m->files[e->file].kind == MAP_KERNEL);
}

void exception_samples_note(struct exception_samples *x, int64_t time_ns, const uint64_t *ips, size_t depth)
{
	size_t i = 0;
	while (i < depth && is_native(&x->maps, ips[i]))
		i++;
	if (i == 0 || i == depth || x->native_count == NATIVE_MAX)
		return;
	GROW(x->native, x->native_count, x->native_cap);
	x->native[x->native_count++] = (struct native_sample){time_ns, ips[i]};
}

void exception_samples_threw(void *samples, const uint64_t *ips, size_t depth)
{
	struct exception_samples *x = samples;
	for (size_t i = 0; x->collect && i < depth && i < THROWING_FRAMES && x->throwing_count < THROWING_MAX; i++) {
		GROW(x->throwing, x->throwing_count, x->throwing_cap);
		x->throwing[x->throwing_count++] = ips[i];
	}
}

static void on_throw_sample(void *ctx, const struct perf_sample *s)
{
	struct exception_samples *x = ctx;
	int64_t since_ns = s->time_ns - perf_sampler_started_ns(x->perf);
	exception_samples_note(x, since_ns > 0 ? since_ns : 0, s->user, s->user_depth);
	cpu_collect_perf_sample(x->collect, s);
}

static void on_throw_comm(void *ctx, uint32_t tid, const char *comm)
{
	cpu_collect_thread_name(((struct exception_samples *)ctx)->collect, tid, comm);
}

void exception_samples_open(struct exception_samples *x, struct attached_session *s)
{
	const struct target *t = s->q->target;
	const struct perf_sampler_options options = {.pid = t->pid, .proc_fd = s->proc_fd, .frequency_hertz = FREQUENCY_HERTZ};
	struct err why = ERR_INIT;
	if (s->proc_fd < 0)
		return;
	STEP("start-perf");
	x->perf = perf_sampler_open(&options, &why);
	x->pump = x->perf ? perf_pump_start(x->perf, &why) : NULL;
	if (!x->pump) {
		LOG_DEBUG("session", "the share of CPU time of throwing will not be sampled", LOG_S("why", why.message));
		perf_sampler_close(x->perf);
		x->perf = NULL;
		return;
	}
	x->capture.frequency_hertz = FREQUENCY_HERTZ;
	maps_init(&x->maps, NULL);
	if (maps_load(&x->maps, s->proc_fd, &why) < 0)
		LOG_DEBUG("session", "native code is not told from managed", LOG_S("why", why.message));
	x->collect = cpu_collect_new(&(struct cpu_collect_options){
		.capture = &x->capture,
		.proc_fd = s->proc_fd,
		.same_ids = t->pid == t->inner_pid,
		.started_ns = perf_sampler_started_ns(x->perf),
		.max_depth = perf_sampler_max_depth(x->perf),
	});
}

static void take_throw_samples(struct exception_samples *x, struct attached_session *s)
{
	perf_pump_take(x->pump, on_throw_sample, on_throw_comm, x);
	if (cpu_collect_wants_flush(x->collect))
		cpu_collect_flush(x->collect, attached_session_resolve, s);
}

void exception_samples_tick(struct exception_samples *x, struct attached_session *s, bool last)
{
	if (!x->collect)
		return;
	take_throw_samples(x, s);
	if (last || attached_session_may_ask(s))
		cpu_collect_flush(x->collect, attached_session_resolve, s);
	if (last)
		cpu_collect_finish(x->collect);
}

void exception_samples_stop(struct exception_samples *x)
{
	if (!x->perf)
		return;
	perf_sampler_stop(x->perf);
	perf_pump_stop(x->pump);
}

static bool is_ours(const struct frame *f)
{
	return f->kind == FRAME_NATIVE && f->module && strncmp(f->module, "libdrdotnet", 11) == 0;
}

static int by_word(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static int by_time(const void *a, const void *b)
{
	const struct native_sample *x = a, *y = b;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* Native code that was called where exceptions are thrown. */
static bool is_below_throw(const struct exception_samples *x, int64_t time_ns)
{
	const struct native_sample key = {.time_ns = time_ns};
	const struct native_sample *at = x->native_count ? bsearch(&key, x->native, x->native_count, sizeof key, by_time) : NULL;
	return at && x->throwing_count && bsearch(&at->ip, x->throwing, x->throwing_count, sizeof at->ip, by_word);
}

static bool has_ours(const struct cpu_capture *c, const uint32_t *frames, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++)
		if (is_ours(&c->frames[frames[i]]))
			return true;
	return false;
}

void exception_samples_count(struct exception_samples *x, struct exception_capture *out)
{
	const struct cpu_capture *c = &x->capture;
	AUTO_FREE enum frame_role *roles = mem_calloc(c->frame_count + 1, sizeof *roles);
	AUTO_FREE enum cpu_layer *layers = mem_calloc(c->frame_count + 1, sizeof *layers);
	for (size_t i = 0; i < c->frame_count; i++) {
		roles[i] = cpu_role_of(&c->frames[i]);
		layers[i] = cpu_layer_of(&c->frames[i]);
	}
	if (x->native_count)
		qsort(x->native, x->native_count, sizeof *x->native, by_time);
	if (x->throwing_count)
		qsort(x->throwing, x->throwing_count, sizeof *x->throwing, by_word);
	for (size_t i = 0; i < c->sample_count; i++) {
		const struct capture_stack *k = &c->stacks[c->samples[i].stack];
		const uint32_t *frames = c->stack_frames + k->first;
		if (has_ours(c, frames, k->depth))
			continue;
		out->cpu_samples++;
		out->unwinding_samples += cpu_stack_category(frames, k->depth, roles, layers) == CATEGORY_EXCEPTIONS ||
					  is_below_throw(x, c->samples[i].time_ns);
	}
}

void exception_samples_close(struct exception_samples *x, struct attached_session *s)
{
	if (x->perf && s) {
		perf_pump_stop(x->pump);
		s->helper_cpu_ns += perf_pump_cpu_ns(x->pump);
		limits_note_stall(&s->facts.limits, perf_pump_stalled_ns(x->pump));
	}
	perf_pump_free(x->pump);
	perf_sampler_close(x->perf);
	cpu_collect_free(x->collect);
	cpu_capture_fini(&x->capture);
	maps_fini(&x->maps);
	free(x->native);
	free(x->throwing);
	*x = (struct exception_samples){0};
}
