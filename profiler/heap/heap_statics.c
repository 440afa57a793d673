/* Context: own thread (find); whoever walks (put). */
#include "profiler/heap/heap_statics.h"

#include "common/proto/difference.h"
#include "profiler/heap/heap_classes.h"
#include "profiler/heap/heap_fields.h"
#include "profiler/heap/heap_gaps.h"
#include "profiler/heap/heap_generics.h"
#include "profiler/heap/heap_threads.h"
#include "profiler/clr/module_guard.h"
#include "profiler/base/now.h"
#include "profiler/clr/runtime_thread.h"

#ifndef HEAP_STATICS_CAP /* a test's library has fewer */
#define HEAP_STATICS_CAP 32768u
#endif
#define BARE_MAX 1024u
#define LOOK_AT_CLOCK 256u
#define TYPES_AT_ONCE 32u
#define FIELD_STATIC 0x10u
#define FIELD_LITERAL 0x40u

struct heap_static {
	cor_id cls, domain, module;
	uintptr_t slot; /* 0: of each thread another */
	md_token field;
	bool boxed;
	bool asked; /* of a collectible type: where it lies is asked for when it is read */
};

static struct heap_static statics[HEAP_STATICS_CAP];
static uint32_t count, unfit; /* unfit: there is no place for them */
static struct bare { /* a type with statics and no method */
	cor_id module, domain;
	md_token type;
} bares[BARE_MAX];
static uint32_t bare_count;
static bool looked_up; /* the bares */

struct looks { /* at thread statics, thread by thread */
	uint64_t end_ns, due, made;
	bool over;
};

struct finding {
	void *info, *import;
	cor_id module, domain;
};

static void append_static(const struct heap_static *s)
{
	if (count < HEAP_STATICS_CAP)
		statics[count++] = *s;
	else
		unfit++;
}

static void add_static_field(const struct finding *f, cor_id cls, md_token field)
{
	struct heap_static s = {.cls = cls, .domain = f->domain, .module = f->module, .field = field, .asked = heap_class_collectible(cls)};
	const uint8_t *sig = NULL;
	uint32_t attributes = 0, len = 0, sig_len = 0, kind = 0;

	if (md_get_field_props(f->import, field, NULL, 0, &len, &attributes, &sig, &sig_len) < 0 || !sig ||
	    !(attributes & FIELD_STATIC) || attributes & FIELD_LITERAL)
		return;
	enum heap_holds holds = heap_fields_hold(sig, sig_len);
	if (holds == HEAP_HOLDS_NOTHING || info_get_static_field_info(f->info, cls, field, &kind) < 0)
		return;
	s.boxed = holds == HEAP_HOLDS_VALUE;
	if (kind & COR_STATIC_THREAD && !s.boxed && !s.asked)
		append_static(&s);
	else if (kind == COR_STATIC_APP_DOMAIN && info_get_app_domain_static_address(f->info, cls, field, f->domain, &s.slot) >= 0 && s.slot)
		append_static(&s);
}

/* By its first method: a look-up by the type's own token is not possible on own thread. 0: the class is not loaded, or generic; *bare: it has
 * no method. */
static cor_id class_by_first_method(const struct finding *f, md_token type, bool *bare)
{
	void *cursor = NULL;
	md_token method = 0, token = 0;
	cor_id function = 0, cls = 0, module = 0;
	uint32_t n = 0;

	bool has = md_enum_methods(f->import, &cursor, type, &method, 1, &n) >= 0 && n == 1;
	md_close_enum(f->import, cursor);
	*bare = !has;
	if (!has || info_get_function_from_token(f->info, f->module, method, &function) < 0 || !function ||
	    info_get_function_info(f->info, function, &cls, &module, &token) < 0)
		return 0;
	return cls;
}

static void add_static_fields(const struct finding *f, md_token type, cor_id cls)
{
	void *cursor = NULL;
	md_token fields[32];
	uint32_t n;

	if (!cls)
		return;
	while (n = 0, md_enum_fields(f->import, &cursor, type, fields, 32, &n) >= 0 && n > 0)
		for (uint32_t i = 0; i < n; i++)
			add_static_field(f, cls, fields[i]);
	md_close_enum(f->import, cursor);
}

static bool has_static(const struct finding *f, md_token type)
{
	void *cursor = NULL;
	md_token fields[8];
	uint32_t n = 0, attributes = 0, len = 0, sig_len = 0;
	const uint8_t *sig = NULL;
	bool found = false;

	if (md_enum_fields(f->import, &cursor, type, fields, 8, &n) < 0)
		n = 0;
	for (uint32_t i = 0; i < n && !found; i++)
		found = md_get_field_props(f->import, fields[i], NULL, 0, &len, &attributes, &sig, &sig_len) >= 0 && sig &&
			attributes & FIELD_STATIC && !(attributes & FIELD_LITERAL) && heap_fields_hold(sig, sig_len) != HEAP_HOLDS_NOTHING;
	md_close_enum(f->import, cursor);
	return found;
}

static void add_type_statics(const struct finding *f, md_token type)
{
	bool bare;
	cor_id cls = class_by_first_method(f, type, &bare);

	if (bare && has_static(f, type)) {
		if (bare_count < BARE_MAX)
			bares[bare_count++] = (struct bare){f->module, f->domain, type};
		else
			unfit++;
	}
	add_static_fields(f, type, cls);
}

