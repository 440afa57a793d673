#include "agent/stacks/code_bodies.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <stdlib.h>

struct code_bodies {
	int mem_fd; /* /proc/PID/mem; -1: not to be had */
};

struct code_bodies *code_bodies_new(int proc_fd)
{
	struct code_bodies *b = mem_alloc(sizeof *b);
	b->mem_fd = proc_fd < 0 ? -1 : openat(proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	return b;
}

void code_bodies_free(struct code_bodies *b)
{
	if (!b)
		return;
	cleanup_fd(&b->mem_fd);
	free(b);
}

static void take_native(struct ip_entry *x)
{
	x->code = IP_CODE_KNOWN;
	x->leaf = x->call = code_frame_by_pointer;
}

static size_t read_code(const struct code_bodies *b, uint64_t address, uint8_t *out, size_t bytes)
{
	ssize_t n = b->mem_fd < 0 ? -1 : pread(b->mem_fd, out, bytes, (off_t)address);
	return n < 0 ? 0 : (size_t)n;
}

static void take_managed(const struct code_bodies *b, struct ip_entry *x, const struct channel_code_body *body)
{
	uint8_t prolog[CODE_FRAME_PROLOG_BYTES], at[CODE_FRAME_AT_BYTES];
	size_t most = body->bytes < sizeof prolog ? body->bytes : sizeof prolog;
	size_t n = read_code(b, body->start, prolog, most), at_bytes = read_code(b, x->ip, at, sizeof at);
	x->code = IP_CODE_KNOWN;
	code_frame_decode_at(prolog, n, x->ip - body->start, at, at_bytes, &x->leaf);
	code_frame_decode_at(prolog, n, x->ip + 1 - body->start, NULL, 0, &x->call);
}

static int ask_runtime(const struct code_bodies *b, struct ip_table *t, const uint32_t *entries, size_t count, struct frame_namer *places,
		       code_bodies_ask_fn *ask, void *ctx)
{
	AUTO_FREE uint64_t *ips = mem_calloc(count + 1, sizeof *ips);
	AUTO_FREE struct channel_code_body *bodies = mem_calloc(count + 1, sizeof *bodies);
	for (size_t i = 0; i < count; i++)
		ips[i] = t->items[entries[i]].ip;
	if (count && ask(ctx, ips, count, bodies) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct ip_entry *x = &t->items[entries[i]];
		if (bodies[i].bytes)
			take_managed(b, x, &bodies[i]);
		else if (frame_namer_place(places, x->ip) == CODE_PLACE_JIT)
			x->code = IP_CODE_STUB;
		else
			take_native(x);
	}
	return 0;
}

int code_bodies_learn(struct code_bodies *b, struct ip_table *t, const uint32_t *entries, size_t count, struct frame_namer *places,
		      code_bodies_ask_fn *ask, void *ctx)
{
	AUTO_FREE uint32_t *unknown = mem_calloc(count + 1, sizeof *unknown);
	size_t unknown_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct ip_entry *x = &t->items[entries[i]];
		if (x->code != IP_CODE_NEW)
			continue;
		if (frame_namer_place(places, x->ip) != CODE_PLACE_NATIVE)
			unknown[unknown_count++] = entries[i];
		else
			take_native(x);
	}
	return ask_runtime(b, t, unknown, unknown_count, places, ask, ctx);
}
