/* Frames about requests, from a library that says anything, up to the diagnosis. */
#include "agent/profilers/requests/request_channel.h"
#include "agent/profilers/requests/request_numbers.h"
#include "agent/profilers/requests/request_text.h"
#include "tests/fuzz/fuzz_tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void analyze_requests(const struct request_capture *c)
{
	struct request_analysis a;
	struct request_numbers n;
	struct findings findings;
	AUTO_BUF struct buf text;
	uint64_t requests = 0;

	buf_init(&text, 65536);
	request_analysis_run(c, &a);
	for (size_t i = 0; i < a.endpoint_count; i++)
		requests += a.endpoints[i].requests;
	check(requests >= c->log->requests && requests == a.requests);
	request_numbers_of(&a, &n);
	rules_run(request_rules, request_rule_count, &request_numbers_fields, &n, &findings);
	request_text_put(&a, &n, &findings, &text);
	findings_fini(&findings);
	request_analysis_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request_capture capture = {.log = request_log_new(), .ended_ns = 1000000000, .process_cpu_ns = -1};
	struct request_channel channel;
	struct channel_frame f;
	size_t used = 0;

	request_channel_init(&channel, NULL, capture.log);
	for (size_t at = 0; channel_next(data + at, size - at, &f, &used) == CHANNEL_FRAME; at += used) {
		struct err e = ERR_INIT;
		int r = request_channel_frame(&channel, &f, &e);
		check((r < 0) == (e.kind == ERR_PROTOCOL));
	}
	capture.state = channel.state;
	analyze_requests(&capture);
	request_capture_fini(&capture);
	return 0;
}
