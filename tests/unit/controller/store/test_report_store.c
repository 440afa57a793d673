#include "controller/store/report_store.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HELLO_SHA256 "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define NOW 1000000

static char folder[] = "/tmp/report-store-XXXXXX";

static struct report_store *open_store(int64_t quota, int64_t expiry)
{
	static bool made;
	if (!made)
		cr_assert_not_null(mkdtemp(folder));
	made = true;
	struct report_store_options o = {.folder = folder, .quota_bytes = quota, .expiry_seconds = expiry, .upload_base = "https://c:1"};
	struct err e = ERR_INIT;
	struct report_store *s = report_store_new(&o, &e);
	cr_assert_not_null(s, "%s", e.message);
	return s;
}

static void remove_folder(void)
{
	char command[80];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	cr_expect_eq(system(command), 0);
}

/* Signs, uploads and commits `content` under the claims of (size, sha). 0, or the step that failed. */
static int put(struct report_store *s, const char *key, const char *content, int64_t size, const char *sha, struct err *e)
{
	AUTO_BUF struct buf url;
	buf_init(&url, 4096);
	if (report_store_sign(s, key, size, sha, NOW + 1000, &url, e) < 0)
		return 1;
	struct report_upload *u = report_upload_begin(s, key, strchr(buf_str(&url), '?') + 1, NOW, e);
	if (!u)
		return 2;
	if (report_upload_write(u, content, strlen(content), e) < 0) {
		report_upload_abort(u);
		return 3;
	}
	return report_upload_commit(u, e) < 0 ? 4 : 0;
}

