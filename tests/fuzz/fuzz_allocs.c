/* Frames about allocations, from a library that says anything, up to the analysis and the diagnosis. */
#include "agent/profilers/allocs/alloc_collect.h"
#include "agent/profilers/allocs/alloc_diagnosis.h"
#include "agent/report/phrase.h"
#include "agent/report/report.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every other address has a name. */
static int resolve(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out)
{
	static const struct resolved_function named = {.function_id = 1, .module = "Shop.dll", .type = "Shop.Cart", .method = "Total", .params = ""};

	(void)ctx;
	for (size_t i = 0; i < count; i++)
		out[i] = ips[i] & 1 ? &named : NULL;
	return 0;
}

static void analyze(const struct alloc_capture *c)
{
	struct alloc_analysis a;
	struct alloc_diagnosis d;
	uint64_t samples = 0;

	alloc_analysis_run(c, &a);
	alloc_diagnosis_make(&a, &d);
	check(phrase_chars(d.headline) <= HEADLINE_MAX_CHARS);
	check(strncmp(d.text, d.headline, strlen(d.headline)) == 0);
	for (size_t i = 0; i < a.site_count; i++) {
		samples += a.sites[i].estimate.samples;
		check(alloc_estimate_low(&a.sites[i].estimate) <= a.sites[i].estimate.bytes);
		check(a.sites[i].estimate.bytes <= alloc_estimate_high(&a.sites[i].estimate));
	}
	check(samples == a.all.samples);
	alloc_diagnosis_fini(&d);
	alloc_analysis_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct alloc_capture capture = {.stacks.facts.duration_ns = 1000000000};
	struct alloc_collect_options o = {.capture = &capture, .proc_fd = -1};
	struct allocs_channel channel;
	struct channel_frame f;
	size_t used = 0;

	allocs_channel_init(&channel, NULL);
	struct alloc_collect *c = alloc_collect_new(&o);
	for (size_t at = 0; channel_next(data + at, size - at, &f, &used) == CHANNEL_FRAME; at += used) {
		struct err e = ERR_INIT;
		int r = allocs_channel_frame(&channel, &f, &e);
		check((r < 0) == (e.kind == ERR_PROTOCOL));
		alloc_collect_take(c, &channel);
		if (f.len & 1)
			alloc_collect_flush(c, resolve, NULL);
	}
	alloc_collect_flush(c, resolve, NULL);
	alloc_collect_finish(c, &channel);
	alloc_collect_free(c);
	analyze(&capture);
	alloc_capture_fini(&capture);
	allocs_channel_fini(&channel);
	return 0;
}
