#include "agent/locks/runtime_contract.h"

#include "agent/locks/dac_table.h"
#include "common/base/cleanup.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define OFFSET_MAX 65536 /* of a field */
#define TOKEN_BITS_MAX 16 /* of a method, that are kept beside it */
#define NOT_OPTIONAL UINT32_MAX
#define AS_BEFORE (UINT32_MAX - 1)

struct head { /* as it lies in memory */
	char magic[8];
	uint32_t flags, text_bytes;
	uint64_t text;
	uint32_t pointer_count, padding;
	uint64_t pointers;
};

struct wanted_field {
	const char *type, *field;
	size_t at; /* in struct runtime_contract */
	uint32_t otherwise; /* what holds where it is not told; NOT_OPTIONAL; AS_BEFORE: another row's is the same field, by the name of another version */
};

static const struct wanted_field wanted_fields[] = {
	{"Thread", "Id", offsetof(struct runtime_contract, thread_id), NOT_OPTIONAL},
	{"Thread", "OSId", offsetof(struct runtime_contract, thread_os_id), NOT_OPTIONAL},
	{"Thread", "LinkNext", offsetof(struct runtime_contract, thread_next), NOT_OPTIONAL},
	{"Thread", "GCHandle", offsetof(struct runtime_contract, thread_handle), 0},
	{"Thread", "ExposedObject", offsetof(struct runtime_contract, thread_handle), AS_BEFORE}, /* .NET 11 */
	{"SyncBlock", "Lock", offsetof(struct runtime_contract, monitor_lock), 0},
	{"ThreadStore", "FirstThreadLink", offsetof(struct runtime_contract, store_first), NOT_OPTIONAL},
	{"MethodTable", "MTFlags", offsetof(struct runtime_contract, type_flags), NOT_OPTIONAL},
	{"MethodTable", "MTFlags2", offsetof(struct runtime_contract, type_flags2), NOT_OPTIONAL},
	{"MethodTable", "BaseSize", offsetof(struct runtime_contract, type_base_size), NOT_OPTIONAL},
	{"MethodTable", "Module", offsetof(struct runtime_contract, type_module), NOT_OPTIONAL},
	{"MethodTable", "EEClassOrCanonMT", offsetof(struct runtime_contract, type_class), NOT_OPTIONAL},
	{"EEClass", "MethodTable", offsetof(struct runtime_contract, class_type), NOT_OPTIONAL},
	{"Module", "Base", offsetof(struct runtime_contract, module_base), NOT_OPTIONAL},
};

#define CODE_AT(field) offsetof(struct runtime_contract, code.field)

