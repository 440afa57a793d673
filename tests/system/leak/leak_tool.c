/* leak_tool KIND DIR   writes the report of a made-up MemoryLeak session into the folder, which must be there. Kinds:
 *   grows      a cache that grows, a stack's objects, memory outside of the heap
 *   unknown    two walks of a process whose memory map may not be read
 *   hostile    names that do their worst
 *   big        as many paths and types as are kept */
#include "agent/profilers/leak/leak_report.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "tests/unit/agent/profilers/leak/make_model.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void make_types(struct leak_model *m, const char *name, uint64_t size)
{
	uint32_t type = leak_model_type(m, name, "Shop.dll");
	for (size_t w = 0; w < m->walk_count && type != LEAK_NONE; w++)
		*leak_model_type_at(m, type, w) = (struct leak_type_figures){100 * w, 100 * w * size, 50 * w * size, w, w * size};
}

static void make_account(struct memory_account *a, unsigned kb)
{
	char figures[64];
	static const char *const lines[] = {"55d539900000-56d53aa00000 rw-p 00000000 00:00 0 [heap]",
					    "7e0000000000-7e1000000000 rw-p 00000000 00:00 0",
					    "7f5000000000-7f5000010000 r--s 00000000 fe:00 7 /data/<b>index</b>.bin"};
	static const struct memory_range heap = {0x7e0000000000, 0x1000, false};
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		int n = snprintf(figures, sizeof figures, "Rss: %u kB", kb * (unsigned)(i + 1));
		memory_account_add_line(a, lines[i], strlen(lines[i]));
		memory_account_add_line(a, figures, (size_t)n);
	}
	memory_account_classify(a, &heap, 1);
}

static void make_grows(struct leak_model *m)
{
	make_walks(m, 5, 30);
	make_cache(m, COUNTS(1000, 51000, 101000, 151000, 201000));
	uint32_t stack = leak_model_root(m, LEAK_ROOT_STACK, "stack of Shop.Main (thread 1)");
	make_step(m, stack, "Shop.Row", NULL, 1000, COUNTS(0, 5000, 2000, 4000, 9000));
	make_types(m, "Shop.Order", 100);
	make_types(m, "Shop.Row", 1000);
	m->limit = (struct leak_limit){INT64_C(512) << 20, INT64_C(300) << 20, -1};
	make_account(&m->first, 10000);
	make_account(&m->last, 60000);
	m->memory_known = true;
	m->walks[4].bytes += MB(20);
	m->walks[0].why = m->walks[4].why = "its predicted stop fits the pause budget";
}

static void make_unknown(struct leak_model *m)
{
	make_walks(m, 2, 60);
	make_cache(m, COUNTS(1000, 1000));
	m->walks[0].exact = false;
}

static void make_hostile(struct leak_model *m)
{
	static const char *const texts[] = {
		"</script><script>document.title='owned'</script>", "<img src=x onerror=document.title='owned'>", "\"]}],\"a\":[",
		"line\nbreak\r\ttab", "\x1b[31mred\x07", "\xe2\x80\xae" "right to left", "\xff\xfe bytes", "{{data}}", "`code` | *bold* [x](y)", "\\",
	};
	AUTO_FREE char *longest = mem_alloc(20001);
	memset(longest, 'x', 20000);
	make_walks(m, 3, 30);
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		uint32_t root = leak_model_root(m, i % 9, texts[i]);
		uint32_t step = make_step(m, root, texts[(i + 1) % 10], texts[i], 10, COUNTS(1, 1, 1));
		make_step(m, step, texts[(i + 2) % 10], longest, 1000, COUNTS(0, 1000 * (i + 1), 2000 * (i + 1)));
		make_types(m, texts[i], 100);
	}
	make_step(m, leak_model_root(m, LEAK_ROOT_STATIC, longest), longest, longest, 1000, COUNTS(0, 90000, 190000));
	make_types(m, longest, 100);
}

static void make_big(struct leak_model *m)
{
	make_walks(m, 10, 30);
	for (unsigned i = 0; i < LEAK_MAX_STEPS; i++) {
		char name[64];
		snprintf(name, sizeof name, "Shop.Some.Name.Space.Thing%u", i);
		uint32_t root = leak_model_root(m, LEAK_ROOT_STATIC, name);
		if (root != LEAK_NONE && leak_model_step(m, root, name, name, "Shop.dll", "") != LEAK_NONE)
			make_step(m, root, name, NULL, 1000, COUNTS(10, 100, 200, 300, 400, 500, 600, 700, 800, 900));
		make_types(m, name, 100);
	}
}

static int write_report(const struct leak_model *m, const char *folder)
{
	static char entrypoint[] = "Shop", version[] = "10.0.1", arch[] = "x64";
	struct session_facts facts = {.target = {.entrypoint = entrypoint, .runtime_version = version, .arch = arch}, .pid = 42,
				      .duration_ns = 120 * SECOND};
	struct report_context context = {"", "", "", "", "", "node-1", NULL};
	struct report_result out = {0};
	struct session_spec spec;
	struct err e = ERR_INIT;
	AUTO_FD int dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	session_spec_init(&spec, PROFILER_MEMORY_LEAK);
	int rc = leak_report_write(m, &facts, -SECOND, &spec, &context, dirfd, &out, &e);
	if (rc < 0)
		fprintf(stderr, "%s\n", e.message);
	else
		printf("%s\n", out.headline);
	report_result_fini(&out);
	session_spec_fini(&spec);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(struct leak_model *m);
	} kinds[] = {{"grows", make_grows}, {"unknown", make_unknown}, {"hostile", make_hostile}, {"big", make_big}};
	for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0]; i++) {
		struct leak_model m;
		if (strcmp(argv[1], kinds[i].name) != 0)
			continue;
		kinds[i].make(&m);
		int rc = write_report(&m, argv[2]);
		leak_model_fini(&m);
		return rc < 0;
	}
	fprintf(stderr, "usage: leak_tool grows|unknown|hostile|big DIR\n");
	return 2;
}
