#include "controller/store/object_store.h"

#include "common/api/reason.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define HELLO_SHA256 "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define NOW 1369353600000 /* 2013-05-24T00:00:00Z */

static char folder[64];

static void set_up(void)
{
	strcpy(folder, "/tmp/object-store-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
}

static void tear_down(void)
{
	char command[100];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	cr_expect_eq(system(command), 0);
}

TestSuite(object_store, .init = set_up, .fini = tear_down);

static void put_key(const char *name, const char *value)
{
	char path[120];
	struct err e = ERR_INIT;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	cr_assert_eq(fsio_write_atomic(path, value, strlen(value), 0600, &e), 0, "%s", e.message);
}

static struct object_stores *parse(const char *more, struct report_store *own)
{
	char text[600];
	struct err e = ERR_INIT;
	snprintf(text, sizeof text,
		 "stores: [{name: default, s3: {endpoint: 'https://s3.example', bucket: box, credentialsFolder: %s%s}}, {name: own, builtin: {}}]",
		 folder, more);
	struct object_stores *s = object_stores_parse(text, strlen(text), own, &e);
	cr_assert_not_null(s, "%s", e.message);
	return s;
}

static const struct link_report hello = {.name = "a b.md", .media_type = "text/markdown", .size_bytes = 5, .sha256 = HELLO_SHA256};

static int grant(struct object_stores *s, const char *store, const struct link_report *r, struct buf *url, struct err *e)
{
	int64_t expires = 0;
	buf_init(url, 16384);
	int rc = object_store_grant(s, store, "shop/s-1/pod/", r, NOW, url, &expires, e);
	if (rc == 0)
		cr_expect_eq(expires, NOW + UPLOAD_URL_EXPIRES_SECONDS * 1000);
	return rc;
}

Test(object_store, both_styles_of_urls)
{
	static const struct {
		const char *more, *signed_start, *public_url;
	} rows[] = {
		{", pathStyle: true, prefix: p", "https://s3.example/box/p/shop/s-1/pod/a%20b.md?X-Amz-Algorithm=AWS4-HMAC-SHA256&",
		 "https://s3.example/box/p/shop/s-1/pod/a%20b.md"},
		{"", "https://box.s3.example/shop/s-1/pod/a%20b.md?X-Amz-Algorithm=", "https://box.s3.example/shop/s-1/pod/a%20b.md"},
		{", publicEndpoint: 'http://see.example:81', pathStyle: true", "https://s3.example/box/shop/s-1/pod/a%20b.md?",
		 "http://see.example:81/box/shop/s-1/pod/a%20b.md"},
	};
	put_key("accessKeyId", "AKIA\n");
	put_key("secretAccessKey", "top+secret/\n");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct object_stores *s = parse(rows[i].more, NULL);
		struct err e = ERR_INIT;
		AUTO_BUF struct buf url, public_url;
		cr_assert_eq(grant(s, "default", &hello, &url, &e), 0, "%s", e.message);
		cr_expect(strncmp(buf_str(&url), rows[i].signed_start, strlen(rows[i].signed_start)) == 0, "%s", buf_str(&url));
		cr_expect_not_null(strstr(buf_str(&url), "&X-Amz-Expires=900&"), "%s", buf_str(&url));
		cr_expect_null(strstr(buf_str(&url), "secret"), "%s", buf_str(&url));
		buf_init(&public_url, 1000);
		cr_assert_eq(object_store_public_url(s, "default", "shop/s-1/pod/", hello.name, &public_url, &e), 0, "%s", e.message);
		cr_expect_str_eq(buf_str(&public_url), rows[i].public_url);
		object_stores_free(s);
	}
}

Test(object_store, a_url_is_bound_to_size_hash_type_and_keys)
{
	put_key("accessKeyId", "AKIA");
	put_key("secretAccessKey", "top");
	struct object_stores *s = parse("", NULL);
	struct link_report variants[4] = {hello, hello, hello, hello};
	variants[1].size_bytes++;
	variants[2].sha256[0] = '3';
	strcpy(variants[3].media_type, "text/html");
	char signatures[5][65];
	for (int i = 0; i < 5; i++) {
		struct err e = ERR_INIT;
		AUTO_BUF struct buf url;
		if (i == 4)
			put_key("secretAccessKey", "other");
		cr_assert_eq(grant(s, "default", &variants[i % 4], &url, &e), 0, "%s", e.message);
		snprintf(signatures[i], 65, "%s", strstr(buf_str(&url), "X-Amz-Signature=") + strlen("X-Amz-Signature="));
		for (int j = 0; j < i; j++)
			cr_expect_str_neq(signatures[i], signatures[j], "%d and %d", i, j);
	}
	object_stores_free(s);
}

