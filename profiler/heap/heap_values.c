/* Context: own thread (find); whoever walks (learn, put). */
#include "profiler/heap/heap_values.h"

#include "common/proto/difference.h"
#include "profiler/heap/heap_methods.h"
#include "profiler/clr/module_guard.h"

#define MODULES_MAX 1024u
#define NAME_CAP 64
#define PATH_CAP 1024
#define FIELDS_MAX 512u
#define FIELDS_AT_ONCE 32u
#define ARGS_MAX 8u
#define BASES_MAX 16
#define PLACES_MAX 16384u   /* classes with values */
#define MACHINES_BITS 10    /* classes of state machines that are objects of their own */
#define MACHINES_SIZE (1u << MACHINES_BITS)
#define OBJECT_HEAD 8
#define PARENT_WORD 2       /* of a class: MethodTable.ParentMethodTable, as the runtime's contract descriptor has it in .NET 9 to 11 */
#define COR_E_DATA_INCOMPLETE ((hresult)0x80131351) /* CORPROF_E_DATAINCOMPLETE */

/* What is looked for, by the names in the core library (module NULL), or in the module of this name. In a box the state is that of the machine in its
 * field. */
static const struct sought {
	const wchar16 *type, *nested, *field;
	enum heap_value value;
	const wchar16 *module;
} sought[] = {
	{u"System.Threading.Tasks.Task", NULL, u"m_stateFlags", HEAP_VALUE_TASK, NULL},
	{u"System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1", u"AsyncStateMachineBox`1", u"StateMachine", HEAP_VALUE_STATE, NULL},
	{u"System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder`1", u"StateMachineBox`1", u"StateMachine", HEAP_VALUE_STATE, NULL},
	{u"System.Runtime.CompilerServices.Continuation", NULL, u"State", HEAP_VALUE_STATE, NULL},
	{u"System.Runtime.CompilerServices.Continuation", NULL, u"ResumeInfo", HEAP_VALUE_METHOD, NULL},
	{u"System.Threading.SemaphoreSlim", NULL, u"m_currentCount", HEAP_VALUE_COUNT, NULL},
	{u"System.Threading.SemaphoreSlim", NULL, u"m_maxCount", HEAP_VALUE_MOST, NULL},
	{u"System.Threading.Tasks.TaskExceptionHolder", NULL, u"m_isHandled", HEAP_VALUE_HANDLED, NULL},
	{u"System.Net.Http.HttpConnectionPool", NULL, u"_associatedHttp11ConnectionCount", HEAP_VALUE_OPEN, u"System.Net.Http.dll"},
	{u"System.Net.Http.HttpConnectionPool", NULL, u"_maxHttp11Connections", HEAP_VALUE_LIMIT, u"System.Net.Http.dll"},
	{u"Npgsql.PoolingDataSource", NULL, u"_numConnectors", HEAP_VALUE_OPEN, u"Npgsql.dll"},
	{u"Npgsql.PoolingDataSource", NULL, u"<MaxConnections>k__BackingField", HEAP_VALUE_LIMIT, u"Npgsql.dll"},
	{u"Npgsql.PoolingDataSource", NULL, u"_idleCount", HEAP_VALUE_IDLE, u"Npgsql.dll"},
};
#define SOUGHT (sizeof sought / sizeof *sought)

static struct found {
	md_token type, field; /* 0: there is none */
	cor_id module;
} found[SOUGHT];
static cor_id core;

/* Where the values of a class stand, by their order in enum heap_value. */
struct place {
	uint16_t at[HEAP_VALUES_MAX];
	uint16_t machine; /* the state stands in the object that is referred to here; 0: in this one */
};
static struct place places[PLACES_MAX];
static uint32_t place_count;
static enum { PARENTS_UNKNOWN, PARENTS_NOTED, PARENTS_ELSEWHERE } parents; /* by those classes that the runtime tells the parent of */
static struct machine {
	cor_id cls;
	uint16_t state; /* 0: not known */
} machines[MACHINES_SIZE];

