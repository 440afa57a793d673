/* Symbols that belong to a module and such that do not, as they may lie in a container: the process is a folder with "mem" and "root". */
#include "agent/symbols/source_lines.h"
#include "tests/unit/agent/symbols/make_pdb.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define IMAGE 0x10000
#define METHOD 0x06000001
#define LINK "{\"documents\":{\"/build/src/*\":\"https://raw.githubusercontent.com/acme/shop/0123abc/src/*\"}}"

static char process[] = "/tmp/drdotnet-lines-XXXXXX";
static int proc_fd = -1;
static struct source_lines *lines;
static struct bytes pdb, image, packed;

static void write_file(const char *name, const void *data, size_t n, off_t at)
{
	int fd = openat(proc_fd, name, O_WRONLY | O_CREAT, 0644);
	cr_assert(fd >= 0 && pwrite(fd, data, n, at) == (ssize_t)n);
	close(fd);
}

static void begin(void)
{
	cr_assert_not_null(mkdtemp(process));
	proc_fd = open(process, O_RDONLY | O_DIRECTORY);
	cr_assert(mkdirat(proc_fd, "root", 0755) == 0 && mkdirat(proc_fd, "root/app", 0755) == 0);
	make_pdb(&pdb, "/build/src/Shop/Cart.cs", "/build/src/Shop/Tax/Rate.cs", '/', LINK);
}

static void end(void)
{
	char command[128];
	source_lines_free(lines);
	close(proc_fd);
	snprintf(command, sizeof command, "rm -rf '%s'", process);
	cr_expect_eq(system(command), 0);
}

TestSuite(source_lines, .init = begin, .fini = end);

static struct source_module *module_of(const char *name, const uint8_t id[20], bool portable, bool loaded, const struct bytes *embedded)
{
	make_image(&image, name, id, portable, loaded, embedded);
	write_file("mem", image.data, image.len, IMAGE);
	source_lines_free(lines);
	lines = source_lines_new(proc_fd);
	return source_lines_module(lines, "/app/Shop.dll", IMAGE);
}

static const char *reason(void)
{
	static char text[256];
	struct source_account a = {0};
	source_lines_account(lines, &a);
	snprintf(text, sizeof text, "%s", a.count ? a.items[0].reason ? a.items[0].reason : "used" : "none");
	source_account_fini(&a);
	return text;
}

static void put_pdb(void)
{
	write_file("root/app/Shop.pdb", pdb.data, pdb.len, 0);
}

static void pack(void)
{
	uLong bound = compressBound(pdb.len);
	z_stream z = {.next_in = pdb.data, .avail_in = (unsigned)pdb.len, .next_out = packed.data + 8, .avail_out = (unsigned)bound};
	cr_assert(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK && deflate(&z, Z_FINISH) == Z_STREAM_END);
	packed.len = 0;
	put_raw(&packed, "MPDB", 4);
	put_le(&packed, pdb.len, 4);
	packed.len = 8 + z.total_out;
	deflateEnd(&z);
}

static void expect_line(struct source_module *m, uint32_t token, uint32_t il, const char *file, uint32_t line)
{
	struct source_place p;
	cr_assert_not_null(m);
	cr_assert_eq(source_lines_find(m, token, il, &p), file != NULL, "token %x, IL %u", token, il);
	if (file) {
		cr_expect_str_eq(p.file, file);
		cr_expect_eq(p.line, line, "IL %u: line %u, not %u", il, p.line, line);
	}
}