static const struct wanted_field code_fields[] = {
	{"MethodDesc", "Flags3AndTokenRemainder", CODE_AT(method_token), NOT_OPTIONAL},
	{"MethodDesc", "ChunkIndex", CODE_AT(method_chunk), NOT_OPTIONAL},
	{"MethodDesc", "Flags", CODE_AT(method_flags), NOT_OPTIONAL},
	{"MethodDescChunk", "MethodTable", CODE_AT(chunk_type), NOT_OPTIONAL},
	{"MethodDescChunk", "FlagsAndTokenRange", CODE_AT(chunk_token), NOT_OPTIONAL},
	{"MethodDescChunk", "!", CODE_AT(chunk_bytes), NOT_OPTIONAL},
	{"InstantiatedMethodDesc", "PerInstInfo", CODE_AT(generic_arguments), NOT_OPTIONAL},
	{"InstantiatedMethodDesc", "NumGenericArgs", CODE_AT(generic_count), NOT_OPTIONAL},
	{"MethodTable", "PerInstInfo", CODE_AT(type_dictionaries), NOT_OPTIONAL},
	{"GenericsDictInfo", "NumTypeArgs", CODE_AT(type_argument_count), NOT_OPTIONAL},
	{"DynamicMethodDesc", "MethodName", CODE_AT(dynamic_name), NOT_OPTIONAL},
	{"TypeDesc", "TypeAndFlags", CODE_AT(described_flags), NOT_OPTIONAL},
	{"ParamTypeDesc", "TypeArg", CODE_AT(described_argument), NOT_OPTIONAL},
	{"RangeSectionFragment", "Next", CODE_AT(fragment_next), 0},
	{"RangeSectionFragment", "RangeBegin", CODE_AT(fragment_begin), 8},
	{"RangeSectionFragment", "RangeEndOpen", CODE_AT(fragment_end), 16},
	{"RangeSectionFragment", "RangeSection", CODE_AT(fragment_range), 24},
	{"RangeSection", "RangeBegin", CODE_AT(range_begin), 0},
	{"RangeSection", "RangeEndOpen", CODE_AT(range_end), 8},
	{"RangeSection", "Flags", CODE_AT(range_flags), 16},
	{"RangeSection", "R2RModule", CODE_AT(range_module), 32},
	{"RangeSection", "HeapList", CODE_AT(range_heap), 40},
	{"CodeHeapListNode", "StartAddress", CODE_AT(heap_start), 16},
	{"CodeHeapListNode", "EndAddress", CODE_AT(heap_end), 24},
	{"CodeHeapListNode", "MapBase", CODE_AT(heap_base), 32},
	{"CodeHeapListNode", "HeaderMap", CODE_AT(heap_map), 40},
	{"RealCodeHeader", "MethodDesc", CODE_AT(header_method), 24},
	{"RealCodeHeader", "NumUnwindInfos", CODE_AT(header_unwinds), 32},
	{"RealCodeHeader", "UnwindInfos", CODE_AT(header_unwind), 36},
	{"Module", "ReadyToRunInfo", CODE_AT(module_images), 984},
	{"ReadyToRunInfo", "CompositeInfo", CODE_AT(images_composite), 40},
	{"ReadyToRunInfo", "RuntimeFunctions", CODE_AT(images_functions), 80},
	{"ReadyToRunInfo", "NumRuntimeFunctions", CODE_AT(images_count), 88},
	{"ReadyToRunInfo", "EntryPointToMethodDescMap", CODE_AT(images_methods), 432},
};

/* A number, or a list that begins with one: 16, [16, "pointer"]. */
static bool read_offset(const json_t *types, const struct wanted_field *w, struct runtime_contract *out)
{
	const json_t *value = json_object_get(json_object_get(types, w->type), w->field);
	if (!value && w->otherwise == AS_BEFORE)
		return true;
	if (json_is_array(value))
		value = json_array_get(value, 0);
	json_int_t offset = json_is_integer(value) ? json_integer_value(value) : value ? -1 : (json_int_t)w->otherwise;
	if (offset < 0 || offset > OFFSET_MAX)
		return false;
	uint32_t narrow = (uint32_t)offset;
	memcpy((char *)out + w->at, &narrow, sizeof narrow);
	return true;
}

/* [[2], "pointer"]: the third of the pointers. 0: it is none. */
static uint64_t read_variable(const json_t *globals, const char *name, const uint64_t *pointers, size_t count)
{
	const json_t *number = json_array_get(json_array_get(json_object_get(globals, name), 0), 0);
	json_int_t i = json_is_integer(number) ? json_integer_value(number) : -1;
	return i >= 0 && (size_t)i < count ? pointers[i] : 0;
}

/* ["0xc", "uint8"], or "0xc": 12. 0: it is none. */
static uint32_t read_constant(const json_t *globals, const char *name, uint32_t most)
{
	const json_t *said = json_object_get(globals, name);
	const char *text = json_string_value(json_is_array(said) ? json_array_get(said, 0) : said);
	unsigned long value = text ? strtoul(text, NULL, 16) : 0;
	return value <= most ? (uint32_t)value : 0;
}

static void read_code_contract(const json_t *types, const json_t *globals, const uint64_t *pointers, size_t count, struct runtime_contract *out)
{
	bool all = true;
	for (size_t i = 0; i < sizeof code_fields / sizeof *code_fields; i++)
		all = all && read_offset(types, &code_fields[i], out);
	out->code.token_bits = read_constant(globals, "MethodDescTokenRemainderBitCount", TOKEN_BITS_MAX);
	out->code.ranges = read_variable(globals, "ExecutionManagerCodeRangeMapAddress", pointers, count);
	out->code.known = all && out->code.token_bits;
}

