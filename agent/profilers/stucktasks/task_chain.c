#include "agent/profilers/stucktasks/task_chain.h"

#include "agent/profilers/stucktasks/task_awaited.h"
#include "agent/symbols/method_name.h"
#include "common/base/mem.h"

#include <string.h>

#define NAME_BYTES 300
#define MARK_BITS 20 /* of a mark: what the operation stands at; the others are where it lies, so that marks of operations in order are in order */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v;
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static const struct heap_type *heap_type_of(const struct task_look *l, uint32_t type)
{
	return type < l->snapshot->type_count ? &l->snapshot->types[type] : NULL;
}

static const struct heap_method *suspended_method(const struct task_look *l, const struct task_kind *k)
{
	return k->method && k->method <= l->snapshot->method_count ? &l->snapshot->methods[k->method - 1] : NULL;
}

/* Of its code: the state machine's class, or the method. */
static uint64_t place_of(const struct task_look *l, uint32_t node)
{
	const struct task_kind *k = task_look_kind(l, node);
	const struct heap_method *m = suspended_method(l, k);
	return m && m->function_id ? m->function_id : heap_type_of(l, k->type)->class_id;
}

/* A library's method that the runtime suspends: its awaits are numbered anew each time it is compiled, with those of what is inlined there, and what is inlined
 * is in no chain. Operations that stand at one await of the application would be told apart by when they began. */
static bool is_library_suspended(const struct task_look *l, uint32_t node)
{
	const struct heap_method *m = suspended_method(l, task_look_kind(l, node));
	return m && m->name[0] && task_type_is_framework(m->raw);
}

uint64_t task_chain_key(const struct task_look *l, uint32_t node)
{
	const struct heap_type *awaited = heap_type_of(l, task_awaited_type(l, node));
	uint64_t h = mix(1, awaited ? awaited->class_id : 0);
	uint32_t leaf = task_look_leaf(l, node);
	if (leaf != TASK_NONE)
		h = mix(h, heap_type_of(l, task_look_kind(l, leaf)->type)->class_id + (l->nodes[leaf].flags & TASK_FED));
	uint64_t libraries = h;
	bool others = false;
	for (int i = 0; i < TASK_CHAIN_MAX && node != TASK_NONE; i++, node = l->nodes[node].next) {
		if (is_library_suspended(l, node)) {
			libraries = mix(libraries, place_of(l, node));
			continue;
		}
		h = mix(h, place_of(l, node));
		h = mix(h, (uint16_t)task_look_kind(l, node)->state);
		others = true;
	}
	return others ? h : libraries;
}

uint64_t task_chain_mark(const struct task_look *l, uint32_t node)
{
	const struct task_kind *k = task_look_kind(l, node);
	uint32_t leaf = task_look_leaf(l, node), awaits = l->nodes[node].awaits;
	uint64_t h = mix(2, place_of(l, node));
	h = mix(h, (uint16_t)k->state);
	h = mix(h, awaits == TASK_NONE ? 0 : task_look_address(l, awaits));
	h = mix(h, leaf == TASK_NONE ? 0 : task_look_address(l, leaf));
	return task_look_address(l, node) >> 3 << MARK_BITS | h >> (64 - MARK_BITS);
}

/* what it waits for -------------------------------------------------------------------------------------------------- */

static void put_machine(const struct task_look *l, uint32_t type, struct buf *out)
{
	const struct heap_type *t = heap_type_of(l, type);
	if (!t)
		return;
	if (l->types[type].role == TASK_ROLE_BOX)
		task_type_machine(t, out);
	else if (t->raw && strstr(t->raw, "+<"))
		buf_puts(out, t->raw);
}

/* Which of .NET's libraries the method that waits is part of tells more than a socket does. */
static enum task_wait library_of(const char *machine)
{
	static const struct {
		const char *space;
		enum task_wait wait;
	} known[] = {
		{"Npgsql.", TASK_WAIT_DATABASE}, {"MySqlConnector.", TASK_WAIT_DATABASE}, {"Microsoft.Data.SqlClient", TASK_WAIT_DATABASE},
		{"System.Data.", TASK_WAIT_DATABASE}, {"StackExchange.Redis.", TASK_WAIT_DATABASE}, {"System.Net.Http", TASK_WAIT_HTTP},
		{"Microsoft.AspNetCore.", TASK_WAIT_SERVER}, {"System.Threading.Channels.", TASK_WAIT_CHANNEL},
		{"System.Threading.SemaphoreSlim", TASK_WAIT_SEMAPHORE}, {"System.IO.Pipelines.", TASK_WAIT_PIPE},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strncmp(machine, known[i].space, strlen(known[i].space)) == 0)
			return known[i].wait;
	return TASK_WAIT_UNKNOWN;
}

