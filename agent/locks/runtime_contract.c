#include "agent/locks/runtime_contract.h"

#include "agent/locks/dac_table.h"
#include "common/base/cleanup.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define OFFSET_MAX 65536 /* of a field */

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
};

static const struct wanted_field wanted_fields[] = {
	{"Thread", "Id", offsetof(struct runtime_contract, thread_id)},
	{"Thread", "OSId", offsetof(struct runtime_contract, thread_os_id)},
	{"Thread", "LinkNext", offsetof(struct runtime_contract, thread_next)},
	{"Thread", "GCHandle", offsetof(struct runtime_contract, thread_handle)},
	{"ThreadStore", "FirstThreadLink", offsetof(struct runtime_contract, store_first)},
	{"MethodTable", "MTFlags", offsetof(struct runtime_contract, type_flags)},
	{"MethodTable", "MTFlags2", offsetof(struct runtime_contract, type_flags2)},
	{"MethodTable", "BaseSize", offsetof(struct runtime_contract, type_base_size)},
	{"MethodTable", "Module", offsetof(struct runtime_contract, type_module)},
	{"MethodTable", "EEClassOrCanonMT", offsetof(struct runtime_contract, type_class)},
	{"EEClass", "MethodTable", offsetof(struct runtime_contract, class_type)},
	{"Module", "Base", offsetof(struct runtime_contract, module_base)},
};

/* A number, or a list that begins with one: 16, [16, "pointer"]. */
static bool read_offset(const json_t *types, const struct wanted_field *w, struct runtime_contract *out)
{
	const json_t *value = json_object_get(json_object_get(types, w->type), w->field);
	if (json_is_array(value))
		value = json_array_get(value, 0);
	json_int_t offset = json_is_integer(value) ? json_integer_value(value) : -1;
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

bool runtime_contract_parse(const char *text, size_t len, const uint64_t *pointers, size_t count, struct runtime_contract *out)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(text, len, "the runtime's contract", &e);
	const json_t *types = json_object_get(doc, "types"), *globals = json_object_get(doc, "globals");
	bool all = true;
	*out = (struct runtime_contract){0};
	for (size_t i = 0; i < sizeof wanted_fields / sizeof *wanted_fields; i++)
		all = all && read_offset(types, &wanted_fields[i], out);
	out->thread_store = read_variable(globals, "ThreadStore", pointers, count);
	out->string_class = read_variable(globals, "StringMethodTable", pointers, count);
	out->known = all && out->thread_store && out->string_class;
	return out->known;
}

void runtime_contract_read(const struct process_memory *m, int proc_fd, struct runtime_contract *out)
{
	struct head head;
	uint64_t pointers[RUNTIME_CONTRACT_POINTERS_MAX], at, size;
	*out = (struct runtime_contract){0};
	if (!dac_table_export(proc_fd, "DotNetRuntimeContractDescriptor", &at, &size) || !process_memory_whole(m, at, &head, sizeof head) ||
	    memcmp(head.magic, "DNCCDAC", sizeof head.magic) != 0 || head.text_bytes > RUNTIME_CONTRACT_TEXT_MAX ||
	    head.pointer_count > RUNTIME_CONTRACT_POINTERS_MAX ||
	    !process_memory_whole(m, head.pointers, pointers, head.pointer_count * sizeof *pointers))
		return;
	AUTO_FREE char *text = mem_alloc(head.text_bytes + 1);
	if (process_memory_whole(m, head.text, text, head.text_bytes))
		runtime_contract_parse(text, head.text_bytes, pointers, head.pointer_count, out);
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
