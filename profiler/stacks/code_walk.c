/* Context: signal handler, CLR callback, own thread. */
#include "profiler/stacks/code_walk.h"

#include "common/proto/difference.h"
#include "profiler/stacks/hijacks.h"

#define LOWEST_CODE 4096
#define PAGE_BYTES 4096u

bool code_walk_stack_word(void *ctx, uint64_t address, uint64_t *word)
{
	const struct stack_span *s = ctx;

	if (address < s->low || s->end < sizeof *word || address > s->end - sizeof *word || address % sizeof *word)
		return false;
	*word = *(const uint64_t *)(uintptr_t)address;
	return true;
}

const struct code_rule *code_walk_find_rule(void *ctx, uint64_t ip)
{
	return code_rules_find(ctx, ip);
}

static const struct code_rule *find_rule(const struct code_walk *w, uint64_t ip, struct code_walked *out)
{
	const struct code_rule *rule = w->find(w->find_ctx, ip);

	if (!rule) {
		out->gap = CODE_GAP_CODE;
		if (!out->unknown)
			out->unknown = ip;
	}
	return rule;
}

/* A stub is entered by a call and goes on by a jump, or is a leaf itself: its caller's address is where a call leaves it. */
static const struct code_frame *stub_frame(const struct code_walk *w, const struct code_registers *r, struct code_walked *out)
{
	uint64_t top = r->lr & code_machine_ours.address_bits;

	if ((!code_machine_ours.links && !w->read(w->read_ctx, r->sp, &top)) || top < LOWEST_CODE)
		return &code_frame_by_pointer;
	const struct code_rule *caller = find_rule(w, top - 1, out);
	return caller && caller->kind != CODE_STUB ? &code_frame_of_leaf : &code_frame_by_pointer;
}

/* What comes next at the leaf. Live: not beyond its page, which is there, whatever has become of the rest. */
static const uint8_t *code_at_leaf(const struct code_walk *w, const struct code_rule *rule, size_t *bytes)
{
	uint64_t left = difference(rule->end, w->r.ip), page = PAGE_BYTES - w->r.ip % PAGE_BYTES;

	*bytes = w->at_bytes;
	if (!w->live)
		return w->at;
	left = left < page ? left : page;
	*bytes = left < CODE_FRAME_AT_BYTES ? (size_t)left : CODE_FRAME_AT_BYTES;
	return (const uint8_t *)(uintptr_t)w->r.ip;
}

static const struct code_frame *frame_of(const struct code_walk *w, const struct code_rule *rule, const struct code_registers *r, bool leaf,
					 struct code_frame *room, struct code_walked *out)
{
	if (!rule || rule->kind == CODE_NATIVE)
		return &code_frame_by_pointer;
	if (rule->kind == CODE_STUB)
		return leaf ? stub_frame(w, r, out) : &code_frame_by_pointer;
	uint64_t offset = difference(r->ip, rule->body);
	if (!leaf && offset > rule->call.prolog)
		return &rule->call;
	size_t bytes = 0;
	const uint8_t *at = leaf ? code_at_leaf(w, rule, &bytes) : NULL;
	code_frame_decode_at(rule->prolog, rule->prolog_bytes, offset, at, bytes, room);
	return room;
}

#define LONGEST_CALL 8

/* What a managed method returns to in the runtime's library is there to be returned to, or has been put there by the runtime. */
static const struct code_rule *undo_hijack(const struct code_walk *w, const struct code_rule *rule, struct code_registers *r,
					   struct code_walked *out)
{
	if (r->ip < rule->start + LONGEST_CALL || !hijacks_is_one(r->ip))
		return rule;
	uint64_t real = hijacks_find(difference(r->sp, sizeof real));
	const struct code_rule *managed = real < LOWEST_CODE ? NULL : w->find(w->find_ctx, real - 1);
	if (!managed || managed->kind != CODE_MANAGED) {
		out->gap = CODE_GAP_BROKEN;
		return rule;
	}
	r->ip = real;
	return managed;
}

/* One frame up. Where its code says nothing that helps, by its frame pointer. */
static enum code_step step_to_caller(const struct code_walk *w, const struct code_frame *f, struct code_registers *r, struct code_walked *out)
{
	enum code_step s = code_frame_step(f, r, w->read, w->read_ctx);

	out->by_pointer = f->kind == CODE_FRAME_FRAMED && !r->replaced;
	if (s != CODE_STEP_UNKNOWN && (s != CODE_STEP_BROKEN || out->by_pointer))
		return s;
	out->gap = s == CODE_STEP_UNKNOWN ? CODE_GAP_CODE : CODE_GAP_BROKEN;
	r->replaced = false;
	out->by_pointer = true;
	return code_frame_step(&code_frame_by_pointer, r, w->read, w->read_ctx);
}

void code_walk(const struct code_walk *w, uint64_t *ips, size_t cap, struct code_walked *out)
{
	struct code_registers r = w->r;
	struct code_frame room;
	bool leaf = w->leaf, from_managed = false;

	*out = (struct code_walked){.end = CODE_STEP_CALLER};
	while (out->end == CODE_STEP_CALLER) {
		if (out->depth == cap) {
			out->more = true;
			return;
		}
		/* All but the leaf are return addresses: one back stands in the call itself, which may be its function's last instruction. */
		const struct code_rule *rule = find_rule(w, leaf ? r.ip : difference(r.ip, 1), out);
		if (from_managed && rule && rule->runtime)
			rule = undo_hijack(w, rule, &r, out);
		from_managed = rule && rule->kind == CODE_MANAGED;
		uint64_t height = difference(r.sp, w->r.sp);
		out->height = height < UINT32_MAX ? (uint32_t)height : UINT32_MAX;
		if (!r.replaced && w->heights)
			w->heights[out->depth] = out->height;
		if (!r.replaced)
			ips[out->depth++] = r.ip;
		out->end = step_to_caller(w, frame_of(w, rule, &r, leaf, &room, out), &r, out);
		leaf = false;
	}
}
