/* Pauses for tests, as the library tells of them: stops with their collections and stacks, collected into a capture. */
#ifndef DRDOTNET_MAKE_PAUSES_H
#define DRDOTNET_MAKE_PAUSES_H

#include "agent/profilers/pauses/pause_collect.h"
#include "common/base/mem.h"

#include <stdio.h>

#define MS 1000000
#define START_NS (100LL * 1000 * MS)

/* building -------------------------------------------------------------------------------------------------------------------- */

static const struct resolved_function functions[] = {
	{.module = "System.Private.CoreLib.dll", .type = "System.GC", .method = "Collect"},
	{.module = "Shop.dll", .type = "Shop.Cache", .method = "Trim"},
	{.module = "Shop.dll", .type = "Shop.Native", .method = "Sit"},
};
static struct pause_frames *more_frames; /* come while names are asked for */

/* An address is the function's number + 1; 0 and others have no name. */
static inline int resolve(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out)
{
	(void)ctx;
	for (size_t i = 0; i < count; i++)
		out[i] = ips[i] >= 1 && ips[i] <= 3 ? &functions[ips[i] - 1] : NULL;
	if (more_frames) {
		GROW(more_frames->stops, more_frames->stop_count, more_frames->stop_cap);
		more_frames->stops[more_frames->stop_count++] = (struct channel_stop){.number = 99, .start_ns = START_NS + 900 * MS,
			.stopped_ns = START_NS + 900 * MS, .resume_ns = START_NS + 901 * MS, .end_ns = START_NS + 901 * MS};
		more_frames = NULL;
	}
	return 0;
}

static inline void thread_name(void *ctx, uint32_t tid, char *out, size_t size)
{
	(void)ctx;
	snprintf(out, size, tid == 7 ? "stubborn" : "");
}

static inline struct channel_stop stop(uint64_t number, int64_t at_ms, int64_t suspend_ns, int64_t stopped_ns)
{
	uint64_t start_ns = (uint64_t)(START_NS + at_ms * MS);
	return (struct channel_stop){
		.number = number,
		.start_ns = start_ns,
		.stopped_ns = start_ns + (uint64_t)suspend_ns,
		.resume_ns = start_ns + (uint64_t)(suspend_ns + stopped_ns),
		.end_ns = start_ns + (uint64_t)(suspend_ns + stopped_ns) + 5000,
		.tid = 1,
		.reason = 1,
	};
}

static inline void collect_in(struct channel_stop *s, uint8_t generation, uint8_t flags, uint8_t reason, uint8_t type)
{
	s->collections[s->collection_count++] = (struct channel_stop_collection){
		.start_ns = s->stopped_ns, .end_ns = flags & CHANNEL_GC_FINISHED ? s->resume_ns : 0, .generation = generation, .flags = flags,
		.reason = reason, .type = type};
}

static inline void put_stop(struct pause_frames *f, struct channel_stop s)
{
	GROW(f->stops, f->stop_count, f->stop_cap);
	f->stops[f->stop_count++] = s;
}

static inline void put_stack(struct pause_frames *f, uint64_t number, uint16_t kind, uint32_t tid, uint64_t a, uint64_t b)
{
	GROW(f->stacks, f->stack_count, f->stack_cap);
	f->stacks[f->stack_count++] = (struct channel_stop_stack){.number = number, .kind = kind, .tid = tid, .depth = 3, .ips = {a, 0, b}};
}

struct made {
	struct pause_capture capture;
	struct pause_frames frames;
	struct pause_collect *collect;
};

static inline void begin(struct made *m)
{
	*m = (struct made){.capture.throttled_periods = -1, .capture.periods = -1, .capture.throttled_ns = -1};
	m->capture.facts.duration_ns = 10LL * 1000 * MS;
	m->capture.facts.run_delay_ns = m->capture.facts.node_pressure_ns = m->capture.facts.throttled_ns = m->capture.process_cpu_ns = -1;
	m->capture.memory_bytes = m->capture.memory_limit_bytes = m->capture.cpu_limit_millicores = m->capture.node_cpus = m->capture.process_bytes = -1;
	gc_settings_init(&m->capture.gc);
	struct pause_collect_options o = {.capture = &m->capture, .started_ns = START_NS, .resolve = resolve, .thread_name = thread_name};
	m->collect = pause_collect_new(&o);
}

static inline void finish(struct made *m)
{
	pause_collect_take(m->collect, &m->frames);
	pause_collect_finish(m->collect, &m->frames);
	pause_collect_free(m->collect);
	pause_frames_fini(&m->frames);
}

static inline void put_collection(struct made *m, uint64_t number, uint8_t generation, int64_t ns, uint8_t flags, uint8_t reason, bool brief)
{
	struct channel_stop s = stop(number, (int64_t)number, 0, ns);
	collect_in(&s, generation, (uint8_t)(flags | CHANNEL_GC_FINISHED), reason, 0);
	s.flags = brief ? CHANNEL_STOP_BRIEF : 0;
	put_stop(&m->frames, s);
}

/* 40 collections of generation 0, one in four looked at, half of those for large objects; 3 of generation 1, none looked at; 10 asked for, 5 of
 * them looked at, one of these without a stack. */
static inline void make_sample(struct made *m)
{
	const uint8_t detailed = CHANNEL_GC_DETAILED, induced = CHANNEL_GC_INDUCED;
	uint64_t number = 0;

	begin(m);
	m->frames.state.flags = CHANNEL_STOPS_EVENTS;
	for (unsigned i = 0; i < 40; i++)
		put_collection(m, ++number, 0, i % 4 ? 2 * MS : MS, i % 4 ? 0 : detailed, i % 8 ? 0 : 4, i % 4);
	for (unsigned i = 0; i < 3; i++)
		put_collection(m, ++number, 1, MS, i ? 0 : detailed, 0, true); /* one was told by chance */
	for (unsigned i = 0; i < 10; i++) {
		if (i % 2 == 0 && i)
			put_stack(&m->frames, number + 1, CHANNEL_STACK_INDUCER, 1, 1, 2);
		put_collection(m, ++number, 2, MS, (uint8_t)(i % 2 ? induced : detailed | induced), 1, i % 2);
	}
	finish(m);
}

#endif
