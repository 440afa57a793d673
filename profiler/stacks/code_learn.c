/* Context: own thread; want: any. */
#include "profiler/stacks/code_learn.h"

#include "common/proto/difference.h"
#include "profiler/clr/cor_abi.h"
#include "profiler/stacks/hijacks.h"
#include "profiler/clr/module_guard.h"
#include "profiler/base/now.h"
#include "profiler/base/own_memory.h"
#include "profiler/names/resolver.h"

#include <link.h>
#include <stdatomic.h>

#define WANTED_BITS 7
#define WANTED_SIZE (1u << WANTED_BITS)
#define FLEETING_NS 1000000000u
#define FULL (CODE_RULES_MAX / 8 * 7)

static void *the_info;
static _Atomic uint64_t wanted[WANTED_SIZE];
static struct code_rule fresh; /* the latest, which may have found no room */
static uint32_t unloads;
static uint64_t forgotten_ns;

void code_learn_reset(void)
{
	the_info = NULL;
	for (size_t i = 0; i < WANTED_SIZE; i++)
		atomic_store(&wanted[i], 0);
	code_rules_reset();
	hijacks_reset();
}

void code_learn_end(void)
{
	the_info = NULL;
}

/* Libraries ---------------------------------------------------------------------------------------------------------------- */
static bool get_code(const struct dl_phdr_info *object, size_t i, struct code_rule *out)
{
	const ElfW(Phdr) *p = &object->dlpi_phdr[i];

	out->kind = CODE_NATIVE;
	out->start = object->dlpi_addr + p->p_vaddr;
	out->end = out->start + p->p_memsz;
	return p->p_type == PT_LOAD && (p->p_flags & PF_X);
}

static int put_library(struct dl_phdr_info *object, size_t size, void *ctx)
{
	uint64_t runtime = *(const uint64_t *)ctx;
	struct code_rule r = {0};

	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum; i++)
		if (get_code(object, i, &r)) {
			r.runtime = runtime >= r.start && runtime < r.end;
			code_rules_put(&r);
		}
	return 0;
}

struct library_asked {
	uint64_t ip;
	struct code_rule *out;
};

static int find_library_code(struct dl_phdr_info *object, size_t size, void *ctx)
{
	const struct library_asked *asked = ctx;
	struct code_rule r = {0};

	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum; i++)
		if (get_code(object, i, &r) && asked->ip >= r.start && asked->ip < r.end) {
			*asked->out = r;
			return 1;
		}
	return 0;
}

void code_learn_begin(void *info)
{
	if (the_info)
		return;
	the_info = info;
	unloads = module_guard_unloads();
	forgotten_ns = now_ns();
	uint64_t runtime = (uintptr_t)cor_slot(info, 0);
	dl_iterate_phdr(put_library, &runtime);
}

/* Managed code --------------------------------------------------------------------------------------------------------------- */
static void take_body(const struct resolver_body *b, struct code_rule *out)
{
	size_t most = b->bytes < sizeof out->prolog ? b->bytes : sizeof out->prolog;

	*out = (struct code_rule){.start = b->piece, .end = b->piece_end, .body = b->start, .kind = CODE_MANAGED, .fleeting = b->dynamic};
	if (own_memory_open())
		out->prolog_bytes = (uint8_t)own_memory_read((uintptr_t)b->start, out->prolog, most);
	own_memory_close();
	code_frame_decode(out->prolog, out->prolog_bytes, &out->call);
}

const struct code_rule *code_learn(uint64_t ip)
{
	struct resolver_body body = {0};
	const struct code_rule *known = code_rules_own(ip);

	if (known || !the_info)
		return known;
	enum resolver_place place = resolver_find_body(the_info, ip, &body);
	if (place == RESOLVER_NOT_NOW)
		return NULL;
	fresh = (struct code_rule){.start = ip, .end = ip + 1, .kind = CODE_STUB, .fleeting = true};
	struct library_asked asked = {ip, &fresh};
	if (place == RESOLVER_BODY)
		take_body(&body, &fresh);
	else
		dl_iterate_phdr(find_library_code, &asked);
	code_rules_put(&fresh);
	return &fresh;
}

WRAPS void code_learn_want(uint64_t ip)
{
	atomic_store_explicit(&wanted[ip * 0x9e3779b97f4a7c15u >> (64 - WANTED_BITS)], ip, memory_order_relaxed);
}

/* Code of dynamic methods is collected without a word, that of modules with one. */
static void forget_stale_rules(void)
{
	uint64_t now = now_ns();
	bool unloaded = module_guard_unloads() != unloads;

	if (!unloaded && difference(now, forgotten_ns) < FLEETING_NS)
		return;
	if (!code_rules_forget(unloaded || code_rules_count() >= FULL))
		return;
	unloads = module_guard_unloads();
	forgotten_ns = now;
}

void code_learn_tick(void)
{
	forget_stale_rules();
	for (size_t i = 0; i < WANTED_SIZE; i++) {
		uint64_t ip = atomic_exchange_explicit(&wanted[i], 0, memory_order_relaxed);
		if (ip)
			code_learn(ip);
	}
}
