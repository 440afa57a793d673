#include "agent/stacks/frame_lines.h"

#include "agent/attach/profiler_channel.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/proto/channel_code.h"

#include <stdlib.h>
#include <string.h>

struct frame_lines {
	struct source_lines *sources;
	frame_il_fn *ask;
	void *ask_ctx;
	int64_t spent_ns;
};

struct line_request {
	uint64_t ip;
	size_t place; /* in what was asked for */
	struct source_module *module;
};

struct frame_lines *frame_lines_new(int proc_fd, frame_il_fn *ask, void *ctx)
{
	struct frame_lines *l = mem_alloc(sizeof *l);
	*l = (struct frame_lines){.sources = source_lines_new(proc_fd), .ask = ask, .ask_ctx = ctx};
	return l;
}

void frame_lines_free(struct frame_lines *l)
{
	if (!l)
		return;
	source_lines_free(l->sources);
	free(l);
}

static int request_by_ip(const void *a, const void *b)
{
	const struct line_request *x = a, *y = b;
	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

/* Those whose modules have symbols, by address: the code of a method lies together. */
static size_t gather_line_requests(struct frame_lines *l, const uint64_t *ips, const struct resolved_function *const *functions, size_t count,
				   struct line_request *out)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		const struct resolved_function *f = functions[i];
		struct source_module *m = f && f->path && f->token && !f->dynamic ? source_lines_module(l->sources, f->path, f->image) : NULL;
		if (m)
			out[n++] = (struct line_request){ips[i], i, m};
	}
	qsort(out, n, sizeof *out, request_by_ip);
	return n;
}

void frame_lines_find(struct frame_lines *l, const uint64_t *ips, const struct resolved_function *const *functions, size_t count,
		      struct source_place *out)
{
	int64_t begin_ns = clock_mono_ns();
	AUTO_FREE struct line_request *requests = mem_calloc(count + 1, sizeof *requests);
	memset(out, 0, count * sizeof *out);
	size_t n = gather_line_requests(l, ips, functions, count, requests);
	AUTO_FREE uint64_t *asked = mem_calloc(n + 1, sizeof *asked);
	AUTO_FREE uint32_t *offsets = mem_calloc(n + 1, sizeof *offsets);
	for (size_t i = 0; i < n; i++)
		asked[i] = requests[i].ip;
	if (n && l->ask(l->ask_ctx, asked, n, offsets) == 0)
		for (size_t i = 0; i < n; i++) {
			const struct line_request *q = &requests[i];
			if (offsets[i] == CHANNEL_NO_IL || !source_lines_find(q->module, functions[q->place]->token, offsets[i], &out[q->place]))
				out[q->place] = (struct source_place){0};
		}
	l->spent_ns += clock_mono_ns() - begin_ns;
}

void frame_lines_account(const struct frame_lines *l, struct source_account *out)
{
	source_lines_account(l->sources, out);
	out->spent_ns += l->spent_ns;
}
