#include "agent/stacks/code_bodies.h"

#include "agent/arch/arch.h"
#include "agent/symbols/code_end.h"
#include "agent/symbols/unwind_table.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <stdlib.h>

#define MAX_IMAGES 128

struct image {
	uint64_t start;
	uint32_t file;
	bool usable;
	struct unwind_table table;
};

struct code_bodies {
	int mem_fd; /* /proc/PID/mem; -1: not to be had */
	struct image images[MAX_IMAGES];
	size_t image_count;
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

static size_t read_code(const struct code_bodies *b, uint64_t address, uint8_t *out, size_t bytes)
{
	ssize_t n = b->mem_fd < 0 ? -1 : pread(b->mem_fd, out, bytes, (off_t)address);
	return n < 0 ? 0 : (size_t)n;
}

static bool read_code_fully(void *ctx, uint64_t address, void *out, size_t bytes)
{
	return read_code(ctx, address, out, bytes) == bytes;
}

static const struct unwind_table *find_unwind_table(struct code_bodies *b, uint64_t start, uint32_t file)
{
	for (size_t i = 0; i < b->image_count; i++)
		if (b->images[i].start == start && b->images[i].file == file)
			return b->images[i].usable ? &b->images[i].table : NULL;
	if (start == 0 || b->image_count == MAX_IMAGES)
		return NULL;
	struct image *x = &b->images[b->image_count++];
	*x = (struct image){.start = start, .file = file};
	x->usable = unwind_table_find(start, read_code_fully, b, &x->table);
	return x->usable ? &x->table : NULL;
}

static void take_native(struct code_bodies *b, struct ip_entry *x, const struct frame_namer *places)
{
	uint32_t file = 0;
	uint64_t image = frame_namer_image(places, x->ip, &file);
	const struct unwind_table *t = find_unwind_table(b, image, file);
	x->guessed = false;
	bool known = t && unwind_table_frame(t, x->ip, read_code_fully, b, &x->leaf);
	x->code = IP_CODE_KNOWN;
	/* Who has called has saved the register in which the call leaves its own return address. */
	x->call = x->leaf.kind == CODE_FRAME_LINK ? code_frame_by_pointer : x->leaf;
	x->searched = false;
	if (known)
		return;
	x->leaf = x->call = code_frame_by_pointer;
	x->searched = image && code_end_frame(x->ip, read_code_fully, b, &x->leaf) && code_end_frame(x->ip + 1, read_code_fully, b, &x->call);
	x->guessed = !x->searched;
}

static void take_managed(const struct code_bodies *b, struct ip_entry *x, const struct channel_code_body *body)
{
	uint8_t prolog[CODE_FRAME_PROLOG_BYTES], at[CODE_FRAME_AT_BYTES];
	size_t most = body->bytes < sizeof prolog ? body->bytes : sizeof prolog;
	size_t n = read_code(b, body->start, prolog, most), at_bytes = read_code(b, x->ip, at, sizeof at);
	x->code = IP_CODE_KNOWN;
	x->guessed = false;
	code_frame_decode_at(prolog, n, x->ip - body->start, at, at_bytes, &x->leaf);
	code_frame_decode_at(prolog, n, x->ip + 1 - body->start, NULL, 0, &x->call);
}

/* Whether a call may return to the address. */
static bool follows_call(const struct code_bodies *b, uint64_t address)
{
	uint8_t code[ARCH_CALL_BYTES];
	return read_code(b, address - sizeof code, code, sizeof code) == sizeof code && arch_ours.is_call(code);
}

static int ask_code_bodies(struct code_bodies *b, struct ip_table *t, const uint32_t *entries, size_t count, struct frame_namer *places,
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
			take_native(b, x, places);
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
		enum code_place place = frame_namer_place(places, x->ip);
		x->after_call = place != CODE_PLACE_NOWHERE && follows_call(b, x->ip + 1);
		/* What lies nowhere may have been mapped while the mappings were read: the runtime knows. */
		if (place == CODE_PLACE_NATIVE || ip_is_kernel(x->ip))
			take_native(b, x, places);
		else
			unknown[unknown_count++] = entries[i];
	}
	return ask_code_bodies(b, t, unknown, unknown_count, places, ask, ctx);
}
