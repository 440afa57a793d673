/* A thread's registers and the top of its stack, put by for the library's own thread: it walks there as the thread would have, but may ask the runtime
 * about code that is met for the first time. What the copy does not reach is taken from the thread's own walk, which knew no better than to follow
 * frame pointers there. Words of a record: the head, which ends in that walk's addresses and heights, then the stack. */
#ifndef DRDOTNET_STACK_COPY_H
#define DRDOTNET_STACK_COPY_H

#include "common/proto/channel.h"
#include "profiler/stacks/frame_walk.h"

#define STACK_COPY_WORDS 512
#define STACK_COPY_HEAD_WORDS (5 + CHANNEL_MAX_DEPTH + (CHANNEL_MAX_DEPTH + 1) / 2)

struct stack_copy_source {
	struct frame_registers registers;
	uintptr_t end; /* of the stack */
	const uint64_t *ips; /* of its own walk, as the rest */
	const uint32_t *heights;
	size_t depth;
};

/* Signal handler: the head, for STACK_COPY_HEAD_WORDS words; its length, 0: there is no stack that could be copied. */
size_t stack_copy_head(const struct stack_copy_source *s, uint64_t *words);
/* How many words from the stack pointer on are the stack's part. */
size_t stack_copy_words(const struct stack_copy_source *s);
/* Own thread: `words` is a whole record. true: beyond the copy callers may be missing. */
bool stack_copy_walk(const uint64_t *words, size_t len, uint64_t *ips, size_t cap, struct code_walked *out);

#endif