/* .NET 9 and 10 number their contracts, .NET 11 names the same "c1", of lists that it keeps in another way. False: it is another one. */
static bool read_thread_contract(const json_t *contracts, struct runtime_contract *out)
{
	const json_t *version = json_object_get(contracts, "Thread");
	out->links_are_threads = json_is_string(version) && strcmp(json_string_value(version), "c1") == 0;
	return out->links_are_threads || (json_is_integer(version) && json_integer_value(version) == 1);
}

bool runtime_contract_parse(const char *text, size_t len, const uint64_t *pointers, size_t count, struct runtime_contract *out)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(text, len, "the runtime's contract", &e);
	const json_t *types = json_object_get(doc, "types"), *globals = json_object_get(doc, "globals");
	*out = (struct runtime_contract){.told = true, .why = json_is_object(doc) ? NULL : "the runtime's description of itself is no JSON"};
	bool all = read_thread_contract(json_object_get(doc, "contracts"), out);
	for (size_t i = 0; i < sizeof wanted_fields / sizeof *wanted_fields; i++)
		all = all && read_offset(types, &wanted_fields[i], out);
	out->thread_store = read_variable(globals, "ThreadStore", pointers, count);
	out->string_class = read_variable(globals, "StringMethodTable", pointers, count);
	read_code_contract(types, globals, pointers, count, out);
	out->monitors_are_locks = json_object_get(json_object_get(types, "SyncBlock"), "Lock") != NULL;
	out->known = all && out->thread_store && out->string_class && out->thread_handle;
	return out->known;
}

void runtime_contract_refute(struct runtime_contract *c, const char *why)
{
	*c = (struct runtime_contract){.told = c->told, .why = why};
}

/* NULL: it can be the head of a descriptor. */
static const char *head_is_wrong(const struct head *head)
{
	if (memcmp(head->magic, "DNCCDAC", sizeof head->magic) != 0)
		return "the runtime's description of itself does not begin as one";
	return head->text_bytes > RUNTIME_CONTRACT_TEXT_MAX || head->pointer_count > RUNTIME_CONTRACT_POINTERS_MAX ?
		       "the runtime's description of itself is larger than any that is known" : NULL;
}

void runtime_contract_read_at(const struct process_memory *m, uint64_t at, struct runtime_contract *out)
{
	struct head head;
	uint64_t pointers[RUNTIME_CONTRACT_POINTERS_MAX];
	*out = (struct runtime_contract){.told = true, .why = "the runtime's description of itself cannot be read to its end"};
	if (!process_memory_whole(m, at, &head, sizeof head))
		return;
	if (head_is_wrong(&head)) {
		out->why = head_is_wrong(&head);
		return;
	}
	if (!process_memory_whole(m, head.pointers, pointers, head.pointer_count * sizeof *pointers))
		return;
	AUTO_FREE char *text = mem_alloc(head.text_bytes + 1);
	if (process_memory_whole(m, head.text, text, head.text_bytes))
		runtime_contract_parse(text, head.text_bytes, pointers, head.pointer_count, out);
}

void runtime_contract_read(const struct process_memory *m, int proc_fd, struct runtime_contract *out)
{
	uint64_t at, size;
	*out = (struct runtime_contract){0};
	if (dac_table_export(proc_fd, "DotNetRuntimeContractDescriptor", &at, &size))
		runtime_contract_read_at(m, at, out);
}

const char *runtime_contract_unread(const struct runtime_contract *c)
{
	if (!c->told || c->known)
		return NULL;
	return c->why ? c->why : "Dr-Dotnet does not read the locks of this version of .NET yet";
}

void runtime_contract_of_8(struct runtime_contract *out)
{
	*out = (struct runtime_contract){
		.known = true,
		.type_base_size = 4,
		.type_flags2 = 8,
		.type_row_shift = 16,
		.type_module = 24,
		.type_class = 40,
		.class_type = 16,
		.module_base = 0x678,
	};
}
