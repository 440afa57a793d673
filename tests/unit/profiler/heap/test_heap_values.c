/* A made-up runtime: a core library with the types that have values, and objects of them. What is told of an object is what stands in it. */
#include "profiler/base/own_memory.h"
#include "profiler/heap/heap_methods.h"
#include "profiler/heap/heap_values.h"

#include <criterion/criterion.h>
#include <string.h>

#define CORE 0x1000
#define OTHER_MODULE 0x2000
#define TASK 0x02000001u
#define BUILDER 0x02000002u
#define BOX 0x02000003u
#define SEMAPHORE 0x02000004u
#define CONTINUATION 0x02000005u
#define MACHINE 0x02000009u
#define FLAGS_FIELD 0x04000011u
#define MACHINE_FIELD 0x04000021u
#define COUNT_FIELD 0x04000031u
#define MOST_FIELD 0x04000032u
#define FIRST_FIELD 0x04000041u
#define STATE_FIELD 0x04000051u
#define RESUME_FIELD 0x04000052u

enum kind { KIND_TASK, KIND_BOX, KIND_SHARED_BOX, KIND_STRUCT, KIND_CLASS, KIND_SEMAPHORE, KIND_PLAIN, KIND_TORN, KIND_CONTINUATION, KIND_SUSPENDED, KINDS };
static uint32_t tables[KINDS][8]; /* a class begins with its flags and its size; its parent is the third word of eight bytes */
static bool unreadable;

static cor_id class_of(enum kind k)
{
	return (cor_id)tables[k];
}

static enum kind kind_of(cor_id cls)
{
	return (enum kind)((cls - (cor_id)tables) / sizeof tables[0]);
}

static bool same(const wchar16 *name, const char *text)
{
	while (*text && *name == (wchar16)*text) {
		name++;
		text++;
	}
	return *name == (wchar16)*text;
}

/* Metadata ------------------------------------------------------------------------------------------------------------------- */
static hresult find_type(void *self, const wchar16 *name, md_token enclosing, md_token *type)
{
	static const struct {
		const char *name;
		md_token enclosing, type;
	} known[] = {
		{"System.Threading.Tasks.Task", 0, TASK},
		{"System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1", 0, BUILDER},
		{"AsyncStateMachineBox`1", BUILDER, BOX},
		{"System.Threading.SemaphoreSlim", 0, SEMAPHORE},
		{"System.Runtime.CompilerServices.Continuation", 0, CONTINUATION},
	};
	(void)self;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].enclosing == enclosing && same(name, known[i].name)) {
			*type = known[i].type;
			return COR_S_OK;
		}
	return COR_E_FAIL;
}

static hresult enum_fields(void *self, void **cursor, md_token type, md_token *fields, uint32_t cap, uint32_t *count)
{
	(void)self;
	(void)cap;
	*count = 0;
	if (*cursor)
		return COR_S_FALSE;
	*cursor = &tables;
	if (type == SEMAPHORE || type == CONTINUATION) {
		fields[0] = type == SEMAPHORE ? COUNT_FIELD : STATE_FIELD;
		fields[1] = type == SEMAPHORE ? MOST_FIELD : RESUME_FIELD;
		*count = 2;
	} else if (type == TASK || type == BOX) {
		fields[0] = type == TASK ? FLAGS_FIELD : MACHINE_FIELD;
		*count = 1;
	}
	return COR_S_OK;
}

static void close_enum(void *self, void *cursor)
{
	(void)self;
	(void)cursor;
}

static hresult field_props(void *self, md_token field, md_token *type, wchar16 *name, uint32_t cap, uint32_t *len, uint32_t *attributes,
			   const uint8_t **sig, uint32_t *sig_len, uint32_t *constant_type, const void **constant, uint32_t *constant_len)
{
	const char *text = field == FLAGS_FIELD	    ? "m_stateFlags"
			   : field == MACHINE_FIELD ? "StateMachine"
			   : field == COUNT_FIELD   ? "m_currentCount"
			   : field == STATE_FIELD   ? "State"
			   : field == RESUME_FIELD  ? "ResumeInfo"
						    : "m_maxCount";
	(void)self;
	(void)type;
	(void)attributes;
	(void)sig;
	(void)sig_len;
	(void)constant_type;
	(void)constant;
	(void)constant_len;
	*len = (uint32_t)strlen(text) + 1;
	cr_assert_leq(*len, cap);
	for (uint32_t i = 0; i < *len; i++)
		name[i] = (wchar16)text[i];
	return COR_S_OK;
}

static uint32_t release(void *self)
{
	(void)self;
	return 1;
}

