/* report_tool hostile DIR          writes the report of a capture whose names do their worst
 * report_tool big DIR [THREADS [STACKS]]  writes that of a 30 s capture with many different stacks; says what it took
 * DIR must be there. Prints one JSON line. */
#include "agent/profilers/cpu/cpu_report.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "tests/unit/agent/stacks/make_capture.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define METHODS 6000
#define ENTRIES 80
#define STACKS 8000 /* unless it is told */
#define STACKS_MAX 100000
#define SECONDS 30
#define HERTZ 99

static void add_hostile(struct made *m)
{
	static const char *const texts[] = {
		"</script><script>document.title='owned'</script>", "<img src=x onerror=document.title='owned'>", "\"]}],\"a\":[", "a;b;c 5",
		"line\nbreak\r\ttab", "\x1b[31mred\x07", "\xe2\x80\xae" "right to left", "\xff\xfe bytes", "<!--", "]]>", "{{data}}", "`code` | *bold* [x](y)",
		"${x}", "\\", "'", "\"", "&lt;", "%s%n", "__proto__", "constructor",
	};
	enum { COUNT = sizeof texts / sizeof texts[0] };
	uint32_t frames[COUNT];
	AUTO_FREE char *longest = mem_alloc(20001);
	memset(longest, 'x', 20000);
	for (uint32_t i = 0; i < COUNT; i++) {
		struct frame f = {.kind = i % 2 ? FRAME_MANAGED : FRAME_NATIVE, .module = (char *)texts[COUNT - 1 - i], .type = (char *)texts[i],
				  .method = (char *)texts[i]};
		frames[i] = capture_add_frame(m->builder, &f);
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t thread = capture_add_thread(m->builder, 100 + i, texts[i]);
		uint32_t stack = capture_add_stack(m->builder, frames + i, COUNT - i, i == 3);
		for (uint32_t k = 0; k <= i * 10; k++)
			capture_add_sample(m->builder, k * (MAKE_SECOND / 100), thread, stack);
	}
	struct frame f = {.kind = FRAME_MANAGED, .module = longest, .type = longest, .method = longest};
	uint32_t one = capture_add_frame(m->builder, &f);
	capture_add_sample(m->builder, 0, 0, capture_add_stack(m->builder, &one, 1, false));
	capture_add_sample(m->builder, 0, 0, capture_add_stack(m->builder, NULL, 0, false));
	m->capture.facts.target.entrypoint = mem_strdup(texts[0]);
	m->capture.fallback_reason = "PerfEventsForbidden";
	m->capture.fallback_message = mem_strdup(texts[1]);
}

/* A web service's stacks: some entry points with long chains of .NET's own frames above them, then calls that branch. Each leads to
 * another place; a few are hot. */
static void make_pool(struct made *m, const uint32_t *frames, uint32_t *pool, uint32_t stacks)
{
	unsigned seed = 7;
	for (uint32_t i = 0; i < stacks; i++) {
		uint32_t stack[80], path[80], depth = 0, entry = i % ENTRIES, own = 8 + (uint32_t)rand_r(&seed) % 22;
		for (uint32_t k = 0; k < 30; k++)
			path[depth++] = frames[(entry / 8 * 37 + k * 3) % METHODS];
		for (uint32_t k = 0, at = entry * 131; k < own; k++) {
			/* most methods call one other, some a few */
			uint32_t choice = (uint32_t)(rand_r(&seed) % 100);
			at = at * 31 + 7 + (choice < 80 ? 0 : choice % 4);
			path[depth++] = frames[at % METHODS];
		}
		for (uint32_t k = 0; k < depth; k++)
			stack[k] = path[depth - 1 - k];
		pool[i] = capture_add_stack(m->builder, stack, depth, false);
	}
}

/* Smaller numbers are more frequent. */
static uint32_t pick(unsigned *seed, uint32_t stacks)
{
	double x = (double)rand_r(seed) / ((double)RAND_MAX + 1);
	return (uint32_t)(x * x * x * stacks);
}

