#include "controller/store/store_config.h"

#include <criterion/criterion.h>
#include <string.h>

#define S3(fields) "stores: [{name: default, s3: {credentialsFolder: /k, " fields "}}]"

Test(store_config, reads_all_fields)
{
	static const char text[] = "stores:\n- name: default\n  s3:\n    endpoint: https://s3.example:9000/\n    region: eu-central-1\n"
				   "    bucket: diagnoses\n    prefix: team/drdotnet\n    pathStyle: true\n    credentialsFolder: /etc/keys\n"
				   "    publicEndpoint: http://public.example\n"
				   "- name: own\n  builtin: {}\n";
	struct err e = ERR_INIT;
	struct store_config *items;
	size_t count;
	cr_assert_eq(store_config_parse(text, strlen(text), &items, &count, &e), 0, "%s", e.message);
	cr_assert_eq(count, 2);
	cr_expect_str_eq(items[0].name, "default");
	cr_expect_str_eq(items[0].scheme, "https");
	cr_expect_str_eq(items[0].host, "s3.example:9000");
	cr_expect_str_eq(items[0].public_scheme, "http");
	cr_expect_str_eq(items[0].public_host, "public.example");
	cr_expect_str_eq(items[0].region, "eu-central-1");
	cr_expect_str_eq(items[0].bucket, "diagnoses");
	cr_expect_str_eq(items[0].prefix, "team/drdotnet/");
	cr_expect_str_eq(items[0].credentials_folder, "/etc/keys");
	cr_expect(items[0].path_style);
	cr_expect(items[1].builtin);
	store_config_free(items, count);
	store_config_free(NULL, 0);
}

Test(store_config, defaults_and_the_schemes_own_port)
{
	static const struct {
		const char *text, *scheme, *host, *prefix;
	} rows[] = {
		{S3("endpoint: 'https://h:443', bucket: abc"), "https", "h", NULL},
		{S3("endpoint: 'http://h:80', bucket: abc, prefix: ''"), "http", "h", NULL},
		{S3("endpoint: 'http://h:443', bucket: abc, prefix: 'a/'"), "http", "h:443", "a/"},
		{S3("endpoint: 'https://h:4443', bucket: abc, prefix: a"), "https", "h:4443", "a/"},
		{S3("endpoint: 'https://[::1]:9000', bucket: abc"), "https", "[::1]:9000", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		struct store_config *items;
		size_t count;
		cr_assert_eq(store_config_parse(rows[i].text, strlen(rows[i].text), &items, &count, &e), 0, "%s", e.message);
		cr_expect_str_eq(items[0].scheme, rows[i].scheme, "row %zu", i);
		cr_expect_str_eq(items[0].host, rows[i].host, "row %zu", i);
		cr_expect_str_eq(items[0].public_host, rows[i].host, "row %zu", i);
		cr_expect_str_eq(items[0].region, "us-east-1", "row %zu", i);
		cr_expect(!items[0].path_style);
		cr_expect_eq(!items[0].prefix, !rows[i].prefix, "row %zu", i);
		if (rows[i].prefix)
			cr_expect_str_eq(items[0].prefix, rows[i].prefix, "row %zu", i);
		store_config_free(items, count);
	}
}

Test(store_config, errors_name_the_field)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"", "empty document"},
		{"[]", "expected an object"},
		{"stores: []", "stores: expected 1 to 32 stores, found 0"},
		{"store: []", "store: unknown field"},
		{"stores: [{name: a}]", "stores[0]: give either s3 or builtin"},
		{"stores: [{name: a, builtin: {}, s3: {}}]", "stores[0]: give either s3 or builtin"},
		{"stores: [{builtin: {}}]", "stores[0].name: required"},
		{"stores: [{name: My_Store, builtin: {}}]", "stores[0].name: not a valid name: \"My_Store\"; expected at most 63"},
		{"stores: [{name: -a, builtin: {}}]", "stores[0].name: not a valid name"},
		{"stores: [7]", "stores[0]: expected an object"},
		{"stores: [{name: a, builtin: {}}, {name: a, builtin: {}}]", "stores[1].name: \"a\" stands twice"},
		{S3("bucket: abc"), "stores[0].s3.endpoint: required"},
		{S3("endpoint: 'https://h'"), "stores[0].s3.bucket: required"},
		{S3("endpoint: 'https://h', bucket: abc, secretAccessKey: x"), "stores[0].s3.secretAccessKey: unknown field"},
		{S3("endpoint: 'https://h', bucket: abc, pathStyle: 'yes'"), "stores[0].s3.pathStyle: expected true or false"},
		{S3("endpoint: 'h:9000', bucket: abc"), "stores[0].s3.endpoint: expected \"https://host[:port]\""},
		{S3("endpoint: 'ftp://h', bucket: abc"), "stores[0].s3.endpoint: expected"},
		{S3("endpoint: 'https://', bucket: abc"), "stores[0].s3.endpoint: expected"},
		{S3("endpoint: 'https://h/bucket', bucket: abc"), "stores[0].s3.endpoint: expected"},
		{S3("endpoint: 'https://u:p@h', bucket: abc"), "stores[0].s3.endpoint: expected"},
		{S3("endpoint: \"https://h\\r\\nX-A: b\", bucket: abc"), "stores[0].s3.endpoint: expected"},
		{S3("endpoint: 'https://h', bucket: 'a/b'"), "stores[0].s3.bucket: \"a/b\" is not a bucket's name"},
		{S3("endpoint: 'https://h', bucket: '..'"), "stores[0].s3.bucket: \"..\" is not a bucket's name"},
		{S3("endpoint: 'https://h', bucket: abc, region: 'a b'"), "stores[0].s3.region: \"a b\" is not a region's name"},
		{S3("endpoint: 'https://h', bucket: abc, prefix: '/a'"), "stores[0].s3.prefix: must not begin"},
		{S3("endpoint: 'https://h', bucket: abc, prefix: 'a//b'"), "stores[0].s3.prefix: must not begin"},
		{S3("endpoint: 'https://h', bucket: abc, prefix: 'a/../b'"), "stores[0].s3.prefix: must not begin"},
		{S3("endpoint: 'https://h', bucket: abc, prefix: '.'"), "stores[0].s3.prefix: must not begin"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		struct store_config *items;
		size_t count;
		cr_expect_eq(store_config_parse(rows[i].text, strlen(rows[i].text), &items, &count, &e), -1, "row %zu", i);
		cr_expect_eq(e.kind, ERR_INVALID, "row %zu: %s", i, err_kind_name(e.kind));
		cr_expect_not_null(strstr(e.message, rows[i].message), "row %zu: %s", i, e.message);
	}
}
