/* Frames about exceptions, from a library that says anything, up to the analysis and the diagnosis. */
#include "agent/profilers/exceptions/exception_collect.h"
#include "agent/profilers/exceptions/exception_diagnosis.h"
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

static void analyze(const struct exception_capture *c)
{
	struct exception_analysis a;
	struct exception_diagnosis d;
	uint64_t counted = 0;

	exception_analysis_run(c, &a);
	exception_diagnosis_make(&a, &d);
	check(phrase_chars(d.headline) <= HEADLINE_MAX_CHARS);
	check(strncmp(d.text, d.headline, strlen(d.headline)) == 0);
	for (size_t i = 0; i < a.site_count; i++)
		counted += a.sites[i].counted;
	check(counted == c->counted);
	exception_diagnosis_fini(&d);
	exception_analysis_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exception_capture capture = {.stacks.facts.duration_ns = 1000000000};
	struct exception_collect_options o = {.capture = &capture, .proc_fd = -1};
	struct exception_channel channel;
	struct channel_frame f;
	size_t used = 0;

	exception_channel_init(&channel, NULL);
	struct exception_collect *c = exception_collect_new(&o);
	for (size_t at = 0; channel_next(data + at, size - at, &f, &used) == CHANNEL_FRAME; at += used) {
		struct err e = ERR_INIT;
		int r = exception_channel_frame(&channel, &f, &e);
		check((r < 0) == (e.kind == ERR_PROTOCOL));
		exception_collect_take(c, &channel);
		if (f.len & 1)
			exception_collect_flush(c, resolve, NULL);
	}
	exception_collect_flush(c, resolve, NULL);
	exception_collect_finish(c, &channel);
	exception_collect_free(c);
	analyze(&capture);
	exception_capture_fini(&capture);
	exception_channel_fini(&channel);
	return 0;
}