static void add_big(struct made *m, uint32_t threads, uint32_t stacks)
{
	static uint32_t frames[METHODS], pool[STACKS_MAX];
	unsigned seed = 11;
	char type[120], method[120];
	for (uint32_t i = 0; i < METHODS; i++) {
		bool library = i % 3 == 0;
		snprintf(type, sizeof type, "%s.Area%u.%sService%u", library ? "System.Collections" : "Contoso.Shop.Ordering", i % 23,
			 i % 5 ? "" : "Background", i / 7);
		snprintf(method, sizeof method, "%s%u", i % 2 ? "ProcessNextOrderOfCustomer" : "Evaluate", i);
		struct frame f = {.kind = FRAME_MANAGED, .module = (char *)(library ? "System.Collections.dll" : "Contoso.Shop.Ordering.dll"), .type = type,
				  .method = method, .params = (char *)"System.Int32,System.Threading.CancellationToken", .overloaded = i % 4 == 0};
		frames[i] = capture_add_frame(m->builder, &f);
	}
	make_pool(m, frames, pool, stacks);
	m->capture.facts.duration_ns = SECONDS * MAKE_SECOND;
	m->capture.frequency_hertz = HERTZ;
	m->capture.node_cpus = threads;
	for (int k = 0; k < SECONDS * HERTZ; k++)
		for (uint32_t t = 0; t < threads; t++) {
			uint32_t thread = capture_add_thread(m->builder, 100 + t, ".NET TP Worker");
			capture_add_sample(m->builder, k * (MAKE_SECOND / HERTZ), thread, pool[pick(&seed, stacks)]);
		}
}

static double cpu_ms(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static long peak_kb(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

static int write_report(struct made *m, int dirfd)
{
	const struct session_spec spec = {.profiler = PROFILER_CPU_HOTPATHS};
	const struct report_context context = {"cpu", "shop", "uid", "checkout-1", "app", "node-1", "oidc:jane@example.com<b>"};
	struct report_result result;
	struct err e = ERR_INIT;
	long before_kb = peak_kb();
	double before_ms = cpu_ms();
	int64_t start_ns = clock_mono_ns();
	if (cpu_report_write(&m->capture, &spec, &context, dirfd, &result, &e) < 0) {
		fprintf(stderr, "report_tool: %s\n", e.message);
		return 1;
	}
	double ms = (double)(clock_mono_ns() - start_ns) / 1e6;
	printf("{\"ms\":%.1f,\"cpu_ms\":%.1f,\"samples\":%zu,\"stacks\":%zu,\"methods\":%zu,\"memory_kb\":%ld", ms,
	       cpu_ms() - before_ms, m->capture.sample_count, m->capture.stack_count,
	       m->capture.frame_count, peak_kb() - before_kb);
	for (size_t i = 0; i < result.report_count; i++)
		printf(",\"%s\":%lld", result.reports[i].name, (long long)result.reports[i].size_bytes);
	printf("}\n");
	report_result_fini(&result);
	return 0;
}

static uint32_t stacks_of(const char *word)
{
	unsigned long n = strtoul(word, NULL, 10);
	return n < 1 ? 1 : n > STACKS_MAX ? STACKS_MAX : (uint32_t)n;
}

int main(int argc, char **argv)
{
	bool big = argc >= 3 && strcmp(argv[1], "big") == 0;
	if (argc < 3 || (!big && strcmp(argv[1], "hostile") != 0)) {
		fprintf(stderr, "usage: report_tool hostile|big DIR [THREADS [STACKS]]\n");
		return 2;
	}
	AUTO_FD int dirfd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct made m;
	make_begin(&m);
	if (big)
		add_big(&m, argc > 3 ? (uint32_t)atoi(argv[3]) : 16, argc > 4 ? stacks_of(argv[4]) : STACKS);
	else
		add_hostile(&m);
	int code = write_report(&m, dirfd);
	make_end(&m);
	return code;
}