static void *import_table[70] = {[2] = (void *)release, [MD_FIND_TYPE_DEF_BY_NAME] = (void *)find_type, [MD_ENUM_FIELDS] = (void *)enum_fields,
				 [MD_CLOSE_ENUM] = (void *)close_enum, [MD_GET_FIELD_PROPS] = (void *)field_props};
static void **import = import_table;

/* The runtime ---------------------------------------------------------------------------------------------------------------- */
static hresult next_modules(void *self, uint32_t cap, cor_id *ids, uint32_t *count)
{
	(void)self;
	cr_assert_geq(cap, 2);
	ids[0] = OTHER_MODULE;
	ids[1] = CORE;
	*count = 2;
	return COR_S_OK;
}

static void *modules_table[10] = {[2] = (void *)release, [7] = (void *)next_modules};
static void **modules = modules_table;

static hresult enum_modules(void *self, void **out)
{
	(void)self;
	*out = &modules;
	return COR_S_OK;
}

static hresult module_meta_data(void *self, cor_id module, uint32_t flags, const void *iid, void **out)
{
	(void)self;
	(void)flags;
	(void)iid;
	*out = &import;
	return module == CORE ? COR_S_OK : COR_E_FAIL;
}

static hresult module_info(void *self, cor_id module, const uint8_t **base, uint32_t cap, uint32_t *len, wchar16 *name, cor_id *assembly)
{
	const char *text = module == CORE ? "/app/System.Private.CoreLib.dll" : "/app/NotNpgsql.dll";
	(void)self;
	(void)base;
	(void)assembly;
	*len = (uint32_t)strlen(text) + 1;
	cr_assert_leq(*len, cap);
	for (uint32_t i = 0; i < *len; i++)
		name[i] = (wchar16)text[i];
	return COR_S_OK;
}

static hresult class_info2(void *self, cor_id cls, cor_id *module, md_token *token, cor_id *parent, uint32_t cap, uint32_t *count, cor_id *args)
{
	static const md_token tokens[KINDS] = {TASK, BOX, BOX, MACHINE, MACHINE, SEMAPHORE, MACHINE, BOX, CONTINUATION};
	enum kind k = kind_of(cls);
	(void)self;
	if (k == KIND_SUSPENDED)
		return (hresult)0x80131351; /* as .NET 11 does */
	*module = k == KIND_STRUCT || k == KIND_CLASS || k == KIND_PLAIN ? OTHER_MODULE : CORE;
	*token = tokens[k];
	*parent = *token == BOX ? class_of(KIND_TASK) : 0;
	*count = *token == BOX ? 2 : 0;
	if (cap >= 2 && *token == BOX) {
		args[0] = 0;
		args[1] = class_of(k == KIND_SHARED_BOX ? KIND_CLASS : KIND_STRUCT);
	}
	return COR_S_OK;
}

static hresult class_layout(void *self, cor_id cls, struct cor_field_offset *fields, uint32_t cap, uint32_t *count, uint32_t *bytes)
{
	static const struct cor_field_offset of[KINDS][3] = {
		[KIND_TASK] = {{FLAGS_FIELD, 12}}, [KIND_BOX] = {{MACHINE_FIELD, 16}}, [KIND_SHARED_BOX] = {{MACHINE_FIELD, 16}},
		[KIND_STRUCT] = {{FIRST_FIELD + 1, 0}, {FIRST_FIELD, 8}}, [KIND_CLASS] = {{FIRST_FIELD + 1, 8}, {FIRST_FIELD, 20}},
		[KIND_SEMAPHORE] = {{MOST_FIELD, 20}, {COUNT_FIELD, 16}}, [KIND_TORN] = {{MACHINE_FIELD, 4000}},
		[KIND_CONTINUATION] = {{RESUME_FIELD, 16}, {STATE_FIELD, 28}},
	};
	(void)self;
	(void)bytes;
	if (unreadable)
		return COR_E_FAIL;
	for (*count = 0; *count < 3 && *count < cap && of[kind_of(cls)][*count].field; (*count)++)
		fields[*count] = of[kind_of(cls)][*count];
	return COR_S_OK;
}

static hresult box_layout(void *self, cor_id cls, uint32_t *offset)
{
	(void)self;
	*offset = 8;
	return cls == class_of(KIND_STRUCT) ? COR_S_OK : COR_E_FAIL;
}

/* Of code that is at an odd address there is no function. */
static hresult function_from_ip3(void *self, uintptr_t ip, cor_id *function, cor_id *rejit)
{
	(void)self;
	*rejit = 0;
	*function = ip & ~(uintptr_t)0xff;
	return ip % 2 ? COR_E_FAIL : COR_S_OK;
}

static hresult is_function_dynamic(void *self, cor_id function, int32_t *dynamic)
{
	(void)self;
	(void)function;
	*dynamic = 1;
	return COR_S_OK;
}

