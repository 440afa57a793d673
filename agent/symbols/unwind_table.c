#include "agent/symbols/unwind_table.h"

#include "agent/arch/arch.h"
#include "agent/symbols/unwind_program.h"

#include <elf.h>
#include <string.h>

#define MAX_SEGMENTS 64
#define MAX_COUNT (1u << 22)
#define MAX_RECORD 4096 /* the longest of the runtime and of libc have some 2,000 bytes */
#define AT_ONCE 128     /* pairs */

#define TABLE_FROM_HEADER 0x3b /* DW_EH_PE_datarel | DW_EH_PE_sdata4 */
#define COUNT_OF_4_BYTES 0x03  /* DW_EH_PE_udata4 */

struct pair {
	int32_t start, entry;
};

struct header {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};

static bool is_our_elf(const Elf64_Ehdr *h)
{
	return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB &&
	       h->e_machine == arch_ours.elf_machine && h->e_phentsize == sizeof(Elf64_Phdr) && h->e_phnum <= MAX_SEGMENTS;
}

/* Where the header of the table lies. 0: there is none. */
static uint64_t find_header(uint64_t image, unwind_read_fn *read, void *ctx)
{
	Elf64_Ehdr h;
	Elf64_Phdr segments[MAX_SEGMENTS];
	const Elf64_Phdr *first = NULL, *table = NULL;
	if (!read(ctx, image, &h, sizeof h) || !is_our_elf(&h) || !read(ctx, image + h.e_phoff, segments, h.e_phnum * sizeof *segments))
		return 0;
	for (size_t i = 0; i < h.e_phnum; i++) {
		if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0)
			first = &segments[i];
		else if (segments[i].p_type == PT_GNU_EH_FRAME)
			table = &segments[i];
	}
	return first && table ? image + (table->p_vaddr - first->p_vaddr) : 0;
}

bool unwind_table_find(uint64_t image, unwind_read_fn *read, void *ctx, struct unwind_table *out)
{
	struct header h;
	uint64_t at = find_header(image, read, ctx);
	*out = (struct unwind_table){0};
	if (!at || !read(ctx, at, &h, sizeof h))
		return false;
	bool frame_of_4_bytes = (h.frame_encoding & 0x07) == 0x03;
	if (h.version != 1 || !frame_of_4_bytes || h.count_encoding != COUNT_OF_4_BYTES || h.table_encoding != TABLE_FROM_HEADER)
		return false;
	*out = (struct unwind_table){.header = at, .pairs = at + sizeof h, .count = h.count};
	return h.count > 0 && h.count <= MAX_COUNT;
}

static bool read_pairs(const struct unwind_table *t, uint32_t first, struct pair *out, size_t count, unwind_read_fn *read, void *ctx)
{
	return read(ctx, t->pairs + (uint64_t)first * sizeof *out, out, count * sizeof *out);
}

/* The last function that begins at `wanted` or before. */
static bool find_pair(const struct unwind_table *t, int64_t wanted, struct pair *out, unwind_read_fn *read, void *ctx)
{
	struct pair near[AT_ONCE];
	uint32_t low = 0, high = t->count;
	while (high - low > AT_ONCE) {
		uint32_t mid = low + (high - low) / 2;
		if (!read_pairs(t, mid, near, 1, read, ctx))
			return false;
		if (near[0].start <= wanted)
			low = mid;
		else
			high = mid;
	}
	size_t count = high - low, i = 0;
	if (!read_pairs(t, low, near, count, read, ctx))
		return false;
	while (i < count && near[i].start <= wanted)
		i++;
	if (i == 0)
		return false;
	*out = near[i - 1];
	return true;
}

/* A record of .eh_frame, from behind its length on. Its bytes; 0: too long, or not there. */
static size_t read_eh_record(uint64_t address, uint8_t out[MAX_RECORD], unwind_read_fn *read, void *ctx)
{
	uint32_t bytes;
	if (!read(ctx, address, &bytes, sizeof bytes) || bytes < sizeof bytes || bytes > MAX_RECORD)
		return 0;
	return read(ctx, address + sizeof bytes, out, bytes) ? bytes : 0;
}

bool unwind_table_frame(const struct unwind_table *t, uint64_t ip, unwind_read_fn *read, void *ctx, struct code_frame *out)
{
	struct pair pair;
	uint8_t cie[MAX_RECORD], fde[MAX_RECORD];
	uint32_t back;
	int64_t wanted = (int64_t)(ip - t->header);
	*out = (struct code_frame){.kind = CODE_FRAME_UNKNOWN, .fp_at = CODE_FRAME_NO_FP};
	if (!find_pair(t, wanted, &pair, read, ctx))
		return false;
	uint64_t at = t->header + (uint64_t)(int64_t)pair.entry;
	struct unwind_entry entry = {.cie = cie, .fde = fde, .fde_bytes = read_eh_record(at, fde, read, ctx)};
	if (!entry.fde_bytes)
		return false;
	/* How far the CIE lies before the field that says so. */
	memcpy(&back, fde, sizeof back);
	entry.cie_bytes = read_eh_record(at + sizeof back - back, cie, read, ctx);
	if (!entry.cie_bytes)
		return false;
	unwind_program_run(&arch_ours, &entry, (uint64_t)(wanted - pair.start), out);
	return out->kind != CODE_FRAME_UNKNOWN;
}