Test(report_store, keys_cannot_leave_the_folder)
{
	static const struct {
		const char *key;
		bool valid;
	} rows[] = {
		{"shop/s-1/pod/summary.md", true}, {"a", true}, {"", false}, {"/a", false}, {"a/", false}, {"a//b", false}, {"../a", false},
		{"a/../b", false}, {"a/.hidden", false}, {"a b", false}, {"a/b\n", false}, {"1/2/3/4/5/6/7/8", true}, {"1/2/3/4/5/6/7/8/9", false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_expect_eq(report_store_key_valid(rows[i].key), rows[i].valid, "'%s'", rows[i].key);
}

Test(report_store, takes_exactly_what_was_signed)
{
	struct report_store *s = open_store(1000, 0);
	struct err e = ERR_INIT;
	cr_expect_eq(put(s, "ns/s/pod/a", "hello", 5, HELLO_SHA256, &e), 0, "%s", e.message);
	cr_expect_eq(put(s, "ns/s/pod/b", "hellO", 5, HELLO_SHA256, &e), 4);
	cr_expect_eq(put(s, "ns/s/pod/b", "hell", 5, HELLO_SHA256, &e), 4);
	cr_expect_eq(put(s, "ns/s/pod/b", "hello!", 5, HELLO_SHA256, &e), 3);
	cr_expect_eq(put(s, "ns/../b", "hello", 5, HELLO_SHA256, &e), 1);
	cr_expect_eq(report_store_used_bytes(s), 5, "%lld", (long long)report_store_used_bytes(s));
	int64_t size = 0;
	int fd = report_store_open(s, "ns/s/pod/a", &size, &e);
	char got[8] = "";
	cr_assert_geq(fd, 0);
	cr_expect_eq(read(fd, got, sizeof got), 5);
	cr_expect_str_eq(got, "hello");
	cr_expect_eq(size, 5);
	close(fd);
	cr_expect_eq(report_store_open(s, "ns/s/pod/b", &size, &e), -1);
	cr_expect_eq(e.kind, ERR_NOT_FOUND);
	report_store_free(s);
	s = open_store(1000, 0);
	cr_expect_eq(report_store_used_bytes(s), 5, "counted again at the start");
	report_store_free(s);
	remove_folder();
}

Test(report_store, refuses_urls_that_it_did_not_sign)
{
	struct report_store *s = open_store(1000, 0);
	struct err e = ERR_INIT;
	AUTO_BUF struct buf url;
	buf_init(&url, 4096);
	cr_assert_eq(report_store_sign(s, "ns/s/p/a", 5, HELLO_SHA256, NOW, &url, &e), 0);
	char *query = strchr(buf_str(&url), '?') + 1;
	cr_expect_null(report_upload_begin(s, "ns/s/p/other", query, NOW, &e));
	cr_expect_eq(e.kind, ERR_DENIED);
	cr_expect_null(report_upload_begin(s, "ns/s/p/a", query, NOW + 1, &e));
	cr_expect_str_eq(e.message, "the upload URL has expired");
	cr_expect_null(report_upload_begin(s, "ns/s/p/a", "", NOW, &e));
	query[5] = '6'; /* size=6 */
	cr_expect_null(report_upload_begin(s, "ns/s/p/a", query, NOW, &e));
	cr_expect_str_eq(e.message, "the upload URL's signature is wrong");
	report_store_free(s);
	remove_folder();
}

Test(report_store, the_quota_makes_room_by_age_and_then_refuses)
{
	struct report_store *s = open_store(10, 0);
	struct err e = ERR_INIT;
	cr_expect_eq(put(s, "ns/old/p/a", "hello", 5, HELLO_SHA256, &e), 0);
	cr_expect_eq(put(s, "ns/old/p/b", "hello", 5, HELLO_SHA256, &e), 0);
	cr_expect_eq(put(s, "ns/new/p/a", "hello", 5, HELLO_SHA256, &e), 0, "%s", e.message);
	int64_t size;
	cr_expect_eq(report_store_open(s, "ns/old/p/a", &size, &e), -1);
	cr_expect_eq(report_store_used_bytes(s), 5);
	cr_expect_eq(put(s, "ns/big/p/a", "hello", 11, HELLO_SHA256, &e), 1);
	cr_expect_eq(e.kind, ERR_INVALID, "it will never fit");
	report_store_free(s);
	remove_folder();
}

static bool is_there(struct report_store *s, const char *key)
{
	struct err e = ERR_INIT;
	int64_t size;
	int fd = report_store_open(s, key, &size, &e);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* As if the session had ended long ago. */
static void put_at(struct report_store *s, const char *session, int64_t seconds)
{
	char key[100], path[200];
	struct err e = ERR_INIT;
	struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
	snprintf(key, sizeof key, "%s/p/a", session);
	cr_assert_eq(put(s, key, "hello", 5, HELLO_SHA256, &e), 0, "%s", e.message);
	snprintf(path, sizeof path, "%s/%s", folder, session);
	cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

Test(report_store, who_has_most_makes_room)
{
	struct report_store *s = open_store(40, 0);
	put_at(s, "quiet/evidence", 1000);
	for (int i = 0; i < 20; i++) {
		char session[40];
		snprintf(session, sizeof session, "busy/s-%d", i);
		put_at(s, session, 2000 + i);
	}
	cr_expect(is_there(s, "quiet/evidence/p/a"), "the oldest of all, of a namespace with one report");
	cr_expect(!is_there(s, "busy/s-12/p/a") && is_there(s, "busy/s-13/p/a") && is_there(s, "busy/s-19/p/a"));
	cr_expect_eq(report_store_used_bytes(s), 40);
	for (int i = 0; i < 3; i++) {
		char session[40];
		snprintf(session, sizeof session, "third/s-%d", i);
		put_at(s, session, 500 + i);
	}
	cr_expect(is_there(s, "third/s-0/p/a") && is_there(s, "quiet/evidence/p/a") && is_there(s, "busy/s-16/p/a") && !is_there(s, "busy/s-15/p/a"));
	put_at(s, "third/s-3", 600);
	cr_expect(is_there(s, "third/s-0/p/a") != is_there(s, "busy/s-16/p/a") && is_there(s, "quiet/evidence/p/a"), "one of the two that have most");
	report_store_free(s);
	remove_folder();
}

Test(report_store, a_session_does_not_push_out_its_own_reports)
{
	struct report_store *s = open_store(10, 0);
	struct err e = ERR_INIT;
	put_at(s, "a/other", 2000);
	put_at(s, "a/own", 1000);
	cr_expect_eq(put(s, "a/own/p/b", "hello", 5, HELLO_SHA256, &e), 0, "%s", e.message);
	cr_expect(is_there(s, "a/own/p/a") && is_there(s, "a/own/p/b") && !is_there(s, "a/other/p/a"));
	cr_expect_eq(put(s, "a/own/p/c", "hello", 5, HELLO_SHA256, &e), 2, "nothing else is there to go");
	cr_expect_eq(e.kind, ERR_RETRY);
	report_store_free(s);
	remove_folder();
}

Test(report_store, uploads_under_way_are_no_room_for_others)
{
	struct report_store *s = open_store(10, 0);
	struct err e = ERR_INIT;
	AUTO_BUF struct buf url;
	buf_init(&url, 4096);
	cr_expect_eq(put(s, "ns/kept/p/a", "hello", 5, HELLO_SHA256, &e), 0);
	cr_assert_eq(report_store_sign(s, "ns/new/p/a", 5, HELLO_SHA256, NOW, &url, &e), 0);
	struct report_upload *u = report_upload_begin(s, "ns/new/p/a", strchr(buf_str(&url), '?') + 1, NOW, &e);
	cr_assert_not_null(u);
	cr_expect_eq(report_upload_signed_size(s, "ns/new/p/a", strchr(buf_str(&url), '?') + 1, NOW, &e), 5);
	cr_expect_eq(report_upload_signed_size(s, "ns/new/p/b", strchr(buf_str(&url), '?') + 1, NOW, &e), -1);
	cr_expect_eq(e.kind, ERR_DENIED);
	cr_expect_eq(put(s, "ns/large/p/a", "hello", 6, HELLO_SHA256, &e), 2, "6 bytes do not fit beside 5 that are reserved");
	int64_t size;
	int fd = report_store_open(s, "ns/kept/p/a", &size, &e);
	cr_expect_geq(fd, 0, "nothing was removed for what cannot fit");
	close(fd);
	report_upload_abort(u);
	report_upload_abort(NULL);
	cr_expect_eq(report_store_used_bytes(s), 5);
	report_store_free(s);
	remove_folder();
}
