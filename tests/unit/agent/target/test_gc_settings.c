#include "agent/target/gc_settings.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK(text) text, sizeof text
#define FILE_TEXT "{\"runtimeOptions\":{\"configProperties\":{\"System.GC.Server\":true,\"System.GC.Concurrent\":false,\"System.GC.HeapHardLimit\":209715200," \
		  "\"System.GC.ConserveMemory\":\"7\",\"System.GC.HeapCount\":-4,\"System.GC.Gen0Size\":{}}}}"

static const struct gc_settings *read_both(const char *block, size_t len, const char *text)
{
	static struct gc_settings s;
	gc_settings_init(&s);
	if (block)
		gc_settings_environment(&s, block, len);
	if (text)
		gc_settings_file(&s, text, strlen(text));
	return &s;
}

static void check_place(const struct gc_settings *s, enum gc_setting which, const char *expected)
{
	AUTO_BUF struct buf b;
	buf_init(&b, 200);
	gc_settings_place(s, which, &b);
	cr_expect_str_eq(buf_str(&b), expected);
}

Test(gc_settings, variables_are_hexadecimal)
{
	const struct gc_settings *s = read_both(
		BLOCK("DOTNET_gcServer=1\0DOTNET_GCgen0size=0x4000000\0COMPlus_GCHeapCount=10\0DOTNET_GCHeapHardLimit=C800000\0"
		      "DOTNET_GCConserveMemory=few"), NULL);
	cr_expect(s->environment && !s->file && !gc_settings_complete(s));
	cr_expect_eq(s->of[GC_SETTING_SERVER].value, 1);
	cr_expect_eq(s->of[GC_SETTING_GEN0_SIZE].value, 64 << 20);
	cr_expect_eq(s->of[GC_SETTING_HEAP_COUNT].value, 16);
	cr_expect_eq(s->of[GC_SETTING_HARD_LIMIT].value, 0xC800000);
	cr_expect(s->of[GC_SETTING_CONSERVE].value == -1 && s->of[GC_SETTING_CONSERVE].origin == GC_NOT_SET);
	check_place(s, GC_SETTING_GEN0_SIZE, "DOTNET_GCgen0size in its environment");
}

Test(gc_settings, the_environment_counts_more_than_the_file)
{
	const struct gc_settings *s = read_both(NULL, 0, FILE_TEXT);
	cr_expect(s->file && !gc_settings_complete(s));
	cr_expect(gc_settings_server(s) == 1 && gc_settings_concurrent(s) == 0);
	cr_expect(s->of[GC_SETTING_HARD_LIMIT].value == 209715200 && s->of[GC_SETTING_CONSERVE].value == 7);
	cr_expect(s->of[GC_SETTING_HEAP_COUNT].value == -1 && s->of[GC_SETTING_GEN0_SIZE].value == -1, "what is no size is not taken");
	check_place(s, GC_SETTING_CONCURRENT, "System.GC.Concurrent in its runtimeconfig.json");
	s = read_both(BLOCK("DOTNET_gcServer=0\0DOTNET_gcConcurrent=1"), FILE_TEXT);
	cr_expect(gc_settings_server(s) == 0 && gc_settings_concurrent(s) == 1 && gc_settings_complete(s));
	check_place(s, GC_SETTING_CONCURRENT, "DOTNET_gcConcurrent in its environment");
}

Test(gc_settings, what_nobody_set_is_known_only_when_all_was_read)
{
	static const char *const strange[] = {"", "[]", "{\"runtimeOptions\":", "no JSON", "{\"runtimeOptions\":[]} {}"};
	const struct gc_settings *s = read_both(BLOCK("A=1"), NULL);
	cr_expect(gc_settings_server(s) == -1 && gc_settings_concurrent(s) == -1);
	s = read_both(BLOCK("A=1"), "{\"runtimeOptions\":{}}");
	cr_expect(gc_settings_server(s) == 0 && gc_settings_concurrent(s) == 1, "the runtime's own choice");
	for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
		cr_expect(i == 1 || !read_both(BLOCK("A=1"), strange[i])->file, "%s", strange[i]);
}

Test(gc_settings, threads_say_what_the_runtime_made_of_it)
{
	struct gc_settings s;
	gc_settings_init(&s);
	s.server_heaps = 0;
	gc_settings_environment(&s, BLOCK("DOTNET_gcServer=1\0DOTNET_gcConcurrent=0"));
	cr_expect_eq(gc_settings_server(&s), 0, "one CPU: it is not used");
	s.background = true;
	cr_expect_eq(gc_settings_concurrent(&s), 1);
}

static void write_text(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT, 0644);
	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* A folder as /proc/PID is: the program beside its file, or the assembly that is mapped. */
Test(gc_settings, the_file_is_found_beside_the_program_or_the_assembly)
{
	for (int mapped = 0; mapped < 2; mapped++) {
		char folder[] = "/tmp/drdotnet-test-XXXXXX", maps[200];
		struct gc_settings s;
		cr_assert(mkdtemp(folder));
		int proc = open(folder, O_RDONLY | O_DIRECTORY);
		cr_assert(mkdirat(proc, "root", 0755) == 0 && mkdirat(proc, "root/app", 0755) == 0 && mkdirat(proc, "task", 0755) == 0);
		cr_assert(mkdirat(proc, "task/1", 0755) == 0 && mkdirat(proc, "task/2", 0755) == 0);
		write_text(proc, "task/1/comm", ".NET Server GC\n");
		write_text(proc, "task/2/comm", ".NET Server GC\n");
		write_text(proc, "root/app/Shop.runtimeconfig.json", FILE_TEXT);
		cr_assert_eq(symlinkat(mapped ? "/usr/share/dotnet/dotnet" : "/app/Shop", proc, "exe"), 0);
		snprintf(maps, sizeof maps, "7f0000000000-7f0000001000 r--p 00000000 08:01 42%30s/app/%s\n", "", mapped ? "Shop.dll" : "Other.dll");
		write_text(proc, "maps", maps);
		gc_settings_init(&s);
		gc_settings_read(&s, proc, "Shop");
		cr_expect(s.file && gc_settings_concurrent(&s) == 0, "%s", maps);
		cr_expect_eq(s.server_heaps, 2);
		gc_settings_init(&s);
		gc_settings_read(&s, proc, "../Shop");
		cr_expect(!s.file);
		gc_settings_read(&s, proc, NULL);
		cr_expect(!s.file);
		close(proc);
	}
}
