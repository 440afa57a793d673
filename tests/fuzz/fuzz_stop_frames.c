/* Frames about the runtime's stops, from a library that says anything: read, collected, analysed, written. */
#include "agent/profilers/pauses/pause_collect.h"
#include "agent/profilers/pauses/pause_report.h"
#include "agent/report/report_file.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_kept(const struct pause_frames *p)
{
	for (size_t i = 0; i < p->stop_count; i++) {
		const struct channel_stop *s = &p->stops[i];
		check(s->start_ns <= s->end_ns && s->end_ns <= INT64_MAX);
		check(!s->stopped_ns || (s->start_ns <= s->stopped_ns && s->stopped_ns <= s->end_ns));
		for (size_t k = 0; k < s->collection_count && k < CHANNEL_STOP_COLLECTIONS; k++)
			check(s->collections[k].generation <= 2);
	}
	for (size_t i = 0; i < p->stack_count; i++)
		check(p->stacks[i].depth <= CHANNEL_MAX_DEPTH);
}

/* Every second address has a name. */
static int resolve(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out)
{
	static const struct resolved_function f = {.module = "Shop.dll", .type = "Shop.Cache", .method = "Tr\x7fim<"};
	(void)ctx;
	for (size_t i = 0; i < count; i++)
		out[i] = ips[i] & 1 ? &f : NULL;
	return 0;
}

static void thread_name(void *ctx, uint32_t tid, char *out, size_t size)
{
	(void)ctx;
	snprintf(out, size, "<\xff%u", tid % 3);
}

static void check_report(const struct pause_capture *c)
{
	static void (*const writers[])(const void *, struct report_file *) = {pause_json_write, pause_summary_write};
	struct pause_analysis a;
	struct pause_diagnosis d;
	struct session_spec spec = {.profiler = PROFILER_RUNTIME_PAUSES};
	struct report_context context = {"", "", "", "", "", "", NULL};
	pause_analysis_run(c, &a);
	pause_diagnosis_make(&a, &d);
	check(strlen(d.text) <= DIAGNOSIS_MAX_BYTES && strncmp(d.text, d.headline, strlen(d.headline)) == 0);
	struct pause_source source = {.analysis = &a, .diagnosis = &d,
		.head = {.facts = &c->facts, .spec = &spec, .context = &context, .headline = d.headline, .text = d.text}};
	for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
		struct report_file f = {.fd = -1};
		buf_init(&f.text, 64u << 20);
		f.json = jsonw_on(&f.text);
		writers[i](&source, &f);
		check(f.text.len > 100 && !memchr(f.text.data, 0x7f, f.text.len) && !memchr(f.text.data, 0xff, f.text.len));
		buf_fini(&f.text);
	}
	pause_diagnosis_fini(&d);
	pause_analysis_fini(&a);
}

static void check_collected(struct pause_frames *p)
{
	struct pause_capture c = {.facts.duration_ns = 1000000, .throttled_periods = -1, .periods = -1, .throttled_ns = -1};
	struct pause_collect_options o = {.capture = &c, .started_ns = 1000, .resolve = resolve, .thread_name = thread_name};
	struct pause_collect *collect = pause_collect_new(&o);
	pause_collect_take(collect, p);
	pause_collect_finish(collect, p);
	pause_collect_free(collect);
	for (size_t i = 0; i < c.pause_count; i++)
		check(c.pauses[i].suspend_ns >= 0 && c.pauses[i].stopped_ns >= 0 && c.pauses[i].kind < c.kind_count);
	check_report(&c);
	pause_capture_fini(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pause_frames p = {0};
	struct channel_frame f;
	size_t used = 0;

	for (size_t at = 0; channel_next(data + at, size - at, &f, &used) == CHANNEL_FRAME; at += used) {
		struct err e = ERR_INIT;
		int r = pause_frames_add(&p, &f, &e);
		check((r < 0) == (e.kind == ERR_PROTOCOL));
	}
	check_kept(&p);
	check_collected(&p);
	pause_frames_fini(&p);
	return 0;
}
