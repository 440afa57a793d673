/* Context: CLR callback (find, missed) and own thread. */
#include "profiler/requests/grpc_methods.h"

#include "common/proto/difference.h"
#include "profiler/base/text.h"
#include "profiler/clr/module_guard.h"
#include "profiler/clr/modules.h"

#include <stdatomic.h>
#include <string.h>

#define PLACES 2048 /* a power of two */
#define BODY_BYTES (1u << 20)
#define NAME_UNITS 256
#define LEARN_APART_NS 10000000000u
#define LEARN_MOST 8 /* times in a session */

static struct {
	char paths[GRPC_METHODS_MOST][GRPC_PATH_BYTES];
	uint8_t lens[GRPC_METHODS_MOST], kinds[GRPC_METHODS_MOST];
	_Atomic uint16_t places[PLACES]; /* number of a method plus one; 0: free */
	unsigned count;
} grpc;
static _Atomic bool missed;
static uint64_t next_ns;
static unsigned times;

static WRAPS uint32_t step_hash(uint32_t h, unsigned c)
{
	return (h ^ c) * 16777619u;
}

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

int grpc_methods_find(const struct event_text *path)
{
	uint32_t h = 2166136261u;

	if (path->units < 4 || path->units >= GRPC_PATH_BYTES)
		return -1;
	for (size_t i = 0; i < path->units; i++)
		h = step_hash(h, path->data[2 * i] | (unsigned)path->data[2 * i + 1] << 8);
	for (uint32_t i = 0; i < PLACES; i++) {
		uint16_t n = atomic_load_explicit(&grpc.places[(h + i) % PLACES], memory_order_acquire);
		if (!n)
			return -1;
		if (grpc.lens[n - 1] == path->units && event_text_is(path, grpc.paths[n - 1], true))
			return grpc.kinds[n - 1];
	}
	return -1;
}

void grpc_methods_missed(void)
{
	atomic_store_explicit(&missed, true, memory_order_relaxed);
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */

void grpc_methods_reset(void)
{
	for (size_t i = 0; i < PLACES; i++)
		atomic_store_explicit(&grpc.places[i], 0, memory_order_relaxed);
	grpc.count = 0;
	next_ns = 0;
	times = 0;
	atomic_store(&missed, false);
}

void grpc_methods_add(const char *path, uint8_t kind)
{
	size_t len = strlen(path);
	uint32_t h = 2166136261u, i = 0;

	if (grpc.count == GRPC_METHODS_MOST || len >= GRPC_PATH_BYTES)
		return;
	for (size_t k = 0; k < len; k++)
		h = step_hash(h, (unsigned char)path[k]);
	for (uint16_t n; (n = atomic_load_explicit(&grpc.places[(h + i) % PLACES], memory_order_relaxed)); i++)
		if (grpc.lens[n - 1] == len && memcmp(grpc.paths[n - 1], path, len) == 0)
			return;
	memcpy(grpc.paths[grpc.count], path, len + 1);
	grpc.lens[grpc.count] = (uint8_t)len;
	grpc.kinds[grpc.count] = kind;
	atomic_store_explicit(&grpc.places[(h + i) % PLACES], (uint16_t)++grpc.count, memory_order_release);
}

static void put_string(void *import, md_token token, struct text *out)
{
	wchar16 name[NAME_UNITS] = {0};
	uint32_t len = 0;

	if (md_get_user_string(import, token, name, NAME_UNITS - 1, &len) < 0 || !len || len >= NAME_UNITS)
		out->cut = true;
	else
		text_put_utf16(out, name, len);
}

static void add_methods(void *info, void *import, cor_id module, md_token constructor)
{
	static struct grpc_method_il found[64];
	const uint8_t *body = NULL;
	uint32_t len = 0;

	if (info_get_il_function_body(info, module, constructor, &body, &len) < 0 || !body || len > BODY_BYTES)
		return;
	unsigned count = grpc_method_il_read(body, len, found, sizeof found / sizeof *found);
	for (unsigned i = 0; i < count; i++) {
		char path[GRPC_PATH_BYTES];
		struct text t = TEXT_ON(path);
		text_puts(&t, "/");
		put_string(import, found[i].service, &t);
		text_puts(&t, "/");
		put_string(import, found[i].name, &t);
		text_put(&t, "", 1);
		if (!t.cut)
			grpc_methods_add(path, found[i].kind);
	}
}

/* false: the module is gone, with its metadata and the cursor. */
static bool learn_module(void *info, void *import, cor_id module)
{
	static const wchar16 mark[] = u"__ServiceName", constructor[] = u".cctor";
	void *cursor = NULL;
	md_token types[64];
	uint32_t n = 0;

	while (md_enum_type_defs(import, &cursor, types, sizeof types / sizeof *types, &n) >= 0 && n > 0) {
		for (uint32_t i = 0; i < n; i++) {
			md_token field = 0, method = 0;
			if (md_find_field(import, types[i], mark, &field) == COR_S_OK && md_find_method(import, types[i], constructor, &method) == COR_S_OK)
				add_methods(info, import, module, method);
		}
		n = 0;
		if (!module_guard_yield(module))
			return false;
	}
	md_close_enum(import, cursor);
	return true;
}

static bool is_applications(const wchar16 *path)
{
	return !modules_is_named(path, "System.") && !modules_is_named(path, "Microsoft.") && !modules_is_named(path, "netstandard.") &&
	       !modules_is_named(path, "mscorlib.");
}

static bool is_grpc(void *unused, void *info, cor_id module, const wchar16 *path)
{
	(void)unused;
	(void)info;
	(void)module;
	return modules_is_named(path, "Grpc.");
}

static bool learn_applications(void *unused, void *info, cor_id module, const wchar16 *path)
{
	void *import = NULL;

	(void)unused;
	if (!is_applications(path) || info_get_module_meta_data(info, module, &import) != COR_S_OK || !import)
		return false;
	if (learn_module(info, import, module))
		cor_release(import);
	return false;
}

/* Types are looked at one by one: only where there may be a service among them. */
void grpc_methods_learn(void *info)
{
	if (modules_each(info, is_grpc, NULL))
		modules_each(info, learn_applications, NULL);
}

void grpc_methods_tick(void *info, uint64_t now_ns)
{
	if (!atomic_load_explicit(&missed, memory_order_relaxed) || now_ns < next_ns || times == LEARN_MOST)
		return;
	atomic_store(&missed, false);
	next_ns = now_ns + LEARN_APART_NS;
	times++;
	grpc_methods_learn(info);
}
