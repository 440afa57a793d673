#include "controller/store/report_path.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(report_path, whose_report_it_is)
{
	static const struct {
		const char *key, *namespace, *session, *pod, *file;
	} rows[] = {
		{"shop/cart-01234567/pod-0/summary.md", "shop", "cart", "pod-0", "summary.md"},
		{"a/b-c-d-01234567/p.q/profile.pb.gz", "a", "b-c-d", "p.q", "profile.pb.gz"},
		{"a/b-c-01234567-01234567/p/f", "a", "b-c-01234567", "p", "f"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct report_path p;
		cr_assert_eq(report_path_parse(rows[i].key, &p), 0, "%s", rows[i].key);
		cr_expect_str_eq(p.namespace, rows[i].namespace);
		cr_expect_str_eq(p.session, rows[i].session);
		cr_expect_str_eq(p.pod, rows[i].pod);
		cr_expect_str_eq(p.file, rows[i].file);
	}
}

Test(report_path, other_forms_are_nobodys)
{
	static const char *const rows[] = {
		"", "/", "a", "a/b-01234567", "a/b-01234567/p", "a/b-01234567/p/", "a/b-01234567/p/f/g", "/a/b-01234567/p/f", "a//b-01234567/p/f",
		"a/b/p/f", "a/-01234567/p/f", "a/b01234567/p/f", "a/b-0123456/p/f", "../b-01234567/p/f", "a/b-01234567/../f", "a/b-01234567/p/..",
		"a/b-01234567/p/.f", "a/b-01234567/p/f g", "a/b-01234567/p/f?x", "a/b-01234567/p/f%2f",
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct report_path p;
		cr_expect_eq(report_path_parse(rows[i], &p), -1, "'%s'", rows[i]);
	}
}

Test(report_path, each_part_has_its_bound)
{
	static const struct {
		const char *format;
		int most;
	} rows[] = {{"%s/s-01234567/p/f", 63}, {"n/%s-01234567/p/f", 247 - 9}, {"n/s-01234567/%s/f", 247}, {"n/s-01234567/p/%s", 63}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (int len = rows[i].most - 1; len <= rows[i].most + 1; len++) {
			char part[300], key[400];
			memset(part, 'x', (size_t)len);
			part[len] = '\0';
			snprintf(key, sizeof key, rows[i].format, part);
			struct report_path p;
			cr_expect_eq(report_path_parse(key, &p), len <= rows[i].most ? 0 : -1, "row %zu, %d", i, len);
		}
	}
}

Test(report_path, media_types_by_name)
{
	cr_expect_str_eq(report_path_media_type("report.html"), "text/html; charset=utf-8");
	cr_expect_str_eq(report_path_media_type("summary.md"), "text/markdown; charset=utf-8");
	cr_expect_str_eq(report_path_media_type("profile.pb.gz"), "application/gzip");
	cr_expect_str_eq(report_path_media_type("profile.speedscope.json"), "application/json");
	cr_expect_str_eq(report_path_media_type(".html"), "application/octet-stream");
	cr_expect_str_eq(report_path_media_type("report.htm"), "application/octet-stream");
}