/* Before the stop -------------------------------------------------------------------------------------------------------------- */
static bool same_wide(const wchar16 *a, const wchar16 *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static md_token field_named(void *import, md_token type, const wchar16 *wanted)
{
	void *cursor = NULL;
	md_token fields[FIELDS_AT_ONCE], hit = 0;
	uint32_t n;

	while (n = 0, !hit && md_enum_fields(import, &cursor, type, fields, FIELDS_AT_ONCE, &n) >= 0 && n > 0)
		for (uint32_t i = 0; i < n && !hit; i++) {
			wchar16 name[NAME_CAP] = {0};
			uint32_t len = 0, attributes = 0, sig_len = 0;
			const uint8_t *sig = NULL;
			if (md_get_field_props(import, fields[i], name, NAME_CAP - 1, &len, &attributes, &sig, &sig_len) >= 0 && same_wide(name, wanted))
				hit = fields[i];
		}
	md_close_enum(import, cursor);
	return hit;
}

static void find_one(void *import, cor_id module, const struct sought *s, struct found *out)
{
	md_token type = 0;

	if (md_find_type_def_by_name(import, s->type, 0, &type) < 0 || (s->nested && md_find_type_def_by_name(import, s->nested, type, &type) < 0))
		return;
	*out = (struct found){type, field_named(import, type, s->field), module};
}

/* The module's file has this name, in whatever folder. */
static bool is_file(const wchar16 *path, uint32_t len, const wchar16 *name)
{
	uint32_t n = 0;

	while (name[n])
		n++;
	return len >= n && same_wide(path + difference(len, n), name) && (len == n || path[difference(len, n + 1)] == u'/');
}

static bool is_library_sought(void *info, cor_id module, uint32_t i)
{
	static wchar16 path[PATH_CAP];
	uint32_t len = 0;

	if (!sought[i].module || info_get_module_info(info, module, PATH_CAP, &len, path) < 0)
		return false;
	for (len = 0; len < PATH_CAP - 1 && path[len];)
		len++;
	path[len] = 0;
	return is_file(path, len, sought[i].module);
}

static void find_in_module(void *info, cor_id module)
{
	void *import = NULL;
	md_token task = 0;

	if (module_guard_gone(module) || info_get_module_meta_data(info, module, &import) != COR_S_OK || !import)
		return;
	bool is_core = !core && md_find_type_def_by_name(import, sought[0].type, 0, &task) >= 0;
	for (uint32_t i = 0; i < SOUGHT; i++)
		if (sought[i].module ? is_library_sought(info, module, i) : is_core)
			find_one(import, module, &sought[i], &found[i]);
	cor_release(import);
	if (is_core)
		core = module;
}

bool heap_values_find(void *info)
{
	static cor_id modules[MODULES_MAX];
	uint32_t count = 0;
	void *list = NULL;

	core = 0;
	heap_methods_reset();
	place_count = 1; /* [0] is none */
	parents = PARENTS_UNKNOWN;
	for (uint32_t i = 0; i < SOUGHT; i++)
		found[i] = (struct found){0};
	for (uint32_t i = 0; i < MACHINES_SIZE; i++)
		machines[i] = (struct machine){0};
	if (info_enum(info, INFO_ENUM_MODULES, &list) < 0 || !list)
		return false;
	if (enum_next(list, MODULES_MAX, modules, &count) < 0)
		count = 0;
	cor_release(list);
	module_guard_enter();
	for (uint32_t i = 0; i < count; i++)
		find_in_module(info, modules[i]);
	module_guard_leave();
	return core != 0 && found[0].field != 0;
}

/* In the walk ------------------------------------------------------------------------------------------------------------------ */
static struct cor_field_offset layout[FIELDS_MAX]; /* one walks at a time */

static uint32_t fields_of(void *info, cor_id cls)
{
	uint32_t count = 0, bytes = 0;

	if (info_get_class_layout(info, cls, layout, FIELDS_MAX, &count, &bytes) < 0)
		return 0;
	return count < FIELDS_MAX ? count : FIELDS_MAX;
}

static bool offset_of(void *info, cor_id cls, md_token field, uint32_t *out)
{
	uint32_t count = fields_of(info, cls);

	for (uint32_t i = 0; i < count; i++)
		if (layout[i].field == field) {
			*out = layout[i].offset;
			return true;
		}
	return false;
}

/* Compilers declare the state before all else. */
static bool state_offset(void *info, cor_id machine, uint32_t *out)
{
	uint32_t count = fields_of(info, machine), first = 0;

	for (uint32_t i = 1; i < count; i++)
		if (layout[i].field < layout[first].field)
			first = i;
	if (count)
		*out = layout[first].offset;
	return count > 0;
}

static bool place_state(void *info, cor_id box, uint32_t at, struct place *out, uint16_t *slot)
{
	cor_id args[ARGS_MAX], module = 0;
	uint32_t count = 0, inner = 0, boxed = 0;
	md_token token = 0;

	if (info_get_class_id_info2(info, box, &module, &token, ARGS_MAX, &count, args) < 0 || count == 0 || count > ARGS_MAX)
		return false;
	cor_id machine = args[count - 1];
	if (info_get_box_class_layout(info, machine, &boxed) < 0) { /* a reference */
		out->machine = (uint16_t)at;
		return at != 0;
	}
	if (!state_offset(info, machine, &inner) || at + inner > UINT16_MAX)
		return false;
	*slot = (uint16_t)(at + inner);
	return true;
}

static uint32_t order_of(uint16_t values, enum heap_value value)
{
	uint32_t before = 0;

	for (unsigned left = values & (unsigned)difference((unsigned)value, 1); left; left &= left - 1)
		before++;
	return before;
}

/* Sorted by kind when all are known: a class has a task's flags and a state, or a semaphore's two numbers, or one. */
static void learn_level(void *info, cor_id cls, cor_id module, md_token token, uint32_t base_size, uint16_t *values, uint16_t at[], struct place *place)
{
	for (uint32_t i = 0; i < SOUGHT; i++) {
		const struct sought *s = &sought[i];
		uint32_t offset = 0;
		if (found[i].type != token || found[i].module != module || !found[i].field || !offset_of(info, cls, found[i].field, &offset))
			continue;
		uint16_t slot = (uint16_t)offset;
		if (s->value == HEAP_VALUE_STATE && s->nested && !place_state(info, cls, offset, place, &slot))
			continue;
		if (slot < OBJECT_HEAD || slot + (s->value == HEAP_VALUE_METHOD ? 8u : 4u) > base_size)
			continue;
		at[__builtin_ctz(s->value)] = slot;
		*values |= (uint16_t)s->value;
	}
}

/* The classes that the runtime makes of suspended methods are none of which it tells the parent. It stands in the class, where that of others does. */
static bool parent_of(void *info, cor_id cls, cor_id *module, md_token *token, cor_id *parent)
{
	cor_id noted = ((const cor_id *)cls)[PARENT_WORD];
	hresult hr = info_get_parent_class(info, cls, module, token, parent);

	if (hr >= 0 && *parent && parents != PARENTS_ELSEWHERE)
		parents = noted == *parent ? PARENTS_NOTED : PARENTS_ELSEWHERE;
	if (hr != COR_E_DATA_INCOMPLETE || parents != PARENTS_NOTED)
		return hr >= 0;
	*parent = noted;
	return true;
}

void heap_values_learn(void *info, struct heap_class *c)
{
	struct place place = {0};
	uint16_t at[HEAP_VALUES_MAX] = {0};
	uint16_t values = 0;
	cor_id cls = c->id;

	if (c->flags & (HEAP_TYPE_VARIABLE | HEAP_TYPE_COLLECTIBLE) || place_count == PLACES_MAX)
		return;
	for (int i = 0; cls && i < BASES_MAX; i++) {
		cor_id module = 0, parent = 0;
		md_token token = 0;
		if (!parent_of(info, cls, &module, &token, &parent))
			break;
		learn_level(info, cls, module, token, c->base_size, &values, at, &place);
		cls = parent;
	}
	if (!values)
		return;
	for (uint16_t left = values; left; left &= (uint16_t)(left - 1))
		place.at[order_of(values, (enum heap_value)(left & -left))] = at[__builtin_ctz(left)];
	c->values = values;
	c->values_at = (uint16_t)place_count;
	c->flags |= HEAP_TYPE_VALUES;
	places[place_count++] = place;
}

/* HEAP_STATE_UNKNOWN: it cannot be read. */
static WRAPS int32_t state_elsewhere(void *info, cor_id machine)
{
	if (!machine)
		return HEAP_STATE_UNKNOWN;
	cor_id cls = object_class(machine);
	struct machine *m = &machines[((uint64_t)cls >> 3) * 0x9e3779b97f4a7c15u >> (64 - MACHINES_BITS)];
	if (m->cls != cls) {
		uint32_t at = 0;
		bool known = state_offset(info, cls, &at) && at >= OBJECT_HEAD && at + 4 <= ((const uint32_t *)cls)[1];
		*m = (struct machine){cls, known ? (uint16_t)at : 0};
	}
	return m->state ? *(const int32_t *)(machine + m->state) : HEAP_STATE_UNKNOWN;
}

void heap_values_put(void *info, struct heap_writer *w, const struct heap_class *c, cor_id object)
{
	const struct place *p = &places[c->values_at];
	uint32_t i = 0;

	for (uint16_t left = c->values; left; left &= (uint16_t)(left - 1), i++) {
		unsigned value = left & (unsigned)-left;
		if (value == HEAP_VALUE_STATE && p->machine)
			heap_put_value(w, state_elsewhere(info, *(const cor_id *)(object + p->machine)));
		else if (value == HEAP_VALUE_METHOD)
			heap_put_value(w, heap_methods_number(*(const uintptr_t *)(object + p->at[i])));
		else if (value == HEAP_VALUE_HANDLED)
			heap_put_value(w, *(const uint8_t *)(object + p->at[i]));
		else
			heap_put_value(w, *(const int32_t *)(object + p->at[i]));
	}
}
