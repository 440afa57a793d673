#include "agent/stacks/stack_unwind.h"

#include <string.h>

struct walk {
	struct ip_table *table;
	uint32_t batch;
	const struct unwind_source *source;
	struct unwound *out;
	struct code_registers r;
	bool leaf;
	size_t matched; /* so many addresses of the kernel's chain have been met */
	bool astray;    /* the frame pointer was in other use: what the kernel found by it is nothing */
	bool searched;  /* the step that is being made goes where its code was seen to return to: what is there has to be behind a call */
	struct code_registers before; /* that step */
	bool astray_before;
	bool guessed;   /* the step that is being made follows a frame pointer that may be none */
	bool unsure;    /* one did, and met code that may be returned to */
	bool certain;   /* one did not */
};

bool stack_unwind_add(struct ip_table *t, uint32_t batch, uint64_t ip, struct unwound *out)
{
	uint32_t i = out->depth < CAPTURE_MAX_DEPTH ? ip_table_intern(t, ip, batch) : INDEX_NONE;
	if (i == INDEX_NONE)
		out->full = true;
	else
		out->ips[out->depth++] = i;
	return i != INDEX_NONE;
}

void stack_unwind_chain(struct ip_table *t, uint32_t batch, const uint64_t *chain, size_t depth, struct unwound *out)
{
	/* All but the leaf are return addresses: one back stands in the call itself, which may be its function's last instruction. */
	for (size_t i = 0; i < depth; i++)
		stack_unwind_add(t, batch, i == 0 ? chain[i] : chain[i] - 1, out);
}

static bool read_stack(void *ctx, uint64_t address, uint64_t *word)
{
	const struct unwind_source *s = ctx;
	uint64_t at = address - s->registers.sp;
	if (s->stack_bytes < sizeof *word || at > s->stack_bytes - sizeof *word)
		return false;
	memcpy(word, s->stack + at, sizeof *word);
	return true;
}

/* The kernel's chain holds, after the leaf, what the functions with frame pointers return to: all of it but the callers of the others. */
static void match_chain(struct walk *w)
{
	const struct unwind_source *s = w->source;
	if (w->matched < s->chain_depth && s->chain[w->matched] == w->r.ip) {
		w->matched++;
		w->astray = false;
	}
}

static void take_rest_of_chain(struct walk *w)
{
	const struct unwind_source *s = w->source;
	for (size_t i = w->matched; i < s->chain_depth && i > 0; i++)
		stack_unwind_add(w->table, w->batch, s->chain[i] - 1, w->out);
}

/* A stub is entered by a call and goes on by a jump, or is a leaf itself: its caller's address is where a call leaves it. */
static const struct code_frame *frame_of_stub(struct walk *w, uint32_t *wanted)
{
	uint64_t top = w->r.lr & code_machine_ours.address_bits;
	bool there = w->leaf && (code_machine_ours.links || read_stack((void *)w->source, w->r.sp, &top));
	if (!there || top < 4096 || ip_is_kernel(top))
		return &code_frame_by_pointer;
	uint32_t i = ip_table_intern(w->table, top - 1, w->batch);
	if (i == INDEX_NONE)
		return &code_frame_by_pointer;
	if (w->table->items[i].code == IP_CODE_NEW)
		*wanted = i;
	return w->table->items[i].code == IP_CODE_KNOWN ? &code_frame_of_leaf : &code_frame_by_pointer;
}

static void end_at(struct walk *w, enum code_step step)
{
	struct unwound *out = w->out;
	bool wrong = w->astray || (w->guessed && step == CODE_STEP_BROKEN); /* what the kernel found by the frame pointer */
	bool more = w->matched < w->source->chain_depth && w->matched > 0 && !wrong;
	bool lost = w->astray || (w->guessed && !w->certain);
	/* Where frame pointers lead no further either, that is the thread's first function; the capture judges by where it lies. */
	out->whole = step == CODE_STEP_END || (!more && !lost && step != CODE_STEP_UNKNOWN);
	out->gap = step == CODE_STEP_BEYOND ? STACK_GAP_DEEP : step == CODE_STEP_UNKNOWN ? STACK_GAP_CODE : STACK_GAP_BROKEN;
	if (out->whole && w->unsure) {
		out->whole = false;
		out->gap = STACK_GAP_CODE;
	} else if (more && !out->whole) {
		take_rest_of_chain(w);
	}
}

/* Behind a call that does not return lies another function: as if nothing had been seen there. */
static bool step_by_pointer_instead(struct walk *w)
{
	w->searched = false;
	w->guessed = true;
	w->r = w->before;
	w->astray = w->astray_before;
	enum code_step step = code_frame_step(&code_frame_by_pointer, &w->r, read_stack, (void *)w->source);
	if (step != CODE_STEP_CALLER)
		end_at(w, step);
	return step == CODE_STEP_CALLER;
}

/* One frame. false: that was the last. */
static bool walk_frame(struct walk *w)
{
	struct unwound *out = w->out;
	uint32_t i = ip_table_intern(w->table, w->leaf ? w->r.ip : w->r.ip - 1, w->batch);
	if (i == INDEX_NONE || out->depth == CAPTURE_MAX_DEPTH) {
		out->full = true;
		return false;
	}
	enum ip_code code = w->table->items[i].code;
	if (code == IP_CODE_NEW) {
		out->wanted = i;
		return false;
	}
	if (w->searched && !w->table->items[i].after_call)
		return step_by_pointer_instead(w);
	w->searched = false;
	if (w->guessed && !w->table->items[i].after_call) {
		end_at(w, CODE_STEP_BROKEN);
		return false;
	}
	w->unsure |= w->guessed;
	match_chain(w);
	if (!w->r.replaced)
		out->ips[out->depth++] = i;
	const struct code_frame *f = w->leaf ? &w->table->items[i].leaf : &w->table->items[i].call;
	w->guessed = code == IP_CODE_KNOWN && w->table->items[i].guessed;
	if (code == IP_CODE_STUB)
		f = frame_of_stub(w, &out->wanted);
	if (out->wanted != INDEX_NONE)
		return false;
	w->astray_before = w->astray;
	w->astray |= f->kind == CODE_FRAME_FRAMELESS && f->fp_at != CODE_FRAME_NO_FP;
	w->searched = code == IP_CODE_KNOWN && w->table->items[i].searched;
	w->before = w->r;
	enum code_step step = code_frame_step(f, &w->r, read_stack, (void *)w->source);
	w->leaf = false;
	if (w->searched && step != CODE_STEP_CALLER)
		return step_by_pointer_instead(w);
	w->certain |= !w->guessed;
	if (step != CODE_STEP_CALLER)
		end_at(w, step);
	return step == CODE_STEP_CALLER;
}

void stack_unwind(struct ip_table *t, uint32_t batch, const struct unwind_source *s, struct unwound *out)
{
	struct walk w = {.table = t, .batch = batch, .source = s, .out = out, .r = s->registers, .leaf = true};
	size_t before = out->depth;
	out->wanted = INDEX_NONE;
	out->whole = true;
	while (walk_frame(&w))
		;
	if (out->wanted != INDEX_NONE)
		out->depth = before;
}
