/* Context: signal handler (head, words) and own thread (walk). */
#include "profiler/stacks/stack_copy.h"

#include "common/proto/difference.h"
#include "profiler/stacks/code_learn.h"
#include "profiler/base/own_memory.h"

#include <string.h>

enum { IP, SP, FP, LR, DEPTH, FIRST_IP };

struct copy {
	uint64_t sp;
	const uint64_t *stack;
	size_t words;
};

static size_t head_words(size_t depth)
{
	return FIRST_IP + depth + (depth + 1) / 2;
}

size_t stack_copy_words(const struct stack_copy_source *s)
{
	size_t words = s->end > s->registers.sp ? (s->end - s->registers.sp) / sizeof(uint64_t) : 0;

	return words < STACK_COPY_WORDS ? words : STACK_COPY_WORDS;
}

size_t stack_copy_head(const struct stack_copy_source *s, uint64_t *words)
{
	const struct frame_registers *r = &s->registers;

	if (r->sp % sizeof(uint64_t) || !stack_copy_words(s) || s->depth > CHANNEL_MAX_DEPTH)
		return 0;
	words[IP] = r->ip;
	words[SP] = r->sp;
	words[FP] = r->fp;
	words[LR] = r->lr;
	words[DEPTH] = s->depth;
	memcpy(words + FIRST_IP, s->ips, s->depth * sizeof *s->ips);
	memcpy(words + FIRST_IP + s->depth, s->heights, s->depth * sizeof *s->heights);
	return head_words(s->depth);
}

static bool read_copy(void *ctx, uint64_t address, uint64_t *word)
{
	const struct copy *c = ctx;
	uint64_t at = difference(address, c->sp) / sizeof *word;

	if (address < c->sp || address % sizeof *word || at >= c->words)
		return false;
	*word = c->stack[at];
	return true;
}

static const struct code_rule *learn(void *ctx, uint64_t ip)
{
	(void)ctx;
	return code_learn(ip);
}

/* Of the addresses that the thread's own walk found, those of frames further up. How many. */
static size_t append_rest(const uint64_t *found, size_t depth, uint64_t *ips, size_t cap, struct code_walked *out)
{
	size_t before = out->depth, i = 0;
	uint32_t height;

	for (; i < depth; i++) {
		memcpy(&height, (const uint8_t *)(found + depth) + i * sizeof height, sizeof height);
		if (height <= out->height)
			continue;
		if (out->depth == cap)
			break;
		ips[out->depth++] = found[i];
	}
	out->more |= i < depth;
	return difference(out->depth, before);
}

bool stack_copy_walk(const uint64_t *words, size_t len, uint64_t *ips, size_t cap, struct code_walked *out)
{
	uint8_t at[CODE_FRAME_AT_BYTES];
	size_t depth = (size_t)words[DEPTH];
	struct copy c = {words[SP], words + head_words(depth), difference(len, head_words(depth))};
	struct code_walk w = {
		.r = {.ip = words[IP], .sp = words[SP], .fp = words[FP], .lr = words[LR]},
		.leaf = true,
		.at = at,
		.read = read_copy,
		.read_ctx = &c,
		.find = learn,
	};

	if (own_memory_open())
		w.at_bytes = own_memory_read((uintptr_t)words[IP], at, sizeof at);
	own_memory_close();
	code_walk(&w, ips, cap, out);
	if (out->end != CODE_STEP_BEYOND && out->end != CODE_STEP_BROKEN)
		return false;
	return append_rest(words + FIRST_IP, depth, ips, cap, out) > 0 || (out->end == CODE_STEP_BEYOND && !out->by_pointer);
}
