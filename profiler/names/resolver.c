/* Context: own thread. */
#include "profiler/names/resolver.h"

#include "common/proto/channel_code.h"
#include "common/proto/difference.h"
#include "profiler/clr/dynamic_starts.h"
#include "profiler/names/function_name.h"
#include "profiler/clr/module_guard.h"

#include <poll.h>
#include <string.h>

#define PATIENCE_MS 200 /* until the runtime has cleared up after an unload; an application that goes on unloading is not waited for again */

#define BODIES_MAX 16 /* of a method: some tiers, one replacement on the stack for each of its loops */
#define PIECES_MAX 4  /* of a body */
#define IL_ROWS_MAX 4096 /* of a body; of a longer one the runtime is not asked for a line */

#define KNOWN_BITS 13
#define KNOWN_SIZE (1u << KNOWN_BITS)
#define KNOWN_MAX (KNOWN_SIZE / 4 * 3) /* past it functions are described again: costs time, not truth */

static uint64_t known[KNOWN_SIZE];
static uint32_t known_count;
static int patience_ms;
static struct resolver_counts counts;
static struct function_text text;
static struct channel_resolved answers[CHANNEL_MAX_RESOLVE];

void resolver_reset(void)
{
	memset(known, 0, sizeof known);
	known_count = 0;
	patience_ms = PATIENCE_MS;
	counts = (struct resolver_counts){0};
}

struct resolver_counts resolver_counts(void)
{
	return counts;
}

/* true when the key was not known; remembers it (as far as there is room). */
static WRAPS bool is_new(uint64_t key)
{
	uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15u >> (64 - KNOWN_BITS));

	for (;; slot = (slot + 1) & (KNOWN_SIZE - 1)) {
		if (known[slot] == key)
			return false;
		if (known[slot] == 0)
			break;
	}
	if (known_count < KNOWN_MAX) {
		known[slot] = key;
		known_count++;
	}
	return true;
}

/* The same id with another start is another function: a dynamic method in the place of a collected one. */
static WRAPS uint64_t function_key(cor_id function, uint64_t start_ns)
{
	uint64_t key = (uint64_t)function ^ start_ns * 0xd6e8feb86659fd93u;
	return key ? key : 1;
}

/* Finds the function and, the first time, describes it. true: *f is to be sent. */
static bool find_function_of_ip(void *info, uint64_t ip, struct channel_resolved *answer, struct channel_function *f)
{
	cor_id function = 0, rejit = 0;
	hresult hr = info_get_function_from_ip3(info, ip, &function, &rejit);

	if (hr < 0 || !function) {
		answer->status = (uint32_t)(hr < 0 ? hr : COR_E_FAIL);
		return false;
	}
	uint64_t start_ns = dynamic_starts_get(function);
	answer->function_id = function;
	if (!is_new(function_key(function, start_ns)))
		return false;
	/* Where describing fails the id stands for itself: the agent sees that nobody named it. */
	if (function_name_describe(info, function, &text, f) < 0)
		return false;
	if (f->flags & CHANNEL_DYNAMIC)
		f->dynamic_start_ns = start_ns;
	return true;
}

/* Enters at a quiet moment; false, not entered, when none comes while the patience lasts. */
static bool enter_quietly(void)
{
	for (;;) {
		module_guard_enter();
		if (module_guard_quiet()) {
			patience_ms = PATIENCE_MS;
			return true;
		}
		module_guard_leave();
		if (patience_ms == 0)
			return false;
		patience_ms--;
		poll(NULL, 0, 1);
	}
}

static struct channel_resolved resolve_ip(void *info, uint64_t ip, struct channel_io *io)
{
	struct channel_resolved answer = {0};
	struct channel_function f;

	if (!enter_quietly()) {
		counts.unresolved++;
		answer.status = (uint32_t)COR_E_FAIL;
		return answer;
	}
	bool described = find_function_of_ip(info, ip, &answer, &f);
	module_guard_leave(); /* before anything that may wait for the agent */
	if (described) {
		channel_put_function(channel_io_begin(io, CHANNEL_FUNCTION), &f);
		if (channel_io_end(io))
			counts.functions++;
	}
	if (answer.function_id)
		counts.resolved++;
	else
		counts.unresolved++;
	return answer;
}

/* Of one of the function's bodies: the piece that the pointer lies in. */
static bool find_piece(void *info, uint64_t ip, uintptr_t start, struct resolver_body *out)
{
	struct cor_code_info pieces[PIECES_MAX];
	uint32_t count;

	if (info_get_code_info4(info, start, PIECES_MAX, &count, pieces) < 0)
		return false;
	for (uint32_t i = 0; i < count && i < PIECES_MAX; i++)
		if (is_within(ip, pieces[i].start, pieces[i].bytes)) {
			out->start = pieces[0].start;
			out->bytes = (uint32_t)pieces[0].bytes;
			out->piece = pieces[i].start;
			out->piece_end = pieces[i].start + pieces[i].bytes;
			return true;
		}
	return false;
}