/* The metadata's name of its code; nothing: it has none. */
static void put_code(const struct task_look *l, uint32_t node, struct buf *out)
{
	const struct heap_method *m = suspended_method(l, task_look_kind(l, node));
	if (m)
		buf_puts(out, m->raw);
	else
		put_machine(l, task_look_kind(l, node)->type, out);
}

/* Up the callers, as long as they are a library's. */
static enum task_wait wait_of_library(const struct task_look *l, uint32_t node)
{
	enum task_wait found = TASK_WAIT_UNKNOWN;
	for (int i = 0; i < TASK_CHAIN_MAX && node != TASK_NONE; i++, node = l->nodes[node].next) {
		AUTO_BUF struct buf machine;
		buf_init(&machine, 8192);
		put_code(l, node, &machine);
		if (machine.len && !task_type_is_framework(buf_str(&machine)))
			break;
		enum task_wait wait = library_of(buf_str(&machine));
		if (wait == TASK_WAIT_DATABASE || found == TASK_WAIT_UNKNOWN)
			found = wait != TASK_WAIT_UNKNOWN ? wait : found;
	}
	return found;
}

static enum task_wait wait_of_leaf(const struct task_look *l, uint32_t node)
{
	uint32_t leaf = task_look_leaf(l, node), type = leaf != TASK_NONE ? task_look_kind(l, leaf)->type : task_awaited_type(l, node);
	if (type == TASK_NONE)
		return task_look_kind(l, node)->state == -1 || task_look_kind(l, node)->state >= 0 ? TASK_WAIT_NOTHING : TASK_WAIT_UNKNOWN;
	if (leaf != TASK_NONE && l->nodes[leaf].flags & TASK_WORKS)
		return TASK_WAIT_WORK;
	if (leaf != TASK_NONE && l->nodes[leaf].flags & TASK_FED)
		return TASK_WAIT_CHANNEL;
	if (leaf == TASK_NONE && (l->types[type].role == TASK_ROLE_BOX || l->types[type].role == TASK_ROLE_PROMISE))
		return TASK_WAIT_NOTHING; /* that is completed */
	return l->types[type].wait;
}

enum task_wait task_chain_wait(const struct task_look *l, uint32_t node)
{
	enum task_wait wait = wait_of_leaf(l, node), library = TASK_WAIT_UNKNOWN;
	if (wait != TASK_WAIT_NOTHING && wait != TASK_WAIT_SEMAPHORE && wait != TASK_WAIT_TIMER)
		library = wait_of_library(l, node);
	return library == TASK_WAIT_UNKNOWN ? wait : library;
}

/* the group ---------------------------------------------------------------------------------------------------------- */

char *task_chain_method(const struct task_look *l, uint32_t type)
{
	AUTO_BUF struct buf machine, method;
	buf_init(&machine, 8192);
	buf_init(&method, 4096);
	put_machine(l, type, &machine);
	if (!machine.len)
		return NULL;
	task_type_method(buf_str(&machine), &method);
	return mem_strdup(buf_str(&method));
}

static void describe_suspended(const struct heap_method *m, int16_t state, struct task_call *out)
{
	out->framework = task_type_is_framework(m->raw);
	out->state = out->framework ? TASK_STATE_UNKNOWN : state;
	out->method = mem_strdup(m->name);
}

