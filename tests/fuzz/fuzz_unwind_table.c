/* The image of a library as it lies in a process's memory: where its code's callers are. Input: the address that is looked for (8 bytes), then the
 * image. The memory beyond it is not there. */
#include "agent/symbols/unwind_program.h"
#include "agent/symbols/unwind_table.h"
#include "tests/fuzz/fuzz_tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define IMAGE UINT64_C(0x7f0000000000)

struct memory {
	const uint8_t *bytes;
	size_t size;
};

static bool read_memory(void *ctx, uint64_t address, void *out, size_t bytes)
{
	const struct memory *m = ctx;
	if (address < IMAGE || address - IMAGE > m->size || bytes > m->size - (address - IMAGE))
		return false;
	memcpy(out, m->bytes + (address - IMAGE), bytes);
	return true;
}

static void check_frame(const struct code_frame *f)
{
	check(f->kind != CODE_FRAME_LINK && f->size % 8 == 0);
	if (f->fp_at != CODE_FRAME_NO_FP)
		check(f->kind == CODE_FRAME_FRAMELESS && f->fp_at < f->size && f->fp_at % 8 == 0);
}

static void check_linked_frame(const struct code_frame *f)
{
	check(f->kind != CODE_FRAME_FRAMELESS && f->size % 8 == 0 && f->above % 8 == 0);
	if (f->kind == CODE_FRAME_SAVED)
		check(f->link_at < f->size && f->link_at % 8 == 0);
	if (f->kind == CODE_FRAME_FRAMED)
		check(f->above >= 16);
	if (f->fp_at != CODE_FRAME_NO_FP)
		check((f->kind == CODE_FRAME_SAVED || f->kind == CODE_FRAME_LINK) && f->fp_at < f->size && f->fp_at % 8 == 0);
}

/* The same bytes as two records, without a table: a way to the instructions that needs no luck. */
static void run_records(const uint8_t *data, size_t size, uint64_t offset)
{
	static const uint8_t cie[] = {0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};
	struct unwind_entry known = {.cie = cie, .cie_bytes = sizeof cie, .fde = data, .fde_bytes = size};
	struct unwind_entry both = {.cie = data, .cie_bytes = size / 2, .fde = data + size / 2, .fde_bytes = size - size / 2};
	static const uint8_t arm64_cie[] = {0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0};
	struct unwind_entry arm64 = {.cie = arm64_cie, .cie_bytes = sizeof arm64_cie, .fde = data, .fde_bytes = size};
	struct code_frame f;
	unwind_program_run(&arch_arm64, &arm64, offset, &f);
	check_linked_frame(&f);
	unwind_program_run(&arch_arm64, &both, offset, &f);
	check_linked_frame(&f);
	unwind_program_run(&arch_x64, &known, offset, &f);
	check_frame(&f);
	unwind_program_run(&arch_x64, &both, offset, &f);
	check_frame(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table t;
	struct code_frame f;
	uint64_t ip;
	if (size < sizeof ip)
		return 0;
	memcpy(&ip, data, sizeof ip);
	struct memory m = {data + sizeof ip, size - sizeof ip};
	run_records(m.bytes, m.size, ip);
	if (!unwind_table_find(IMAGE, read_memory, &m, &t))
		return 0;
	bool found = unwind_table_frame(&t, ip, read_memory, &m, &f);
	check(found == (f.kind != CODE_FRAME_UNKNOWN));
	check_frame(&f);
	return 0;
}