static bool find_body(void *info, uint64_t ip, struct resolver_body *out)
{
	uintptr_t starts[BODIES_MAX];
	cor_id function = 0, rejit = 0;
	uint32_t count = 0;
	int32_t dynamic = 0;

	if (info_get_function_from_ip3(info, ip, &function, &rejit) < 0 || !function || function_name_gone(info, function) ||
	    info_get_native_code_start_addresses(info, function, rejit, BODIES_MAX, &count, starts) < 0)
		return false;
	out->dynamic = info_is_function_dynamic(info, function, &dynamic) == COR_S_OK && dynamic;
	for (uint32_t i = 0; i < count && i < BODIES_MAX; i++)
		if (find_piece(info, ip, starts[i], out))
			return true;
	return false;
}

enum resolver_place resolver_find_body(void *info, uint64_t ip, struct resolver_body *out)
{
	if (!enter_quietly())
		return RESOLVER_NOT_NOW;
	bool found = find_body(info, ip, out);
	module_guard_leave();
	return found ? RESOLVER_BODY : RESOLVER_NO_BODY;
}

bool resolver_answer_code(void *info, const struct channel_frame *request, struct channel_io *io)
{
	static struct channel_code_body bodies[CHANNEL_MAX_CODE];
	struct wire_reader r;
	uint32_t count;

	if (!channel_get_code_ask(request, &r, &count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct resolver_body body;
		bodies[i] = (struct channel_code_body){0};
		if (resolver_find_body(info, wire_u64(&r), &body) == RESOLVER_BODY)
			bodies[i] = (struct channel_code_body){body.start, body.bytes};
	}
	struct wire_writer *w = channel_io_begin(io, CHANNEL_CODE_BODIES);
	wire_put_u32(w, count);
	for (uint32_t i = 0; i < count; i++)
		channel_put_code_body(w, &bodies[i]);
	return channel_io_end(io);
}

/* The body that was looked at last: pointers come by address, so that one body's stand together. */
static struct {
	struct resolver_body body; /* bytes 0: none */
	uint32_t count;
	struct cor_il_map rows[IL_ROWS_MAX];
} il_map;

/* What is between two methods' maps may be unloaded: entered and left for each. */
static bool learn_il_map(void *info, uint64_t ip)
{
	uint32_t count = 0;

	il_map.body.bytes = 0;
	if (!enter_quietly())
		return false;
	bool told = find_body(info, ip, &il_map.body) && !il_map.body.dynamic &&
		     info_get_il_to_native_mapping3(info, il_map.body.start, IL_ROWS_MAX, &count, il_map.rows) >= 0 && count <= IL_ROWS_MAX;
	module_guard_leave();
	il_map.count = count;
	if (!told)
		il_map.body.bytes = 0;
	return told;
}

/* The last row that begins at or before the instruction, and tells an offset: what the compiler added (a prolog's end, an epilog, a call into the
 * runtime) belongs to what stands before it, the method's beginning to its first IL. */
static uint32_t find_il_offset(uint32_t at)
{
	const struct cor_il_map *best = NULL;
	uint32_t offset = CHANNEL_NO_IL;

	for (uint32_t i = 0; i < il_map.count; i++) {
		const struct cor_il_map *row = &il_map.rows[i];
		if (row->start > at || (best && row->start < best->start) || row->il == COR_IL_NO_MAPPING || row->il == COR_IL_EPILOG)
			continue;
		best = row;
		offset = row->il == COR_IL_PROLOG ? 0 : row->il < 0 ? CHANNEL_NO_IL : (uint32_t)row->il;
	}
	return offset;
}

static uint32_t il_offset_of(void *info, uint64_t ip)
{
	const struct resolver_body *b = &il_map.body;

	if (b->bytes == 0 || ip < b->piece || ip >= b->piece_end)
		if (!learn_il_map(info, ip))
			return CHANNEL_NO_IL;
	/* The offsets of a second piece go on where those of the first one end. */
	return find_il_offset((uint32_t)(b->piece == b->start ? difference(ip, b->start) : b->bytes + difference(ip, b->piece)));
}

bool resolver_answer_il(void *info, const struct channel_frame *request, struct channel_io *io)
{
	static uint32_t offsets[CHANNEL_MAX_CODE];
	struct wire_reader r;
	uint32_t count;

	if (!channel_get_il_ask(request, &r, &count))
		return false;
	il_map.body.bytes = 0; /* since the last question its code may have become another's */
	for (uint32_t i = 0; i < count; i++)
		offsets[i] = il_offset_of(info, wire_u64(&r));
	struct wire_writer *w = channel_io_begin(io, CHANNEL_IL_OFFSETS);
	wire_put_u32(w, count);
	for (uint32_t i = 0; i < count; i++)
		wire_put_u32(w, offsets[i]);
	return channel_io_end(io);
}

bool resolver_answer(void *info, const struct channel_frame *request, struct channel_io *io)
{
	struct wire_reader r;
	uint32_t count;

	if (!channel_get_resolve(request, &r, &count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		answers[i] = resolve_ip(info, wire_u64(&r), io);
	struct wire_writer *w = channel_io_begin(io, CHANNEL_RESOLVED);
	wire_put_u32(w, count);
	for (uint32_t i = 0; i < count; i++) {
		wire_put_u64(w, answers[i].function_id);
		wire_put_u32(w, answers[i].status);
	}
	return channel_io_end(io);
}