Test(source_lines, a_place_has_the_line_of_the_last_point_that_is_not_hidden)
{
	put_pdb();
	struct source_module *m = module_of("/build/obj/Shop.pdb", make_pdb_id, true, true, NULL);
	static const struct {
		uint32_t token, il, line;
		const char *file;
	} rows[] = {
		{METHOD, 0, 10, "Shop/Cart.cs"}, {METHOD, 5, 10, "Shop/Cart.cs"}, {METHOD, 8, 10, "Shop/Cart.cs"},
		{METHOD, 9, 12, "Shop/Cart.cs"}, {METHOD, 199, 12, "Shop/Cart.cs"}, {METHOD, 200, 5000, "Shop/Cart.cs"},
		{METHOD, 220, 7, "Shop/Tax/Rate.cs"}, {METHOD, 9999, 7, "Shop/Tax/Rate.cs"}, {METHOD + 1, 3, 100, "Shop/Tax/Rate.cs"},
		{METHOD + 2, 0, 0, NULL}, {METHOD + 3, 0, 0, NULL}, {0x06000000, 0, 0, NULL}, {0x02000001, 0, 0, NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_line(m, rows[i].token, rows[i].il, rows[i].file, rows[i].line);
	struct source_place p;
	cr_assert(source_lines_find(m, METHOD, 0, &p));
	cr_expect_str_eq(p.link, "https://github.com/acme/shop/blob/0123abc/src/Shop/Cart.cs");
	cr_expect_str_eq(reason(), "used");
}

Test(source_lines, symbols_lie_beside_the_assembly_or_in_it)
{
	put_pdb();
	expect_line(module_of("C:\\build\\Shop.pdb", make_pdb_id, true, false, NULL), METHOD, 0, "Shop/Cart.cs", 10);
	cr_assert_eq(unlinkat(proc_fd, "root/app/Shop.pdb", 0), 0);
	pack();
	expect_line(module_of("Shop.pdb", make_pdb_id, true, true, &packed), METHOD, 9, "Shop/Cart.cs", 12);
	expect_line(module_of("Shop.pdb", make_pdb_id, true, false, &packed), METHOD, 9, "Shop/Cart.cs", 12);
}

Test(source_lines, symbols_of_a_single_file_lie_beside_the_executable)
{
	put_pdb();
	cr_assert_eq(symlinkat("/app/Shop", proc_fd, "exe"), 0);
	make_image(&image, "Shop.pdb", make_pdb_id, true, true, NULL);
	write_file("mem", image.data, image.len, IMAGE);
	lines = source_lines_new(proc_fd);
	expect_line(source_lines_module(lines, "Shop.dll", IMAGE), METHOD, 0, "Shop/Cart.cs", 10);
	cr_expect_not_null(source_lines_module(lines, "Shop.dll", IMAGE), "and is found again");
	cr_expect_null(source_lines_module(lines, "app/Shop.dll", IMAGE));
}

Test(source_lines, without_symbols_there_is_nothing_to_say)
{
	cr_expect_null(module_of("Shop.pdb", make_pdb_id, true, true, NULL));
	cr_expect_str_eq(reason(), "none");
	write_file("root/secret", pdb.data, pdb.len, 0);
	cr_expect_null(module_of("..", make_pdb_id, true, true, NULL));
	cr_expect_null(module_of("", make_pdb_id, true, true, NULL));
	cr_expect_str_eq(reason(), "none");
	cr_assert_eq(symlinkat("/etc/passwd", proc_fd, "root/app/Shop.pdb"), 0);
	cr_expect_null(module_of("Shop.pdb", make_pdb_id, true, true, NULL), "a link leads nowhere but into the container");
	cr_expect_str_eq(reason(), "none");
}

Test(source_lines, symbols_that_are_not_used_have_a_reason)
{
	static const uint8_t other[20] = {99};
	put_pdb();
	cr_expect_null(module_of("Shop.pdb", other, true, true, NULL));
	cr_expect_str_eq(reason(), "the symbols beside it are of another build");
	uint8_t stamp[20];
	memcpy(stamp, make_pdb_id, 20);
	stamp[19]++;
	cr_expect_null(module_of("Shop.pdb", stamp, true, true, NULL), "the same GUID and another stamp");
	write_file("root/app/Shop.pdb", "Microsoft C/C++ MSF 7.00\r\n\032DS\0\0\0", 32, 0);
	cr_expect_null(module_of("Shop.pdb", make_pdb_id, false, true, NULL));
	cr_expect_str_eq(reason(), "it is a Windows PDB: build with <DebugType>portable</DebugType>");
	int fd = openat(proc_fd, "root/app/Shop.pdb", O_WRONLY);
	cr_assert(fd >= 0 && ftruncate(fd, 200ll << 20) == 0);
	close(fd);
	cr_expect_null(module_of("Shop.pdb", make_pdb_id, true, true, NULL));
	cr_expect_str_eq(reason(), "its symbols are larger than 16 MiB");
	pack();
	packed.data[4] = packed.data[5] = packed.data[6] = packed.data[7] = 0x7f;
	cr_expect_null(module_of("Shop.pdb", make_pdb_id, true, true, &packed));
	cr_expect_str_eq(reason(), "its symbols are larger than 16 MiB");
	pack();
	packed.len -= 10;
	cr_expect_null(module_of("Shop.pdb", make_pdb_id, true, true, &packed));
	cr_expect_str_eq(reason(), "its embedded symbols are damaged");
}

/* Each length; and each byte changed: whatever they say is said in bounds. */
Test(source_lines, torn_symbols_are_refused_or_silent, .timeout = 120)
{
	for (size_t n = 0; n < pdb.len; n += 7) {
		cr_assert(unlinkat(proc_fd, "root/app/Shop.pdb", 0) == 0 || n == 0);
		write_file("root/app/Shop.pdb", pdb.data, n, 0);
		cr_expect_null(module_of("Shop.pdb", make_pdb_id, true, true, NULL), "%zu of %zu bytes", n, pdb.len);
	}
	for (size_t i = 0; i < pdb.len; i++) {
		struct source_place place;
		pdb.data[i] ^= 0xff;
		put_pdb();
		struct source_module *m = module_of("Shop.pdb", make_pdb_id, true, true, NULL);
		for (uint32_t t = 1; m && t <= 3; t++)
			for (uint32_t il = 0; il < 300; il += 10)
				source_lines_find(m, 0x06000000 + t, il, &place);
		pdb.data[i] ^= 0xff;
	}
}

static const char *shown(const char *first, const char *second, char separator, const char *link)
{
	static char text[256];
	struct source_place p = {0};
	make_pdb(&pdb, first, second, separator, link);
	unlinkat(proc_fd, "root/app/Shop.pdb", 0);
	put_pdb();
	struct source_module *m = module_of("Shop.pdb", make_pdb_id, true, true, NULL);
	cr_assert(m && source_lines_find(m, METHOD, 0, &p));
	snprintf(text, sizeof text, "%s %s", p.file, p.link ? p.link : "-");
	return text;
}

#define MAP(from, to) "{\"documents\":{\"" from "\":\"" to "\"}}"

Test(source_lines, paths_are_shown_below_the_repository_or_what_files_have_in_common)
{
	cr_expect_str_eq(shown("/agent/w/Shop/Cart.cs", "/agent/w/Shop/Tax/Rate.cs", '/', NULL), "Cart.cs -");
	cr_expect_str_eq(shown("C:\\w\\Shop\\Cart.cs", "C:\\w\\Lib\\Rate.cs", '\\', NULL), "Shop/Cart.cs -");
	cr_expect_str_eq(shown("/w/Shop/Cart.cs", "/w/Shop/obj/Release/AssemblyInfo.cs", '/', NULL), "Cart.cs -");
	cr_expect_str_eq(shown("/_/src/a b/Cart.cs", "/_/x.cs", '/', MAP("/_/*", "https://gitlab.com/acme/shop/-/raw/abc/*")),
			 "src/a b/Cart.cs https://gitlab.com/acme/shop/-/blob/abc/src/a%20b/Cart.cs");
	cr_expect_str_eq(shown("C:\\w\\Cart.cs", "C:\\x.cs", '\\', MAP("c:\\\\W\\\\*", "https://git.acme.example/raw/*?at=abc")),
			 "Cart.cs https://git.acme.example/raw/Cart.cs?at=abc");
	cr_expect_str_eq(shown("/_/Cart.cs", "/_/x.cs", '/', MAP("/_/*", "javascript:alert(1)//*")), "Cart.cs -");
	cr_expect_str_eq(shown("/_/Cart.cs", "/_/x.cs", '/', MAP("/_/*", "https://token@git.acme.example/*")), "Cart.cs -");
	cr_expect_str_eq(shown("/_/Cart.cs", "/_/x.cs", '/', MAP("/_/*", "https://a.example/\\\"onclick=*")), "Cart.cs -");
	cr_expect_str_eq(shown("/_/Cart.cs", "/_/x.cs", '/', "{\"documents\":[1"), "Cart.cs -");
}