static void *info_table[120] = {
	[INFO_GET_FUNCTION_FROM_IP3] = (void *)function_from_ip3,
	[INFO_IS_FUNCTION_DYNAMIC] = (void *)is_function_dynamic,
	[INFO_ENUM_MODULES] = (void *)enum_modules,	    [INFO_GET_MODULE_META_DATA] = (void *)module_meta_data,
	[INFO_GET_MODULE_INFO] = (void *)module_info,
	[INFO_GET_CLASS_ID_INFO2] = (void *)class_info2,    [INFO_GET_CLASS_LAYOUT] = (void *)class_layout,
	[INFO_GET_BOX_CLASS_LAYOUT] = (void *)box_layout,
};
static void **info = info_table;

/* The values of one object whose first words these are. */
static size_t values_of(enum kind k, const void *object, uint32_t size, int32_t *out)
{
	uint8_t bytes[64];
	struct heap_writer w = {.at = bytes, .limit = bytes + sizeof bytes};
	struct heap_class c = {.id = class_of(k), .base_size = size};
	size_t n = 0;

	tables[k][1] = size;
	heap_values_learn(&info, &c);
	cr_assert_eq(!c.values, !(c.flags & HEAP_TYPE_VALUES));
	if (!c.values)
		return 0;
	heap_values_put(&info, &w, &c, (cor_id)object);
	for (const uint8_t *at = bytes; at < w.at; n++) {
		uint64_t v = 0;
		int shift = 0;
		do
			v |= (uint64_t)(*at & 0x7f) << shift, shift += 7;
		while (*at++ & 0x80);
		out[n] = (int32_t)(v >> 1 ^ (0 - (v & 1)));
	}
	return n;
}

Test(heap_values, what_stands_in_objects_is_told)
{
	const uint64_t task[] = {class_of(KIND_TASK), UINT64_C(0x2000400) << 32, 0};
	const uint64_t box[] = {class_of(KIND_BOX), UINT64_C(0x2000401) << 32, 7, 5, 0};
	const uint64_t semaphore[] = {class_of(KIND_SEMAPHORE), 0, UINT64_C(9) << 32 | 3, 0};
	const uint64_t plain[] = {class_of(KIND_PLAIN), 1, 2};
	int32_t v[8];

	cr_assert(heap_values_find(&info));
	cr_assert_eq(values_of(KIND_TASK, task, sizeof task, v), 1);
	cr_expect_eq(v[0], 0x2000400);
	cr_assert_eq(values_of(KIND_BOX, box, sizeof box, v), 2);
	cr_expect(v[0] == 0x2000401 && v[1] == 5, "the field of the first token, wherever it lies");
	cr_assert_eq(values_of(KIND_SEMAPHORE, semaphore, sizeof semaphore, v), 2);
	cr_expect(v[0] == 3 && v[1] == 9);
	cr_expect_eq(values_of(KIND_PLAIN, plain, sizeof plain, v), 0);
}

Test(heap_values, a_state_machine_may_be_an_object)
{
	uint64_t machine[] = {class_of(KIND_CLASS), 0, UINT64_C(6) << 32, 0};
	uint64_t box[] = {class_of(KIND_SHARED_BOX), 0, (uint64_t)(uintptr_t)machine, 0};
	int32_t v[8];

	tables[KIND_CLASS][1] = sizeof machine;
	cr_assert(heap_values_find(&info));
	cr_assert_eq(values_of(KIND_SHARED_BOX, box, sizeof box, v), 2);
	cr_expect_eq(v[1], 6);
	box[2] = 0;
	cr_assert_eq(values_of(KIND_SHARED_BOX, box, sizeof box, v), 2);
	cr_expect_eq(v[1], HEAP_STATE_UNKNOWN);
}

Test(heap_values, a_layout_that_cannot_be_is_not_read)
{
	const uint64_t box[] = {class_of(KIND_TORN), UINT64_C(1) << 32, 0, 0};
	int32_t v[8];

	cr_assert(heap_values_find(&info));
	cr_assert_eq(values_of(KIND_TORN, box, sizeof box, v), 1, "its flags alone");
	unreadable = true;
	cr_expect_eq(values_of(KIND_TORN, box, sizeof box, v), 0);
}

static void note_parent(enum kind k, enum kind parent)
{
	const uint64_t word = class_of(parent);
	memcpy(&tables[k][4], &word, sizeof word);
}

/* The object of a class that is in no metadata; `resume` is what it refers to. */
static size_t suspended_values(const void *resume, int32_t *out)
{
	const uint64_t object[] = {class_of(KIND_SUSPENDED), 0, (uint64_t)(uintptr_t)resume, UINT64_C(5) << 32, 1, 2};
	return values_of(KIND_SUSPENDED, object, sizeof object, out);
}

