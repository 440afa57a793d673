#include "agent/locks/managed_methods.h"

#include "agent/arch/arch.h"
#include "agent/locks/image_signature.h"
#include "agent/locks/managed_types.h"
#include "common/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULES_MAX 512
#define KIND_MASK 7u
#define KIND_INSTANTIATED 5u
#define KIND_DYNAMIC 7u
#define CATEGORY_MASK 0x000c0000u
#define CATEGORY_ARRAY 0x00080000u
#define ONE_DIMENSION 0x00020000u
#define GENERIC_MASK 0x30u /* of a type that is no array */
#define DICTIONARY_BEFORE 8 /* what says how many arguments a type has stands so far before its dictionaries */
#define DESCRIBED 2u        /* a type that is none of its own: a pointer, a reference */
#define ELEMENT_POINTER 0x0f
#define ELEMENT_REFERENCE 0x10
#define DEPTH_MAX 6         /* of arguments within arguments */

struct managed_methods {
	const struct process_memory *memory;
	const struct runtime_contract *contract;
	struct {
		uint64_t image;
		bool readable;
		struct image_metadata metadata;
	} *modules;
	size_t count, cap;
};

struct managed_methods *managed_methods_new(const struct process_memory *m, const struct runtime_contract *c)
{
	struct managed_methods *x = mem_alloc(sizeof *x);
	x->memory = m;
	x->contract = c;
	return x;
}

void managed_methods_free(struct managed_methods *x)
{
	if (!x)
		return;
	free(x->modules);
	free(x);
}

void managed_methods_use(struct managed_methods *x, const struct process_memory *m)
{
	x->memory = m;
}

static uint64_t word_at(const struct managed_methods *x, uint64_t at)
{
	return arch_may_be_structure(at & ~UINT64_C(7)) ? process_memory_word(x->memory, at) : 0;
}

static uint32_t small_at(const struct managed_methods *x, uint64_t at, size_t bytes)
{
	uint32_t value = 0;
	return process_memory_whole(x->memory, at, &value, bytes) ? value : 0;
}

/* NULL: it cannot be read. Valid until the next call. */
static const struct image_metadata *metadata_at(struct managed_methods *x, uint64_t image)
{
	size_t i = 0;
	while (i < x->count && x->modules[i].image != image)
		i++;
	if (i == MODULES_MAX || !arch_may_be_structure(image))
		return NULL;
	if (i == x->count) {
		GROW(x->modules, x->count, x->cap);
		x->modules[x->count++].image = image;
		x->modules[i].readable = image_metadata_open(x->memory, image, &x->modules[i].metadata);
	}
	return x->modules[i].readable ? &x->modules[i].metadata : NULL;
}

/* types as arguments ----------------------------------------------------------------------------------------------- */

static void put_type(struct managed_methods *x, uint64_t type, int depth, struct name_writer *w);

/* A type may be an argument of itself, many times: what has no room is not looked for. */
static void put_arguments(struct managed_methods *x, uint64_t list, uint32_t count, int depth, struct name_writer *w)
{
	for (uint32_t i = 0; i < count && i < MANAGED_ARGUMENTS_MAX && !name_writer_full(w); i++) {
		if (i)
			name_writer_put(w, ",");
		put_type(x, word_at(x, list + 8 * (uint64_t)i), depth, w);
	}
}

/* Where the arguments of a type lie that is an instance of a generic one: in the last of its dictionaries, which the one for each type that it derives from
 * precedes. */
static uint64_t type_arguments(const struct managed_methods *x, uint64_t type, uint32_t *count)
{
	const struct code_contract *k = &x->contract->code;
	uint64_t dictionaries = word_at(x, type + k->type_dictionaries);
	*count = 0;
	if (!(small_at(x, type + x->contract->type_flags, 4) & GENERIC_MASK) || !arch_may_be_structure(dictionaries))
		return 0;
	uint64_t head = dictionaries - DICTIONARY_BEFORE;
	uint32_t before = small_at(x, head + k->type_argument_count - 2, 2);
	uint64_t list = before ? word_at(x, dictionaries + 8 * (uint64_t)(before - 1)) : 0;
	if (!arch_may_be_structure(list))
		return 0;
	*count = small_at(x, head + k->type_argument_count, 2);
	return list;
}

static void put_array(struct managed_methods *x, uint64_t type, int depth, struct name_writer *w)
{
	put_type(x, word_at(x, type + x->contract->code.type_dictionaries), depth - 1, w); /* arrays keep their element there */
	name_writer_put(w, "[]");
}

static void put_described(struct managed_methods *x, uint64_t described, int depth, struct name_writer *w)
{
	const struct code_contract *k = &x->contract->code;
	uint32_t element = small_at(x, described + k->described_flags, 1);
	if (element != ELEMENT_POINTER && element != ELEMENT_REFERENCE) {
		name_writer_put(w, "?");
		return;
	}
	put_type(x, word_at(x, described + k->described_argument), depth - 1, w);
	name_writer_put(w, element == ELEMENT_POINTER ? "*" : "&");
}

