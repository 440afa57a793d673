/* On a small file as Native AOT makes them: tests/fuzz/corpus/elf_symbols/ahead_of_time, behind 8 bytes that are the fuzzer's. */
#include "agent/symbols/elf_debug.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILE_BYTES 8192

static uint8_t file[FILE_BYTES];

static size_t load_file(void)
{
	int fd = open("tests/fuzz/corpus/elf_symbols/ahead_of_time", O_RDONLY | O_CLOEXEC);
	ssize_t n = pread(fd, file, sizeof file, 8);
	close(fd);
	cr_assert_gt(n, 1000);
	return (size_t)n;
}

static void read_bytes(size_t bytes, struct elf_debug *out)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	cr_assert_eq(write(fd, file, bytes), (ssize_t)bytes);
	elf_debug_read(fd, NULL, out);
	close(fd);
}

Test(elf_debug, of_a_program_compiled_ahead_of_time)
{
	struct elf_debug d, other;
	size_t bytes = load_file();
	read_bytes(bytes, &d);
	cr_assert(d.symbols);
	cr_assert_eq(d.managed, 0x1010);
	cr_assert_eq(d.managed_end - d.managed, 16 * 14);
	cr_assert_str_eq(d.link, "Shop.dbg");
	cr_assert_eq(d.build_id_bytes, 20);
	cr_assert_eq(d.build_id[19], 19);
	other = d;
	cr_assert(elf_debug_same_build(&d, &other));
	other.build_id[0] ^= 1;
	cr_assert_not(elf_debug_same_build(&d, &other));
	d.build_id_bytes = other.build_id_bytes = 0;
	cr_assert_not(elf_debug_same_build(&d, &other), "what has no id is nobody's");
}

Test(elf_debug, a_link_does_not_lead_elsewhere)
{
	static const char *const names[] = {"../x.dbg", "/etc/pwd", ".hidden."};
	size_t bytes = load_file();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct elf_debug d;
		uint8_t *at = memmem(file, bytes, "Shop.dbg", 8);
		cr_assert_not_null(at);
		memcpy(at, names[i], 8);
		read_bytes(bytes, &d);
		cr_expect_str_eq(d.link, "", "%s", names[i]);
		memcpy(at, "Shop.dbg", 8);
	}
}

Test(elf_debug, of_a_part_of_a_file_is_what_is_there)
{
	size_t bytes = load_file();
	for (size_t cut = 0; cut < bytes; cut += 7) {
		struct elf_debug d;
		read_bytes(cut, &d);
		cr_assert(d.build_id_bytes <= ELF_BUILD_ID_BYTES && strnlen(d.link, ELF_LINK_SIZE) < ELF_LINK_SIZE);
	}
}