static void learn_parents(void)
{
	const uint64_t box[] = {class_of(KIND_BOX), UINT64_C(0x2000401) << 32, 7, 5, 0};
	int32_t v[8];

	note_parent(KIND_SUSPENDED, KIND_CONTINUATION);
	note_parent(KIND_BOX, KIND_TASK);
	cr_assert(own_memory_open() && heap_values_find(&info));
	cr_expect_eq(suspended_values(NULL, v), 0, "nothing says yet that parents are where they are thought to be");
	cr_assert_eq(values_of(KIND_BOX, box, sizeof box, v), 2);
}

Test(heap_values, a_class_without_metadata_has_what_its_parent_has)
{
	static const uint64_t first[] = {0x1111, 0x7f00}, second[] = {0x1112, 0x8a02}, helper[] = {0x1113, 0};
	int32_t v[8];

	learn_parents();
	cr_assert_eq(suspended_values(first, v), 2);
	cr_expect(v[0] == 5 && v[1] == 1);
	cr_assert_eq(suspended_values(second, v), 2);
	cr_expect_eq(v[1], 2);
	cr_assert_eq(suspended_values(first, v), 2);
	cr_expect_eq(v[1], 1, "the same one");
	cr_assert_eq(suspended_values(helper, v), 2);
	cr_expect_eq(v[1], 0, "of no method");
	cr_assert_eq(suspended_values((const void *)8, v), 2);
	cr_expect_eq(v[1], HEAP_METHOD_UNKNOWN, "nothing is there");
	cr_assert_eq(suspended_values(NULL, v), 2);
	cr_expect_eq(v[1], 0);
}

Test(heap_values, parents_that_are_elsewhere_are_not_read)
{
	int32_t v[8];

	note_parent(KIND_BOX, KIND_SEMAPHORE);
	note_parent(KIND_SUSPENDED, KIND_CONTINUATION);
	cr_assert(own_memory_open() && heap_values_find(&info));
	const uint64_t box[] = {class_of(KIND_BOX), UINT64_C(0x2000401) << 32, 7, 5, 0};
	cr_assert_eq(values_of(KIND_BOX, box, sizeof box, v), 2);
	note_parent(KIND_BOX, KIND_TASK);
	cr_assert_eq(values_of(KIND_BOX, box, sizeof box, v), 2);
	cr_expect_eq(suspended_values("0123456789abcdef", v), 0);
}

static bool no_block(struct heap_writer *w)
{
	(void)w;
	return false;
}

Test(heap_values, methods_are_told_by_the_functions_at_their_addresses)
{
	static const uint64_t first[] = {1, 0x7f10}, helper[] = {2, 0}, odd[] = {3, 0x7f11};
	uint8_t bytes[256];
	struct heap_writer w = {.at = bytes, .limit = bytes + sizeof bytes - HEAP_PUT_MAX, .more = no_block};
	struct heap_cursor c;

	cr_assert(own_memory_open());
	heap_methods_reset();
	cr_expect(heap_methods_number((uintptr_t)first) == 1 && heap_methods_number((uintptr_t)helper) == 0 && heap_methods_number((uintptr_t)odd) == 3);
	cr_assert(heap_methods_put(&info, &w));
	heap_cursor_init(&c, bytes, (size_t)(w.at - bytes), NULL, 0, false);
	const uint64_t functions[] = {0x7f00, 0, 0};
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(heap_cursor_next(&c), HEAP_METHOD);
		cr_expect(c.method.index == i && c.method.function_id == functions[i], "%u: %lx", i, c.method.function_id);
	}
	cr_expect_eq(heap_cursor_next(&c), HEAP_MORE);
}

Test(heap_values, no_more_methods_than_there_is_room_for)
{
	static uint64_t many[HEAP_METHODS_MAX + 1][2];

	cr_assert(own_memory_open());
	heap_methods_reset();
	for (size_t i = 0; i <= HEAP_METHODS_MAX; i++)
		many[i][1] = 0x1000 + i;
	for (size_t i = 0; i < HEAP_METHODS_MAX; i++)
		cr_assert_eq(heap_methods_number((uintptr_t)many[i]), (int32_t)i + 1);
	cr_expect_eq(heap_methods_number((uintptr_t)many[HEAP_METHODS_MAX]), HEAP_METHOD_UNKNOWN);
	cr_expect_eq(heap_methods_number((uintptr_t)many[7]), 8);
	heap_methods_reset();
	cr_expect_eq(heap_methods_number((uintptr_t)many[HEAP_METHODS_MAX]), 1);
}