static void describe_call(const struct task_look *l, uint32_t node, struct task_call *out)
{
	const struct heap_method *m = suspended_method(l, task_look_kind(l, node));
	if (m && m->name[0]) {
		describe_suspended(m, task_look_kind(l, node)->state, out);
		return;
	}
	AUTO_BUF struct buf machine, method;
	buf_init(&machine, 8192);
	buf_init(&method, 4096);
	put_machine(l, task_look_kind(l, node)->type, &machine);
	out->state = machine.len && task_type_counts_awaits(buf_str(&machine)) ? task_look_kind(l, node)->state : TASK_STATE_UNKNOWN;
	out->framework = task_type_is_framework(buf_str(&machine));
	if (machine.len)
		task_type_method(buf_str(&machine), &method);
	else
		method_name_printable(heap_type_of(l, task_look_kind(l, node)->type)->short_name, NAME_BYTES, &method);
	out->method = mem_strdup(buf_str(&method));
}

static bool is_main(const char *method)
{
	size_t n = strlen(method);
	return strstr(method, "Main") || (n > 9 && strcmp(method + n - 9, ".RunAsync") == 0) || strstr(method, "WaitForShutdownAsync");
}

static bool is_bounded(const struct task_look *l, uint32_t node)
{
	uint32_t at = l->nodes[node].awaits;
	for (int i = 0; i < TASK_CHAIN_MAX && at != TASK_NONE && task_look_kind(l, at)->role != TASK_ROLE_BOX; i++, at = l->nodes[at].awaits)
		if (l->types[task_look_kind(l, at)->type].wait == TASK_WAIT_TIMER)
			return true;
	return false;
}

/* In the libraries' own methods that hand out connections. */
static bool waits_in_pool(const struct task_group *g)
{
	if (g->wait == TASK_WAIT_HTTP && (strstr(g->awaited, "Task<HttpConnection>") || strstr(g->awaited, "Task<Http2Connection") ||
					  strstr(g->awaited, "HttpConnectionWaiter")))
		return true;
	for (size_t i = 0; i < g->place && i < g->call_count; i++)
		if ((g->wait == TASK_WAIT_HTTP && strstr(g->calls[i].method, "HttpConnectionWaiter")) ||
		    (g->wait == TASK_WAIT_DATABASE && strstr(g->calls[i].method, "Npgsql.PoolingDataSource.")))
			return true;
	return false;
}

/* In the libraries' own methods that await the head of a response; who reads a body is in others. */
static bool waits_for_response(const struct task_group *g)
{
	static const char *const methods[] = {"System.Net.Http.HttpConnection.SendAsync", "System.Net.Http.Http2Connection.SendAsync",
					      "System.Net.Http.Http3RequestStream.SendAsync"};
	for (size_t i = 0; g->wait == TASK_WAIT_HTTP && !g->queued && i < g->place && i < g->call_count; i++)
		for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
			if (strcmp(g->calls[i].method, methods[k]) == 0)
				return true;
	return false;
}

void task_chain_describe(const struct task_look *l, uint32_t node, struct task_group *out)
{
	const struct heap_type *awaited = heap_type_of(l, task_awaited_type(l, node));
	uint32_t leaf = task_look_leaf(l, node);
	if (leaf != TASK_NONE)
		awaited = heap_type_of(l, task_look_kind(l, leaf)->type);
	*out = (struct task_group){.key = task_chain_key(l, node), .wait = task_chain_wait(l, node), .bounded = is_bounded(l, node)};
	AUTO_BUF struct buf name;
	buf_init(&name, 4096);
	method_name_printable(awaited ? awaited->name : "", NAME_BYTES, &name);
	out->awaited = mem_strdup(buf_str(&name));
	out->calls = mem_calloc(TASK_CALLERS_MAX, sizeof *out->calls);
	for (int i = 0; i < TASK_CHAIN_MAX && node != TASK_NONE && out->call_count < TASK_CALLERS_MAX; i++, node = l->nodes[node].next)
		if (task_look_kind(l, node)->role != TASK_ROLE_SOURCE) /* an async iterator is told by its box */
			describe_call(l, node, &out->calls[out->call_count++]);
	out->calls_cut = node != TASK_NONE;
	while (out->place < out->call_count && out->calls[out->place].framework)
		out->place++;
	for (size_t i = 0; i < out->call_count; i++) {
		out->main |= is_main(out->calls[i].method);
		out->bounded |= strstr(out->calls[i].method, "WaitUntilCountOrTimeout") != NULL;
	}
	out->queued = waits_in_pool(out);
	out->asked = waits_for_response(out);
}
