#include "agent/profilers/allocs/alloc_collect.h"

#include <criterion/criterion.h>

static int no_names(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out)
{
	(void)ctx, (void)ips;
	for (size_t i = 0; i < count; i++)
		out[i] = NULL;
	return 0;
}

static void give(struct allocs_channel *a, uint16_t type, const uint8_t *data, size_t len)
{
	struct err e = ERR_INIT;
	const struct channel_frame f = {type, data, (uint32_t)len};
	cr_assert_eq(allocs_channel_frame(a, &f, &e), 0, "%s", e.message);
}

/* Two sites, of which the second one's stack may lack callers: 5 samples and 3. */
Test(alloc_collect, samples_whose_callers_may_be_missing_are_counted)
{
	struct channel_alloc_site sites[] = {
		{.site = 1, .type = 2, .tid = 3, .depth = 2, .ips = {10, 20}},
		{.site = 2, .type = 2, .tid = 3, .flags = CHANNEL_ALLOC_INCOMPLETE, .depth = 1, .ips = {10}},
	};
	struct channel_alloc_count counts[] = {{1, 5, 500, 0}, {2, 3, 300, 0}};
	struct channel_alloc_round round = {.time_ns = 1000, .covered_ns = 100, .sampled_ns = 100};
	struct alloc_capture capture = {.event = 0};
	struct allocs_channel channel;
	uint8_t data[1024];
	struct wire_writer w;

	allocs_channel_init(&channel, NULL);
	struct alloc_collect *c = alloc_collect_new(&(struct alloc_collect_options){.capture = &capture, .proc_fd = -1});
	wire_writer_init(&w, data, sizeof data);
	channel_put_alloc_site(&w, &sites[0]);
	channel_put_alloc_site(&w, &sites[1]);
	give(&channel, CHANNEL_ALLOCS_SITES, data, w.pos);
	wire_writer_init(&w, data, sizeof data);
	channel_put_alloc_round(&w, &round);
	channel_put_alloc_count(&w, &counts[0]);
	channel_put_alloc_count(&w, &counts[1]);
	give(&channel, CHANNEL_ALLOCS_COUNTS, data, w.pos);
	alloc_collect_take(c, &channel);
	alloc_collect_flush(c, no_names, NULL);
	alloc_collect_finish(c, &channel);
	cr_expect_eq(capture.samples, 8);
	cr_expect_eq(capture.incomplete, 3);
	alloc_collect_free(c);
	allocs_channel_fini(&channel);
	alloc_capture_fini(&capture);
}
