/* The symbols of a pod's assembly, its image, and SourceLink's map: all of it is read as each. The first 8 bytes are the method and the place in its IL
 * that are asked for. What is asked for costs steps by the size of the input. */
#include "agent/symbols/pdb_points.h"
#include "agent/symbols/portable_pdb.h"
#include "agent/symbols/source_link.h"
#include "tests/fuzz/fuzz_tools.h"

#define PLACES 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct image_bytes {
	const uint8_t *data;
	size_t size;
};

static bool read_bytes(void *ctx, uint64_t offset, void *out, size_t bytes)
{
	const struct image_bytes *m = ctx;
	if (offset > m->size || bytes > m->size - offset)
		return false;
	memcpy(out, m->data + offset, bytes);
	return true;
}

/* Many methods may have the same points, and many documents the same name. */
static void read_many(const struct portable_pdb *p, uint32_t il, size_t size)
{
	struct pdb_line line;
	AUTO_BUF struct buf name;
	buf_init(&name, PDB_PATH_BYTES + 1);
	for (uint32_t i = 1; i <= PLACES; i++) {
		uint64_t before = p->budget->steps;
		buf_reset(&name);
		portable_pdb_line(p, 0x06000000 | i, il, &line);
		portable_pdb_document(p, i, &name);
		check(p->budget->steps - before <= size + PDB_PATH_PARTS + 1);
	}
}

static void read_as_pdb(const uint8_t *data, size_t size, uint32_t token, uint32_t il)
{
	struct portable_pdb p;
	struct pdb_line line;
	struct pdb_span json;
	struct err e = ERR_INIT;
	struct work_budget budget;
	AUTO_BUF struct buf name;
	buf_init(&name, PDB_PATH_BYTES + 1);
	if (portable_pdb_open(&p, data, size, &e) < 0) {
		check(e.message[0]);
		return;
	}
	p.budget = &budget;
	work_budget_begin_anew(&budget, WORK_LINES);
	read_many(&p, il, size);
	if (portable_pdb_line(&p, 0x06000000 | (token & 0xff), il, &line)) {
		check(line.line > 0 && line.document > 0 && line.document <= portable_pdb_document_count(&p));
		if (portable_pdb_document(&p, line.document, &name) == 0)
			check(name.len <= PDB_PATH_BYTES);
	}
	if (portable_pdb_source_link(&p, &json))
		check(json.data >= data && json.data + json.bytes <= data + size);
}

static void read_as_map(const uint8_t *data, size_t size)
{
	struct source_link l;
	AUTO_BUF struct buf relative, url;
	buf_init(&relative, 4096);
	buf_init(&url, 4096);
	source_link_parse(&l, data, size);
	if (source_link_find(&l, "/_/src/Cart.cs", &relative, &url))
		check(url.len == 0 || strncmp(buf_str(&url), "http", 4) == 0);
	for (const char *c = buf_str(&url); *c; c++)
		check(*c > ' ' && *c < 0x7f && !strchr("\"'<>", *c));
	source_link_fini(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t at[2], document, line;
	struct pe_debug d;
	if (size < sizeof at)
		return 0;
	memcpy(at, data, sizeof at);
	struct image_bytes rest = {data + sizeof at, size - sizeof at};
	read_as_pdb(rest.data, rest.size, at[0], at[1]);
	read_as_map(rest.data, rest.size);
	if (pdb_points_find(rest.data, rest.size, at[0] & 3, at[1], NULL, &document, &line))
		check(line > 0);
	if (pe_debug_read(read_bytes, &rest, &d))
		check(d.codeview && memchr(d.name, '\0', sizeof d.name));
	return 0;
}
