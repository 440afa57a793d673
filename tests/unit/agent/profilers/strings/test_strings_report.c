#include "agent/report/report_file.h"
#include "agent/profilers/strings/strings_report.h"
#include "common/base/cleanup.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"
#include "common/proto/string_class.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t secret[STRINGS_SECRET_BYTES] = {7};
static const struct report_context context = {"strings", "shop", "uid", "checkout-1", "app", "node-1", NULL};
#define HOSTILE "Evil<script>alert(1)</script>|`\x1b[31m"

/* `orders` with one of five codes of digits each and one note for all; `ballast` bytes of something else. */
static struct heap_snapshot *shop(size_t orders, uint64_t ballast, bool hostile)
{
	struct heap_builder *b = heap_builder_new(true);
	heap_builder_type(b, "string", HEAP_TYPE_VARIABLE | HEAP_TYPE_STRING, 22, NULL);
	heap_builder_type(b, hostile ? HOSTILE : "Shop.Order", HEAP_TYPE_REFERENCES, 32, "8 _code, 16 _note");
	heap_builder_type(b, "byte[]", HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	heap_builder_range(b, HEAP_GEN2, 0, UINT64_C(1) << 40);
	uint64_t at = 0x1000, note = at;
	const struct heap_string_record notes = {4, 99, STRING_CLASS_LOWER, 4, {'n', 'o', 't', 'e'}};
	heap_builder_object(b, 0, at, 30, NULL, 0);
	heap_builder_string(b, &notes);
	at += 0x100;
	for (size_t i = 0; i < orders; i++, at += 0x100) {
		const struct heap_string_record code = {6, i % 5, STRING_CLASS_DIGIT, 6, {'5', '5', '5', '3', '1', (uint16_t)('0' + i % 5)}};
		heap_builder_object(b, 1, at, 0, (struct heap_edge[]){{8, at + 0x40}, {16, note}}, 2);
		heap_builder_object(b, 0, at + 0x40, 34, NULL, 0);
		heap_builder_string(b, &code);
	}
	heap_builder_object(b, 2, at, ballast + 24, NULL, 0);
	return heap_builder_finish_take(b);
}

static void expect_diagnosis(size_t orders, uint64_t ballast, const char *finding, const char *headline)
{
	struct heap_snapshot *s = shop(orders, ballast, false);
	struct strings_analysis a;
	struct strings_diagnosis d;
	const struct strings_options o = {.secret = secret, .reveal = true};
	strings_analysis_make(s, &o, &a);
	strings_diagnosis_make(&a, &d);
	cr_expect_str_eq(d.finding, finding, "%zu orders", orders);
	cr_expect_str_eq(d.headline, headline);
	cr_expect_eq(strncmp(d.text, headline, strlen(headline)), 0);
	cr_expect(strlen(d.text) <= DIAGNOSIS_MAX_BYTES);
	cr_expect_null(strstr(d.text, "5553"), "contents in the diagnosis: %s", d.text);
	strings_diagnosis_fini(&d);
	strings_analysis_fini(&a);
	heap_snapshot_free(s);
}

Test(strings_report, the_headline_stands_alone)
{
	expect_diagnosis(0, 1000, "none", "No two strings on the heap are equal");
	expect_diagnosis(1000, 1000, "none", "Duplicate strings cost little: 40 kB (54% of the heap)");
	expect_diagnosis(10000, 100000000, "none", "Duplicate strings cost little: 400 kB (0.4% of the heap)");
	expect_diagnosis(10000, 1000, "CopiesInOneField", "Duplicate strings waste 400 kB (55% of the heap), most in Shop.Order._code");
}

static const char *const names[] = {"summary.md", "report.html", "report.json"};

static char *read_file(int dirfd, const char *name)
{
	AUTO_FD int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	cr_assert(fd >= 0 && fstat(fd, &st) == 0, "%s", name);
	char *text = mem_alloc((size_t)st.st_size + 1);
	cr_assert_eq(read(fd, text, (size_t)st.st_size), st.st_size);
	return text;
}

/* The files' texts, to be freed by the caller. */
static void write_report(const struct heap_snapshot *s, bool reveal, char *texts[3])
{
	static const struct session_spec spec = {.profiler = PROFILER_DUPLICATED_STRINGS};
	struct session_facts facts = {.pid = 42, .started_wall_ms = 1700000000000, .duration_ns = 1000000};
	struct strings_analysis a;
	struct report_result result;
	struct err e = ERR_INIT;
	const struct strings_options o = {.secret = secret, .reveal = reveal};
	char folder[] = "/tmp/drdotnet-strings-XXXXXX";
	cr_assert(mkdtemp(folder));
	AUTO_FD int dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	strings_analysis_make(s, &o, &a);
	cr_assert_eq(strings_report_write(&a, &facts, &spec, &context, dirfd, &result, &e), 0, "%s", e.message);
	cr_assert_eq(result.report_count, 3);
	for (size_t i = 0; i < 3; i++) {
		texts[i] = read_file(dirfd, names[i]);
		unlinkat(dirfd, names[i], 0);
	}
	rmdir(folder);
	report_result_fini(&result);
	strings_analysis_fini(&a);
}

Test(strings_report, contents_are_there_only_when_they_may)
{
	for (int reveal = 0; reveal < 2; reveal++) {
		struct heap_snapshot *s = shop(20000, 0, false);
		char *texts[3];
		write_report(s, reveal, texts);
		for (size_t i = 0; i < 3; i++) {
			cr_expect_eq(strstr(texts[i], "555314") != NULL, reveal, "%s, reveal %d", names[i], reveal);
			cr_expect_not_null(strstr(texts[i], "Shop.Order._code"), "%s", names[i]);
			free(texts[i]);
		}
		heap_snapshot_free(s);
	}
}

Test(strings_report, json_adds_up)
{
	struct heap_snapshot *s = shop(20000, 0, false);
	char *texts[3];
	struct err e = ERR_INIT;
	write_report(s, false, texts);
	json_t *report = jsonx_parse(texts[2], strlen(texts[2]), "report.json", &e);
	cr_assert_not_null(report, "%s", e.message);
	json_int_t wasted = 0, count = 0;
	size_t i;
	json_t *item;
	json_array_foreach(json_object_get(report, "values"), i, item) {
		wasted += json_integer_value(json_object_get(item, "wastedBytes"));
		count += json_integer_value(json_object_get(item, "count"));
		cr_expect(json_is_null(json_object_get(item, "start")));
	}
	cr_expect_eq(count, 20000);
	cr_expect_eq(wasted, 19995 * 40);
	cr_expect_eq(json_integer_value(jsonx_at(report, "strings.wastedBytes")), wasted);
	cr_expect_eq(json_integer_value(jsonx_at(report, "strings.values")), 6);
	json_t *holder = json_array_get(json_object_get(report, "holders"), 0);
	cr_expect_eq(json_integer_value(json_object_get(holder, "wastedBytes")), wasted);
	cr_expect_str_eq(json_string_value(json_object_get(holder, "remedy")), "number");
	json_decref(report);
	for (i = 0; i < 3; i++)
		free(texts[i]);
	heap_snapshot_free(s);
}

Test(strings_report, names_of_others_stay_text)
{
	struct heap_snapshot *s = shop(20000, 0, true);
	char *texts[3];
	write_report(s, true, texts);
	for (size_t i = 0; i < 3; i++) {
		cr_expect_null(strchr(texts[i], '\x1b'), "%s", names[i]);
		free(texts[i]);
	}
	heap_snapshot_free(s);
}
