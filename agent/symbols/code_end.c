#include "agent/symbols/code_end.h"

#include "agent/symbols/code_step_x64.h"

#include <string.h>

#define MAX_INSTRUCTIONS 400
#define MAX_BRANCHES 16
#define MAX_FRAME_BYTES 65536
#define WINDOW_BYTES 128

#if defined(__x86_64__)
/* Where the code may go on, and how the stack is there. */
struct place {
	uint64_t ip;
	int64_t moved;  /* the stack pointer, since the beginning */
	uint32_t fp_at; /* where the caller's frame pointer was taken from */
};

struct search {
	unwind_read_fn *read;
	void *ctx;
	uint64_t window_at;
	uint8_t window[WINDOW_BYTES];
	bool has_window;
	struct place branches[MAX_BRANCHES];
	size_t branch_count;
	uint64_t seen[MAX_INSTRUCTIONS];
	size_t seen_count;
};

static const uint8_t *read_instruction(struct search *s, uint64_t ip)
{
	if (s->has_window && ip >= s->window_at && ip - s->window_at <= WINDOW_BYTES - CODE_STEP_BYTES)
		return s->window + (ip - s->window_at);
	s->window_at = ip;
	s->has_window = s->read(s->ctx, ip, s->window, WINDOW_BYTES);
	if (s->has_window)
		return s->window;
	memset(s->window, 0xcc, WINDOW_BYTES); /* at the end of a mapping */
	return s->read(s->ctx, ip, s->window, CODE_STEP_BYTES) ? s->window : NULL;
}

static bool is_seen(const struct search *s, uint64_t ip)
{
	for (size_t i = 0; i < s->seen_count; i++)
		if (s->seen[i] == ip)
			return true;
	return false;
}

static bool take_branch(struct search *s, struct place *p)
{
	if (s->branch_count == 0)
		return false;
	*p = s->branches[--s->branch_count];
	return true;
}

static uint32_t saved_at(const struct place *p, int64_t above)
{
	int64_t at = p->moved + above;
	return at >= 0 && at < MAX_FRAME_BYTES ? (uint32_t)at : CODE_FRAME_NO_FP;
}

enum way { WAY_ON, WAY_ENDS, WAY_RETURNS, WAY_STRANGE };

/* Over one instruction. */
static enum way follow(struct search *s, struct place *p, const struct code_instruction *x)
{
	p->ip += x->bytes;
	switch (x->effect) {
	case CODE_POPS_FP:
		p->fp_at = saved_at(p, 0);
		p->moved += 8;
		return WAY_ON;
	case CODE_LOADS_FP:
		p->fp_at = saved_at(p, x->amount);
		return WAY_ON;
	case CODE_MOVES:
		p->moved += x->amount;
		return p->moved > -MAX_FRAME_BYTES && p->moved < MAX_FRAME_BYTES ? WAY_ON : WAY_STRANGE;
	case CODE_JUMPS:
		p->ip += (uint64_t)x->amount;
		return WAY_ON;
	case CODE_BRANCHES:
		if (s->branch_count < MAX_BRANCHES)
			s->branches[s->branch_count++] = (struct place){p->ip + (uint64_t)x->amount, p->moved, p->fp_at};
		return WAY_ON;
	case CODE_RETURNS:
		return p->moved >= 0 ? WAY_RETURNS : WAY_STRANGE;
	case CODE_STOPS:
		return WAY_ENDS;
	case CODE_PASSES:
		return WAY_ON;
	case CODE_STRANGE:
		break;
	}
	return WAY_STRANGE;
}

bool code_end_frame(uint64_t ip, unwind_read_fn *read, void *ctx, struct code_frame *out)
{
	struct search s = {.read = read, .ctx = ctx};
	struct place p = {.ip = ip, .fp_at = CODE_FRAME_NO_FP};
	while (s.seen_count < MAX_INSTRUCTIONS) {
		if (is_seen(&s, p.ip)) {
			if (!take_branch(&s, &p))
				return false;
			continue;
		}
		s.seen[s.seen_count++] = p.ip;
		const uint8_t *code = read_instruction(&s, p.ip);
		struct code_instruction x = code ? code_step_x64(code) : (struct code_instruction){.effect = CODE_STOPS};
		enum way way = follow(&s, &p, &x);
		if (way == WAY_STRANGE || (way == WAY_ENDS && !take_branch(&s, &p)))
			return false;
		if (way == WAY_RETURNS) {
			*out = (struct code_frame){.kind = CODE_FRAME_FRAMELESS, .size = (uint32_t)p.moved, .fp_at = p.fp_at};
			return true;
		}
	}
	return false;
}
#else
bool code_end_frame(uint64_t ip, unwind_read_fn *read, void *ctx, struct code_frame *out)
{
	(void)ip;
	(void)read;
	(void)ctx;
	(void)out;
	return false;
}
#endif
