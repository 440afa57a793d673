#include "agent/profilers/requests/request_live.h"

#include "agent/profilers/requests/request_text.h"
#include "common/base/size_text.h"

#define NAME_CHARS 60

static bool is_stream(const struct request_endpoint *p)
{
	return request_endpoint_streams(p) * 2 > p->ended || (!p->ended && !p->open.count);
}

static double waited_ns(const struct request_endpoint *p, uint64_t look_ns)
{
	double oldest_ns = p->open.count && look_ns > p->open.start_ns ? (double)(look_ns - p->open.start_ns) : 0;
	return (double)p->latency.sum_ns + (p->open.count ? oldest_ns * (1 + (p->open.count - 1) / 2.0) : 0);
}

void request_live_text(const struct request_log *l, uint64_t started_ns, struct buf *out)
{
	double seconds = l->told_to_ns > started_ns ? (double)(l->told_to_ns - started_ns) / 1e9 : 0; /* what is not told yet is no time without requests */
	const struct request_endpoint *most = NULL;
	uint64_t requests = 0, open = 0;
	for (size_t i = 0; i < l->endpoint_cap; i++) {
		const struct request_endpoint *p = l->endpoints[i];
		if (!p || is_stream(p))
			continue;
		requests += p->latency.count;
		open += p->open.count;
		if (p->name && (!most || waited_ns(p, l->open_at_ns) > waited_ns(most, l->open_at_ns)))
			most = p;
	}
	size_text_counted(out, requests, "request", "requests");
	buf_printf(out, ", %.1f/s, ", seconds > 0 ? (double)requests / seconds : 0);
	size_text_count(out, open);
	buf_puts(out, " in flight");
	if (!most)
		return;
	buf_puts(out, "; most waiting: ");
	request_text_endpoint(out, most->name, NAME_CHARS);
	if (most->latency.count) {
		buf_puts(out, ", p95 ");
		request_text_length(out, (double)latency_histogram_quantile(&most->latency, 0.95));
	}
	if (most->open.count && l->open_at_ns > most->open.start_ns) {
		buf_puts(out, ", oldest in flight ");
		request_text_length(out, (double)(l->open_at_ns - most->open.start_ns));
	}
}
