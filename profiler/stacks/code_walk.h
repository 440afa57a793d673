/* Up a stack by what is known of the code that each frame belongs to: every caller is found, also those of small optimized methods, which keep no
 * frame pointer. Where nothing is known of the code, and in libraries, by frame pointers. Signal handler, CLR callback, own thread: pure but for what
 * is called through pointers. */
#ifndef DRDOTNET_CODE_WALK_H
#define DRDOTNET_CODE_WALK_H

#include "profiler/stacks/code_rules.h"

/* NULL: nothing is known. */
typedef const struct code_rule *code_walk_find_fn(void *ctx, uint64_t ip);

struct code_walk {
	struct code_registers r;
	bool leaf;         /* r.ip is where the thread runs; else what a call returns to */
	bool live;         /* leaf: and it runs now, so that the code is there to be read */
	const uint8_t *at; /* leaf, not live: a copy of the code from there on, as far as it was to be had */
	size_t at_bytes;
	code_frame_read_fn *read;
	void *read_ctx;
	code_walk_find_fn *find;
	void *find_ctx;
	uint32_t *heights; /* NULL: not wanted; else as many as addresses: of each frame's stack pointer above the first one's, in bytes */
};

/* Why callers may be missing. */
enum code_gap {
	CODE_GAP_NONE,
	CODE_GAP_CODE,   /* nothing is known of code on the way, or its frame was not understood */
	CODE_GAP_BROKEN, /* what lay on the stack led nowhere, or the runtime has put something else there */
};

struct code_walked {
	size_t depth;
	bool more;             /* there was no room for all */
	uint32_t height;       /* of the last frame, shown or not */
	bool by_pointer;       /* the last step was tried by a frame pointer */
	enum code_step end;    /* why it went no further */
	enum code_gap gap;
	uint64_t unknown;      /* the first address of which nothing was known; 0: none */
};

/* Addresses, leaf first, all but the leaf of what calls return to; at most `cap` >= 1. */
void code_walk(const struct code_walk *w, uint64_t *ips, size_t cap, struct code_walked *out);

/* The stack of the thread that runs, between its stack pointer and `end`: a code_frame_read_fn. */
struct stack_span {
	uint64_t low, end;
};
bool code_walk_stack_word(void *ctx, uint64_t address, uint64_t *word);

/* What a handler or callback knows: find_ctx is what code_rules_enter() returned. */
const struct code_rule *code_walk_find_rule(void *ctx, uint64_t ip);

#endif
