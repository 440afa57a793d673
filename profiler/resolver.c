/* Context: own thread. */
#include "profiler/resolver.h"

#include "profiler/dynamic_starts.h"
#include "profiler/function_name.h"
#include "profiler/module_guard.h"

#include <poll.h>
#include <string.h>

#define PATIENCE_MS 200 /* until the runtime has cleared up after an unload; an application that goes on unloading is not waited for again */

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
static bool is_new(uint64_t key)
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
static uint64_t key_of(cor_id function, uint64_t start_ns)
{
	uint64_t key = (uint64_t)function ^ start_ns * 0xd6e8feb86659fd93u;
	return key ? key : 1;
}

/* Finds the function and, the first time, describes it. true: *f is to be sent. */
static bool find(void *info, uint64_t ip, struct channel_resolved *answer, struct channel_function *f)
{
	cor_id function = 0;
	hresult hr = info_get_function_from_ip3(info, ip, &function);

	if (hr < 0 || !function) {
		answer->status = (uint32_t)(hr < 0 ? hr : COR_E_FAIL);
		return false;
	}
	uint64_t start_ns = dynamic_starts_get(function);
	answer->function_id = function;
	if (!is_new(key_of(function, start_ns)))
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

static struct channel_resolved resolve(void *info, uint64_t ip, struct channel_io *io)
{
	struct channel_resolved answer = {0};
	struct channel_function f;

	if (!enter_quietly()) {
		counts.unresolved++;
		answer.status = (uint32_t)COR_E_FAIL;
		return answer;
	}
	bool described = find(info, ip, &answer, &f);
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

bool resolver_answer(void *info, const struct channel_frame *request, struct channel_io *io)
{
	struct wire_reader r;
	uint32_t count;

	if (!channel_get_resolve(request, &r, &count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		answers[i] = resolve(info, wire_u64(&r), io);
	struct wire_writer *w = channel_io_begin(io, CHANNEL_RESOLVED);
	wire_put_u32(w, count);
	for (uint32_t i = 0; i < count; i++) {
		wire_put_u64(w, answers[i].function_id);
		wire_put_u32(w, answers[i].status);
	}
	return channel_io_end(io);
}
