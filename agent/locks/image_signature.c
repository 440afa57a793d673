#include "agent/locks/image_signature.h"

#include "common/proto/signature.h"

#include <stdio.h>

#define SIGNATURE_MAX 2048
#define NAME_BYTES (4 * IMAGE_NAME_BYTES)

struct signature_reader {
	const struct process_memory *memory;
	const struct image_metadata *metadata;
	image_variable_fn *variable; /* NULL: "!0" */
	void *ctx;
};

/* The bytes of the heap's entry; 0: it cannot be read. */
static size_t read_signature(const struct signature_reader *r, uint32_t offset, uint8_t out[SIGNATURE_MAX])
{
	uint8_t head[2];
	const struct image_metadata *x = r->metadata;
	if (!x->blobs || offset >= x->blobs_bytes || !process_memory_whole(r->memory, x->blobs + offset, head, sizeof head))
		return 0;
	size_t wide = head[0] >> 7, len = wide ? (size_t)(head[0] & 0x3f) << 8 | head[1] : head[0];
	if ((head[0] & 0xc0) == 0xc0 || len > SIGNATURE_MAX || len > x->blobs_bytes - offset)
		return 0;
	return process_memory_whole(r->memory, x->blobs + offset + 1 + wide, out, len) ? len : 0;
}

static void put_variable(void *ctx, bool of_method, uint32_t index, void *out)
{
	const struct signature_reader *r = ctx;
	char text[16];
	if (name_writer_full(out))
		return;
	if (r->variable) {
		r->variable(r->ctx, of_method, index, out);
		return;
	}
	snprintf(text, sizeof text, "%s%u", of_method ? "!!" : "!", index);
	name_writer_put(out, text);
}

static void put_type(const struct signature_reader *r, uint32_t token, bool within, void *out);

static void put_outer_type(void *ctx, uint32_t token, void *out)
{
	put_type(ctx, token, false, out);
}

/* A TypeSpec as a parameter's type is rare; one that refers to another one is not followed. */
static void put_inner_type(void *ctx, uint32_t token, void *out)
{
	put_type(ctx, token, true, out);
}

static void put_specified(const struct signature_reader *r, uint32_t row, void *out)
{
	uint32_t columns[METADATA_COLUMNS];
	uint8_t bytes[SIGNATURE_MAX];
	struct signature_reader plain = {.memory = r->memory, .metadata = r->metadata};
	const struct signature_names names = {&plain, name_writer_put, put_inner_type, put_variable};
	size_t len = metadata_tables_row(r->memory, &r->metadata->tables, METADATA_TYPE_SPEC, row, columns) ? read_signature(r, columns[0], bytes) : 0;
	if (!len || !signature_type(bytes, len, &names, out))
		name_writer_put(out, "?");
}

static void put_type(const struct signature_reader *r, uint32_t token, bool within, void *out)
{
	char name[NAME_BYTES];
	uint32_t row = token & 0xffffff, table = token >> 24;
	if (name_writer_full(out)) /* many may be named in few bytes */
		return;
	bool named = table == METADATA_TYPE_DEF   ? image_metadata_nested_type(r->memory, r->metadata, row, name, sizeof name)
		     : table == METADATA_TYPE_REF && image_metadata_type_ref(r->memory, r->metadata, row, name, sizeof name);
	if (table == METADATA_TYPE_SPEC && !within)
		put_specified(r, row, out);
	else
		name_writer_put(out, named ? name : "?");
}

bool image_signature_params(const struct process_memory *m, const struct image_metadata *x, uint32_t signature, image_variable_fn *variable, void *ctx,
			    struct name_writer *out)
{
	uint8_t bytes[SIGNATURE_MAX];
	struct signature_reader r = {m, x, variable, ctx};
	const struct signature_names names = {&r, name_writer_put, put_outer_type, put_variable};
	size_t len = read_signature(&r, signature, bytes);
	return len && signature_params(bytes, len, &names, out);
}