static void put_type(struct managed_methods *x, uint64_t type, int depth, struct name_writer *w)
{
	const struct runtime_contract *c = x->contract;
	char name[MANAGED_METHOD_NAME] = "";
	uint32_t count;
	if (depth > 0 && (type & DESCRIBED)) {
		put_described(x, type & ~(uint64_t)DESCRIBED, depth, w);
		return;
	}
	if (depth <= 0 || !managed_types_check(x->memory, c, type)) {
		name_writer_put(w, "?");
		return;
	}
	uint32_t flags = small_at(x, type + c->type_flags, 4);
	if ((flags & CATEGORY_MASK) == CATEGORY_ARRAY && (flags & ONE_DIMENSION)) {
		put_array(x, type, depth, w);
		return;
	}
	const struct image_metadata *metadata = metadata_at(x, word_at(x, word_at(x, type + c->type_module) + c->module_base));
	bool named = (flags & CATEGORY_MASK) != CATEGORY_ARRAY && metadata &&
		     image_metadata_nested_type(x->memory, metadata, small_at(x, type + c->type_flags2, 4) >> 8, name, sizeof name);
	name_writer_put(w, named ? name : "?");
	uint64_t list = named ? type_arguments(x, type, &count) : 0;
	if (!list || !count)
		return;
	name_writer_put(w, "<");
	put_arguments(x, list, count, depth - 1, w);
	name_writer_put(w, ">");
}

/* methods ---------------------------------------------------------------------------------------------------------- */

struct found_method {
	uint64_t type;
	uint32_t token, kind;
};

/* What its chunk and it say of it. */
static bool find_method(const struct managed_methods *x, uint64_t method, struct found_method *out)
{
	const struct code_contract *k = &x->contract->code;
	if (!arch_may_be_structure(method))
		return false;
	uint64_t chunk = method - k->chunk_bytes - 8 * (uint64_t)small_at(x, method + k->method_chunk, 1);
	uint32_t low = small_at(x, method + k->method_token, 2), high = small_at(x, chunk + k->chunk_token, 2);
	*out = (struct found_method){
		.type = word_at(x, chunk + k->chunk_type),
		.token = (high & ((1u << (24 - k->token_bits)) - 1)) << k->token_bits | (low & ((1u << k->token_bits) - 1)),
		.kind = small_at(x, method + k->method_flags, 2) & KIND_MASK,
	};
	return managed_types_check(x->memory, x->contract, out->type);
}

static bool describe_dynamic(const struct managed_methods *x, uint64_t method, struct managed_method *out)
{
	uint64_t name = word_at(x, method + x->contract->code.dynamic_name);
	size_t have = name ? process_memory_read(x->memory, name, out->method, sizeof out->method - 1) : 0;
	out->method[have] = '\0';
	out->dynamic = true;
	return out->method[0];
}

/* What a method and its type are generic over. */
struct method_arguments {
	struct managed_methods *methods;
	uint64_t of_type, of_method;
	uint32_t type_count, method_count;
};

static struct method_arguments find_arguments(struct managed_methods *x, uint64_t method, const struct found_method *f)
{
	const struct code_contract *k = &x->contract->code;
	struct method_arguments a = {.methods = x};
	a.of_type = type_arguments(x, f->type, &a.type_count);
	a.of_method = f->kind == KIND_INSTANTIATED ? word_at(x, method + k->generic_arguments) : 0;
	a.method_count = a.of_method ? small_at(x, method + k->generic_count, 2) : 0;
	return a;
}

static void put_variable(void *ctx, bool of_method, uint32_t index, struct name_writer *out)
{
	const struct method_arguments *a = ctx;
	char text[16];
	if (index < (of_method ? a->method_count : a->type_count) && index < MANAGED_ARGUMENTS_MAX) {
		put_type(a->methods, word_at(a->methods, (of_method ? a->of_method : a->of_type) + 8 * (uint64_t)index), DEPTH_MAX, out);
		return;
	}
	snprintf(text, sizeof text, "%s%u", of_method ? "!!" : "!", index);
	name_writer_put(out, text);
}

static void name_arguments(struct managed_methods *x, const struct method_arguments *a, struct managed_method *out)
{
	struct name_writer of_type = NAME_WRITER_ON(out->type_args), of_method = NAME_WRITER_ON(out->method_args);
	put_arguments(x, a->of_type, a->type_count, DEPTH_MAX, &of_type);
	put_arguments(x, a->of_method, a->method_count, DEPTH_MAX, &of_method);
}

static void name_params(struct managed_methods *x, const struct image_metadata *metadata, const struct image_method *row, struct method_arguments *a,
			struct managed_method *out)
{
	struct name_writer params = NAME_WRITER_ON(out->params);
	struct image_metadata own = *metadata; /* naming what stands for a variable may read more assemblies */
	out->overloaded = image_metadata_overloaded(x->memory, &own, row);
	out->params_known = image_signature_params(x->memory, &own, row->signature, put_variable, a, &params);
}

bool managed_methods_describe(struct managed_methods *x, uint64_t method, struct managed_method *out)
{
	const struct runtime_contract *c = x->contract;
	struct found_method f;
	struct image_method row;
	*out = (struct managed_method){0};
	if (!c->known || !c->code.known || !find_method(x, method, &f))
		return false;
	if (f.kind == KIND_DYNAMIC)
		return describe_dynamic(x, method, out);
	out->image = word_at(x, word_at(x, f.type + c->type_module) + c->module_base);
	const struct image_metadata *metadata = metadata_at(x, out->image);
	if (!metadata || !image_metadata_method(x->memory, metadata, f.token, &row) || row.type != small_at(x, f.type + c->type_flags2, 4) >> 8 ||
	    !image_metadata_nested_type(x->memory, metadata, row.type, out->type, sizeof out->type))
		return false;
	out->token = 0x06000000u | f.token;
	memcpy(out->method, row.name, sizeof out->method);
	image_metadata_module(x->memory, metadata, out->module);
	struct method_arguments arguments = find_arguments(x, method, &f);
	name_params(x, metadata, &row, &arguments, out);
	name_arguments(x, &arguments, out);
	return true;
}
