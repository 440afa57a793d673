#include "agent/jobs/upload.h"

#include "common/base/cleanup.h"
#include "common/base/http.h"
#include "common/base/mem.h"
#include "tests/unit/http_server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

#define NONE "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static void set_up(void)
{
	struct err e = ERR_INIT;
	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(http_global_init(&e), 0);
}

TestSuite(upload, .init = set_up);

static struct link_report report(int64_t size)
{
	return (struct link_report){.name = "summary.md", .media_type = "text/markdown", .size_bytes = size, .sha256 = ZEROS};
}

static int64_t retry_after_ms;

/* Sends "hello" under the claims of a report of `size` bytes; *sent (when given) is what the server got. */
static int put(const char *answer, int64_t size, struct buf *sent, struct err *e)
{
	struct http_server server;
	struct http_script script = {.text = answer};
	http_server_start(&server, &script, NULL, NULL);
	AUTO_FREE char *url = mem_printf("http://127.0.0.1:%d/bucket/key?X-Amz-Signature=secret", server.port);
	AUTO_FILE FILE *file = tmpfile();
	fputs("hello", file);
	fflush(file); /* and is left at its end: uploads read from the start */
	struct link_report r = report(size);
	struct upload_options o = {.stall_timeout_ms = 10000, .cancel_fd = -1, .retry_after_ms = &retry_after_ms};
	int rc = upload_put(url, fileno(file), &r, &o, e);
	http_server_stop(&server);
	if (sent) {
		*sent = server.received;
		server.received = (struct buf){0};
	}
	http_server_fini(&server);
	return rc;
}

Test(upload, sends_the_file_with_the_signed_headers)
{
	AUTO_BUF struct buf sent;
	struct err e = ERR_INIT;
	cr_assert_eq(put(NONE, 5, &sent, &e), 0, "%s", e.message);
	static const char *const parts[] = {"PUT /bucket/key?X-Amz-Signature=secret HTTP/1.1\r\n", "\r\nContent-Type: text/markdown\r\n",
					    "\r\nContent-Length: 5\r\n", "\r\nx-amz-checksum-sha256: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n",
					    "\r\n\r\nhello"};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		cr_expect_not_null(strstr(buf_str(&sent), parts[i]), "%s is not in:\n%s", parts[i], buf_str(&sent));
}

Test(upload, tells_what_to_do_about_each_answer)
{
	static const struct {
		const char *answer, *message;
		enum err_kind kind;
		int code;
	} rows[] = {
		{"HTTP/1.1 403 F\r\nContent-Length: 54\r\n\r\n<Error><Code>AccessDenied</Code><Message>x</Message></", "403 AccessDenied to", ERR_DENIED, 403},
		{"HTTP/1.1 404 N\r\nContent-Length: 25\r\n\r\n<Code>NoSuchBucket</Code>", "404 NoSuchBucket to", ERR_NOT_FOUND, 404},
		{"HTTP/1.1 400 B\r\nContent-Length: 25\r\n\r\n<Code>ExpiredToken</Code>", "400 ExpiredToken to", ERR_DENIED, 400},
		{"HTTP/1.1 400 B\r\nContent-Length: 27\r\n\r\n<Code>RequestTimeout</Code>", "400 RequestTimeout to", ERR_RETRY, 400},
		{"HTTP/1.1 400 B\r\nContent-Length: 27\r\n\r\n<Code>EntityTooLarge</Code>", "400 EntityTooLarge to", ERR_INVALID, 400},
		{"HTTP/1.1 400 B\r\nContent-Length: 46\r\n\r\n<Code>AuthorizationQueryParametersError</Code>", "400 Authorization", ERR_DENIED, 400},
		{"HTTP/1.1 413 L\r\nContent-Length: 0\r\n\r\n", "413 to report summary.md: it takes no", ERR_INVALID, 413},
		{"HTTP/1.1 404 N\r\nContent-Length: 25\r\n\r\n<Code>NoSuchBucket</Code>", ": create the bucket", ERR_NOT_FOUND, 404},
		{"HTTP/1.1 503 S\r\nRetry-After: 7\r\nContent-Length: 21\r\n\r\n<Code>SlowDown</Code>", "503 SlowDown to", ERR_RETRY, 503},
		{"HTTP/1.1 500 S\r\nContent-Length: 14\r\n\r\n<Code></Code>!", "answered 500 to", ERR_RETRY, 500},
		{"HTTP/1.1 500 S\r\nContent-Length: 13\r\n\r\n<Code>\x1b[2J\n</", "answered 500 to", ERR_RETRY, 500},
		{"HTTP/1.1 500 S\r\nContent-Length: 6\r\n\r\n<Code>", "answered 500 to", ERR_RETRY, 500},
		{"HTTP/1.1 301 M\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", "answered 301 to", ERR_PROTOCOL, 301},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		cr_expect_eq(put(rows[i].answer, 5, NULL, &e), -1, "row %zu", i);
		cr_expect_eq(e.kind, rows[i].kind, "row %zu: %s", i, err_kind_name(e.kind));
		cr_expect_eq(e.code, rows[i].code, "row %zu: %d", i, e.code);
		cr_expect_not_null(strstr(e.message, rows[i].message), "row %zu: %s", i, e.message);
		cr_expect_not_null(strstr(e.message, "report summary.md"), "row %zu: %s", i, e.message);
		cr_expect_null(strstr(e.message, "secret"), "row %zu: %s", i, e.message);
	}
	cr_expect_eq(retry_after_ms, 7000);
}

Test(upload, a_file_that_is_not_what_was_announced_is_not_sent)
{
	for (int64_t size = 4; size <= 6; size += 2) {
		AUTO_BUF struct buf sent;
		struct err e = ERR_INIT;
		cr_expect_eq(put(NONE, size, &sent, &e), -1);
		cr_expect_eq(e.kind, ERR_INVALID);
		cr_expect_eq(sent.len, 0);
	}
	struct link_report r = report(0);
	struct upload_options o = {.cancel_fd = -1};
	AUTO_FD int folder = open("/", O_RDONLY | O_DIRECTORY);
	struct err e = ERR_INIT;
	cr_expect_eq(upload_put("http://127.0.0.1:1/", folder, &r, &o, &e), -1);
	cr_expect_eq(e.kind, ERR_INVALID);
}
