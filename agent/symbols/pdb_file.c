#include "agent/symbols/pdb_file.h"

#include "agent/symbols/source_lines.h"
#include "agent/target/target_fs.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/proto/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MPDB 0x4244504du /* embedded portable PDB */
#define MPDB_HEAD_BYTES 8

static bool read_image(void *ctx, uint64_t offset, void *out, size_t bytes)
{
	const struct pdb_place *p = ctx;
	return pread(p->mem_fd, out, bytes, (off_t)(p->image + offset)) == (ssize_t)bytes;
}

static size_t pdb_most_bytes(const struct pdb_place *p)
{
	return p->most_bytes < SOURCE_PDB_MAX_BYTES ? p->most_bytes : SOURCE_PDB_MAX_BYTES;
}

/* Before so many bytes are read or unpacked. */
static int refuse_pdb_size(const struct pdb_place *p, uint64_t bytes, struct err *e)
{
	if (bytes > SOURCE_PDB_MAX_BYTES)
		return err_set(e, ERR_INVALID, 0, "its symbols are larger than %u MiB", SOURCE_PDB_MAX_BYTES >> 20);
	if (bytes > p->most_bytes)
		return err_set(e, ERR_INVALID, 0, "the symbols of other modules have used the room that there is");
	return work_budget_spend(p->budget, 1 + bytes / WORK_STEP_BYTES) ? 0 : err_set(e, ERR_INVALID, 0, "reading the symbols took too much work");
}

/* MPDB, the size when unpacked, then a raw deflate stream. */
static uint8_t *unpack_embedded_pdb(const struct pdb_place *p, const struct pe_debug *d, size_t *bytes, struct err *e)
{
	struct wire_reader r;

	if (refuse_pdb_size(p, d->embedded_bytes, e) < 0)
		return NULL;
	AUTO_FREE uint8_t *packed = mem_alloc((size_t)d->embedded_bytes + 1);
	wire_reader_init(&r, packed, d->embedded_bytes);
	if (!read_image((void *)p, d->embedded_at, packed, d->embedded_bytes) || wire_u32(&r) != MPDB) {
		err_set(e, ERR_PROTOCOL, 0, "its embedded symbols cannot be read");
		return NULL;
	}
	uint32_t whole = wire_u32(&r);
	if (refuse_pdb_size(p, whole, e) < 0)
		return NULL;
	AUTO_FREE uint8_t *out = mem_alloc((size_t)whole + 1);
	z_stream z = {.next_in = packed + MPDB_HEAD_BYTES, .avail_in = (unsigned)wire_left(&r), .next_out = out, .avail_out = whole};
	int state = inflateInit2(&z, -MAX_WBITS) == Z_OK ? inflate(&z, Z_FINISH) : Z_MEM_ERROR;
	inflateEnd(&z);
	if (state != Z_STREAM_END || z.avail_out != 0) {
		err_set(e, ERR_PROTOCOL, 0, "its embedded symbols are damaged");
		return NULL;
	}
	*bytes = whole;
	return steal_ptr(&out);
}

static uint8_t *read_pdb_file(const struct pdb_place *p, int fd, size_t *bytes, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		err_set_errno(e, errno, "its symbols cannot be read");
		return NULL;
	}
	if (refuse_pdb_size(p, (uint64_t)st.st_size, e) < 0)
		return NULL;
	AUTO_FREE uint8_t *out = mem_alloc((size_t)st.st_size + 1);
	size_t n = 0;
	while (n < (size_t)st.st_size) {
		ssize_t more = pread(fd, out + n, (size_t)st.st_size - n, (off_t)n);
		if (more < 0 && errno == EINTR)
			continue;
		if (more <= 0)
			break;
		n += (size_t)more;
	}
	*bytes = n;
	return steal_ptr(&out);
}

/* Beside the assembly, by the name that the compiler gave it. */
static uint8_t *find_pdb_file(const struct pdb_place *p, const char *name, size_t *bytes, struct err *e)
{
	const char *slash = strrchr(p->path, '/');
	AUTO_FREE char *path = mem_printf("%.*s/%s", slash ? (int)(slash - p->path) : 0, p->path, name);
	AUTO_FD int fd = p->root_fd < 0 || !name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ? -1 : target_fs_open_regular(p->root_fd, path);

	if (fd < 0) {
		err_set(e, ERR_NOT_FOUND, 0, "it has no symbols");
		return NULL;
	}
	return read_pdb_file(p, fd, bytes, e);
}

uint8_t *pdb_file_load(const struct pdb_place *place, struct portable_pdb *pdb, size_t *bytes, struct err *e)
{
	struct pe_debug d;

	if (place->mem_fd < 0 || pdb_most_bytes(place) == 0 || !pe_debug_read(read_image, (void *)place, &d)) {
		err_set(e, ERR_NOT_FOUND, 0, "it names no symbols");
		return NULL;
	}
	AUTO_FREE uint8_t *data = d.embedded_bytes ? unpack_embedded_pdb(place, &d, bytes, e) : find_pdb_file(place, d.name, bytes, e);
	if (!data || portable_pdb_open(pdb, data, *bytes, e) < 0)
		return NULL;
	pdb->budget = place->budget;
	if (memcmp(pdb->id, d.id, sizeof d.id) != 0) {
		err_set(e, ERR_INVALID, 0, "the symbols beside it are of another build");
		return NULL;
	}
	return steal_ptr(&data);
}
