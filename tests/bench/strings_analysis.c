/* strings_analysis STRINGS VALUES: makes a heap of so many strings (each held by an object of its own, that lies near or anywhere) of so many
 * different values, analyses it, and prints one JSON line with what that took. `make test-tools` builds it as
 * build/release/tests/strings-analysis. */
#include "agent/profilers/strings/strings_analysis.h"
#include "common/base/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <sys/resource.h>
#include <unistd.h>

#define BASE UINT64_C(0x7e0000000000)
#define STRING_BYTES 56 /* of 16 characters, rounded up */
#define OBJECT_BYTES 32
#define UNIT_BYTES (STRING_BYTES + OBJECT_BYTES)

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static struct heap_snapshot *make(uint64_t strings, uint64_t values)
{
	struct heap_builder *b = heap_builder_new(true);
	uint32_t string = heap_builder_type(b, "string", HEAP_TYPE_VARIABLE | HEAP_TYPE_STRING, 22, NULL);
	uint32_t order = heap_builder_type(b, "Shop.Order", HEAP_TYPE_REFERENCES, OBJECT_BYTES, "8 _code, 16 _other");
	heap_builder_range(b, HEAP_GEN2, BASE, strings * UNIT_BYTES);
	for (uint64_t i = 0; i < strings; i++) {
		uint64_t at = BASE + i * UNIT_BYTES, anywhere = BASE + mix(i + 1) % strings * UNIT_BYTES;
		struct heap_string_record r = {.length = 16, .digest = mix(mix(i) % values + 1), .classes = 1};
		heap_builder_object(b, order, at, 0, (struct heap_edge[]){{8, at + OBJECT_BYTES}, {16, anywhere + OBJECT_BYTES}}, 2);
		heap_builder_object(b, string, at + OBJECT_BYTES, 54, NULL, 0);
		heap_builder_string(b, &r);
	}
	return heap_builder_finish_take(b);
}

/* In KB; the peak counts from here on. */
static long memory_kb(bool peak)
{
	char line[128];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, peak ? "VmHWM: %ld" : "VmRSS: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static void forget_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "5", 1) != 1)
		fprintf(stderr, "the peak is that of the whole process\n");
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	static const uint8_t secret[STRINGS_SECRET_BYTES];
	uint64_t strings = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, values = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	struct strings_analysis a;
	const struct strings_options o = {.secret = secret};
	if (!strings || !values) {
		fprintf(stderr, "usage: strings-analysis STRINGS VALUES\n");
		return 2;
	}
	struct heap_snapshot *s = make(strings, values);
	forget_peak();
	long before_kb = memory_kb(false);
	int64_t began_ns = clock_mono_ns();
	clock_t began_cpu = clock();
	strings_analysis_make(s, &o, &a);
	double ms = (double)(clock_mono_ns() - began_ns) / 1e6, cpu_ms = (double)(clock() - began_cpu) * 1000 / CLOCKS_PER_SEC;
	printf("{\"strings\":%" PRIu64 ",\"values\":%" PRIu64 ",\"copies\":%" PRIu64 ",\"ms\":%.0f,\"cpu_ms\":%.0f,\"added_mb\":%ld,"
	       "\"stream_mb\":%zu}\n", a.strings, a.values, a.copies, ms, cpu_ms,
	       (memory_kb(true) - before_kb) / 1024, s->stream_bytes >> 20);
	strings_analysis_fini(&a);
	heap_snapshot_free(s);
	return 0;
}