/* Between module_guard_enter() and _leave(). */
static void add_module_statics(const struct finding *f)
{
	void *cursor = NULL;
	md_token types[TYPES_AT_ONCE];
	uint32_t n;

	while (n = 0, md_enum_type_defs(f->import, &cursor, types, TYPES_AT_ONCE, &n) >= 0 && n > 0) {
		for (uint32_t i = 0; i < n; i++)
			add_type_statics(f, types[i]);
		if (!module_guard_yield(f->module))
			return;
	}
	md_close_enum(f->import, cursor);
	cor_release(f->import);
}

static void add_generic(void *ctx, cor_id cls, md_token field, uintptr_t slot)
{
	const struct finding *f = ctx;

	append_static(&(struct heap_static){.cls = cls, .domain = f->domain, .module = f->module, .field = field, .slot = slot});
}

static void add_module(void *info, cor_id module, bool generics)
{
	struct finding f = {.info = info, .module = module};

	module_guard_enter();
	if (!module_guard_gone(module) && info_get_app_domain_of_module(info, module, &f.domain) >= 0 &&
	    info_get_module_meta_data(info, module, &f.import) == COR_S_OK && f.import)
		add_module_statics(&f);
	if (generics && !module_guard_gone(module))
		heap_generics_find(module, add_generic, &f);
	module_guard_leave();
}

/* On a thread on which they can be looked up. */
static void add_bares(void *info)
{
	looked_up = true;
	for (uint32_t i = 0; i < bare_count; i++) {
		struct finding f = {.info = info, .module = bares[i].module, .domain = bares[i].domain};
		cor_id cls = 0;
		module_guard_enter();
		if (!module_guard_gone(f.module) && info_get_class_from_token(info, f.module, bares[i].type, &cls) >= 0 && cls &&
		    info_get_module_meta_data(info, f.module, &f.import) == COR_S_OK && f.import) {
			add_static_fields(&f, bares[i].type, cls);
			cor_release(f.import);
		}
		module_guard_leave();
	}
}

void heap_statics_find(void *info, bool generics)
{
	void *list = NULL;
	cor_id modules[32];
	uint32_t n;

	count = bare_count = unfit = 0;
	heap_generics_begin(info);
	if (info_enum(info, INFO_ENUM_MODULES, &list) < 0 || !list)
		return;
	while (n = 0, enum_next(list, sizeof modules / sizeof *modules, modules, &n) >= 0 && n > 0)
		for (uint32_t i = 0; i < n; i++)
			add_module(info, modules[i], generics);
	cor_release(list);
	looked_up = !bare_count;
	if (bare_count)
		runtime_thread_run(info, add_bares, info);
	if (!looked_up)
		heap_gaps_note(HEAP_GAP_BARE_TYPES, bare_count, 0);
	if (unfit)
		heap_gaps_note(HEAP_GAP_STATICS, (uint64_t)count + unfit, count);
}

/* A value type's static lies in a box, behind the box's class. */
static cor_id static_value(const struct heap_static *s, uintptr_t slot)
{
	return s->boxed ? difference(slot, 8) : *(const cor_id *)slot;
}

static bool put_static_root(struct heap_writer *w, const struct heap_static *s, uintptr_t slot, uint32_t thread, uint32_t *index)
{
	const uint8_t kind = s->slot ? HEAP_ROOT_STATIC : HEAP_ROOT_THREAD_STATIC;
	cor_id object = static_value(s, slot);
	const struct heap_static_record field = {*index, slot, s->cls, s->field, kind};
	const struct heap_root_record root = {.kind = kind, .id = *index + !s->slot, .thread = thread, .object = object};

	if (!object)
		return true;
	++*index;
	return heap_put_static(w, &field) && heap_put_root(w, &root);
}

static bool statics_in_time(struct looks *l)
{
	l->over = l->over || (l->due % LOOK_AT_CLOCK == 0 && now_ns() >= l->end_ns);
	return !l->over;
}

static bool put_of_threads(void *info, struct heap_writer *w, const struct heap_static *s, uint32_t *index, struct looks *l)
{
	for (uint32_t t = 0; t < heap_threads_count(); t++, l->due++) {
		uintptr_t slot = 0;
		if (!statics_in_time(l))
			continue;
		l->made++;
		if (info_get_thread_static_address2(info, s->cls, s->field, s->domain, heap_threads_get(t)->id, &slot) >= 0 && slot &&
		    !put_static_root(w, s, slot, t + 1, index))
			return false;
	}
	return true;
}

/* A collection may have taken the type that an unload has not been announced of yet. */
static bool is_there(void *info, struct heap_static *s)
{
	if (module_guard_gone(s->module))
		return false;
	return !s->asked || (info_get_app_domain_static_address(info, s->cls, s->field, s->domain, &s->slot) >= 0 && s->slot);
}

bool heap_statics_put(void *info, struct heap_sink *sink, uint64_t threads_end_ns)
{
	struct looks l = {.end_ns = threads_end_ns};
	uint32_t index = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct heap_static *s = &statics[i];
		if (i % LOOK_AT_CLOCK == 0 && !heap_sink_in_time(sink))
			return false;
		if (!is_there(info, s))
			continue;
		if (s->slot ? !put_static_root(&sink->w, s, s->slot, 0, &index) : threads_end_ns && !put_of_threads(info, &sink->w, s, &index, &l))
			return false;
	}
	if (l.over)
		heap_gaps_note(HEAP_GAP_THREAD_STATICS, l.due, l.made);
	return true;
}

bool heap_statics_stay(cor_id cls)
{
	for (uint32_t i = 0; i < count; i++)
		if (statics[i].cls == cls)
			return !statics[i].asked;
	return false;
}
