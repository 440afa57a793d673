#include "agent/cli/ps.h"
#include "common/api/reason.h"
#include "common/base/jsonx.h"

#include <criterion/criterion.h>
#include <string.h>

#define TEXT(s) ((char *)(uintptr_t)(s))

static struct target items[] = {
	{.pid = 14352, .inner_pid = 1, .uid = 10001, .runtime_version = TEXT("8.0.31"), .entrypoint = TEXT("Checkout"), .profilable = true,
	 .container_id = TEXT("0123456789abcdef0123456789abcdef"), .arch = TEXT("x64")},
	{.pid = 0, .inner_pid = 77, .uid = (uid_t)-1, .entrypoint = TEXT("\x1b[31mred\xC3\xA9"), .container_name = TEXT("web"),
	 .reason = REASON_NativeAOT, .message = TEXT("ahead of \"time\"")},
};
static const struct target_list list = {.items = items, .count = 2, .cap = 2};

static void print(const struct target_list *l, bool json, char out[4096])
{
	FILE *f = fmemopen(out, 4096, "w");
	cr_assert(f);
	cr_expect_eq(ps_print(l, json, f), 0);
	fclose(f);
}

Test(ps, prints_an_aligned_table)
{
	char out[4096];
	print(&list, false, out);
	cr_expect_str_eq(out,
			 "PID    INNER  UID    RUNTIME  ENTRYPOINT    CONTAINER     PROFILABLE\n"
			 "14352  1      10001  8.0.31   Checkout      0123456789ab  yes\n"
			 "-      77     -      -        \\x1b[31mred\xC3\xA9  web           no: NativeAOT: ahead of \"time\"\n",
			 "%s", out);
}

Test(ps, prints_json)
{
	char out[4096];
	struct err e = ERR_INIT;
	print(&list, true, out);
	AUTO_JSON json_t *doc = jsonx_parse(out, strlen(out), "ps", &e);
	cr_assert(doc, "%s\n%s", e.message, out);
	const json_t *all = json_object_get(doc, "processes");
	cr_assert_eq(json_array_size(all), 2);
	const json_t *a = json_array_get(all, 0), *b = json_array_get(all, 1);
	cr_expect_eq(jsonx_int_at(a, "pid", 0), 14352);
	cr_expect_eq(jsonx_int_at(a, "innerPid", 0), 1);
	cr_expect_eq(jsonx_int_at(a, "uid", 0), 10001);
	cr_expect_str_eq(jsonx_str_at(a, "runtimeVersion", ""), "8.0.31");
	cr_expect(json_is_true(json_object_get(a, "profilable")));
	cr_expect(json_is_null(json_object_get(a, "reason")));
	cr_expect(json_is_null(json_object_get(b, "pid")));
	cr_expect(json_is_null(json_object_get(b, "uid")));
	cr_expect(json_is_false(json_object_get(b, "profilable")));
	cr_expect_str_eq(jsonx_str_at(b, "entrypoint", ""), "\x1b[31mred\xC3\xA9");
	cr_expect_str_eq(jsonx_str_at(b, "reason", ""), "NativeAOT");
	cr_expect_str_eq(jsonx_str_at(b, "message", ""), "ahead of \"time\"");
	cr_expect_str_eq(jsonx_str_at(b, "remedy", ""), reason_remedy(REASON_NativeAOT));
	cr_expect_null(strchr(out, '\x1b'));
}

Test(ps, prints_nothing_as_nothing)
{
	char out[4096];
	const struct target_list none = {0};
	print(&none, true, out);
	cr_expect_str_eq(out, "{\"processes\":[]}\n");
	print(&none, false, out);
	cr_expect_str_eq(out, "PID  INNER  UID  RUNTIME  ENTRYPOINT  CONTAINER  PROFILABLE\n");
}