Test(object_store, key_files_that_are_absent_empty_or_too_long_are_told)
{
	static char long_key[6000];
	memset(long_key, 'k', sizeof long_key - 1);
	struct object_stores *s = parse("", NULL);
	const struct {
		const char *name, *value, *message;
		enum err_kind kind;
	} rows[] = {
		{"secretAccessKey", "x", "accessKeyId", ERR_RETRY},
		{"accessKeyId", "", "accessKeyId", ERR_RETRY},
		{"accessKeyId", long_key, "accessKeyId is longer than", ERR_RETRY},
		{"accessKeyId", "AKIA", NULL, ERR_NONE},
		{"secretAccessKey", long_key, "secretAccessKey is longer than", ERR_RETRY},
		{"secretAccessKey", "x", NULL, ERR_NONE},
		{"sessionToken", long_key, "sessionToken is longer than", ERR_RETRY},
		{"sessionToken", "t0ken", NULL, ERR_NONE},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		put_key(rows[i].name, rows[i].value);
		AUTO_BUF struct buf url;
		struct err e = ERR_INIT;
		cr_expect_eq(grant(s, "default", &hello, &url, &e), rows[i].message ? -1 : 0, "row %zu: %s", i, e.message);
		cr_expect_eq(e.kind, rows[i].kind, "row %zu: %s", i, e.message);
		cr_expect(!rows[i].message || strstr(e.message, rows[i].message), "row %zu: %s", i, e.message);
		cr_expect_null(strstr(e.message, "kkkk"), "row %zu", i);
	}
	object_stores_free(s);
}

Test(object_store, unknown_stores_and_the_controllers_own)
{
	struct report_store_options o = {.folder = folder, .quota_bytes = 1000, .upload_base = "https://in:1", .public_base = "https://out"};
	struct err e = ERR_INIT;
	struct report_store *own = report_store_new(&o, &e);
	cr_assert_not_null(own, "%s", e.message);
	struct object_stores *with = parse("", own), *without = parse("", NULL), *builtin = object_stores_builtin(own);
	AUTO_BUF struct buf url, url2, public_url;
	cr_expect_eq(object_stores_check(with, "own", &e), 0);
	cr_expect_eq(object_stores_check(builtin, "default", &e), 0);
	cr_expect_eq(object_stores_check(with, "other", &e), -1);
	cr_expect_str_eq(e.message, "spec.output.store: this installation has no store \"other\"; known are default, own");
	cr_assert_eq(grant(builtin, "default", &(struct link_report){.name = "a.md", .size_bytes = 5, .sha256 = HELLO_SHA256}, &url, &e), 0, "%s", e.message);
	cr_expect(strncmp(buf_str(&url), "https://in:1/store/shop/s-1/pod/a.md?size=5&sha256=" HELLO_SHA256, 100) == 0, "%s", buf_str(&url));
	buf_init(&public_url, 500);
	cr_expect_eq(object_store_public_url(builtin, "default", "shop/s-1/pod/", "a.md", &public_url, &e), 0);
	cr_expect_str_eq(buf_str(&public_url), "https://out/reports/shop/s-1/pod/a.md");
	static const char *const missing[] = {"other", "own"};
	for (size_t i = 0; i < 2; i++) {
		struct err refused = ERR_INIT;
		cr_expect_eq(grant(without, missing[i], &hello, &url2, &refused), -1);
		cr_expect_eq(refused.kind, ERR_NOT_FOUND);
		cr_expect_str_eq(refused.reason, REASON_StoreNotFound);
	}
	object_stores_free(with);
	object_stores_free(without);
	object_stores_free(builtin);
	object_stores_free(NULL);
	report_store_free(own);
}
