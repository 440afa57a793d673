#include "common/base/http.h"

#include "common/base/cleanup.h"
#include "common/base/http_url.h"
#include "common/base/mem.h"
#include "controller/link/link_pki.h"
#include "tests/unit/http_server.h"

#include <signal.h>

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

static void set_up(void)
{
	struct err e = ERR_INIT;
	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(http_global_init(&e), 0);
}

TestSuite(http, .init = set_up);

struct outcome {
	int rc;
	struct http_response answer;
	struct err e;
	struct http_server server; /* stopped */
};

static void outcome_fini(struct outcome *o)
{
	http_response_fini(&o->answer);
	http_server_fini(&o->server);
}

#define AUTO_OUTCOME __attribute__((cleanup(outcome_fini)))

/* One request to a server with this script; q->url is set here. */
static void perform(struct outcome *o, const struct http_script *script, struct http_request q)
{
	*o = (struct outcome){.e = ERR_INIT};
	http_server_start(&o->server, script, NULL, NULL);
	AUTO_FREE char *url = mem_printf("http://127.0.0.1:%d/p", o->server.port);
	struct http_client *client = http_client_new(NULL, &o->e);
	q.url = url;
	q.method = q.method ? q.method : "GET";
	q.cancel_fd = q.cancel_fd ? q.cancel_fd : -1;
	o->rc = http_perform(client, &q, &o->answer, &o->e);
	http_client_free(client);
	http_server_stop(&o->server);
}

Test(http, reads_answers)
{
	static const struct {
		const char *text, *body, *etag, *type;
		int status;
		int64_t retry_after_ms;
	} rows[] = {
		{OK_HEAD "Content-Length: 5\r\nContent-Type: text/plain\r\nETag: \"x\"\r\n\r\nhello", "hello", "\"x\"", "text/plain", 200, -1},
		{OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world", "", "", 200, -1},
		{OK_HEAD "Connection: close\r\n\r\nto the end", "to the end", "", "", 200, -1},
		{"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy", "busy", "", "", 503, 7000},
		{"HTTP/1.1 429 Slow\r\nretry-after:  2 \r\nContent-Length: 0\r\n\r\n", "", "", "", 429, 2000},
		{"HTTP/1.1 503 Busy\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n", "", "", "", 503, -1},
		{"HTTP/1.1 503 Busy\r\nRetry-After: -1\r\nContent-Length: 0\r\n\r\n", "", "", "", 503, -1},
		{"HTTP/1.1 503 Busy\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\n\r\n", "", "", "", 503, -1},
		{"HTTP/1.1 204 None\r\n\r\n", "", "", "", 204, -1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		for (int pieces = 1; pieces <= 7; pieces += 6) {
			AUTO_OUTCOME struct outcome o;
			perform(&o, &(struct http_script){.text = rows[i].text, .pieces = pieces}, (struct http_request){0});
			cr_assert_eq(o.rc, 0, "row %zu: %s", i, o.e.message);
			cr_expect_eq(o.answer.status, rows[i].status, "row %zu: %d", i, o.answer.status);
			cr_expect_str_eq(buf_str(&o.answer.body), rows[i].body, "row %zu", i);
			cr_expect_str_eq(o.answer.etag, rows[i].etag, "row %zu", i);
			cr_expect_str_eq(o.answer.content_type, rows[i].type, "row %zu", i);
			cr_expect_eq(o.answer.retry_after_ms, rows[i].retry_after_ms, "row %zu: %lld", i, (long long)o.answer.retry_after_ms);
		}
	}
}

Test(http, says_what_went_wrong)
{
	static char long_header[400000] = OK_HEAD "X: ";
	memset(long_header + strlen(long_header), 'x', sizeof long_header - strlen(long_header) - 1);
	const struct {
		struct http_script script;
		struct http_request request;
		enum err_kind kind;
	} rows[] = {
		{{.text = OK_HEAD "Content-Length: 10\r\n\r\nhalf"}, {0}, ERR_RETRY},
		{{.text = OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhel"}, {0}, ERR_RETRY},
		{{.text = OK_HEAD "Transfer-Encoding: chunked\r\n\r\nxyz\r\n"}, {0}, ERR_RETRY},
		{{.text = ""}, {0}, ERR_RETRY},
		{{.text = "SSH-2.0-OpenSSH_9.2\r\n"}, {0}, ERR_PROTOCOL},
		{{.text = long_header}, {0}, ERR_PROTOCOL},
		{{.text = NULL, .keep_open = true}, {.timeout_ms = 150}, ERR_TIMEOUT},
		{{.text = NULL, .keep_open = true}, {.stall_timeout_ms = 150}, ERR_TIMEOUT},
		{{.text = OK_HEAD "Content-Length: 10\r\n\r\nhalf", .keep_open = true}, {.stall_timeout_ms = 150}, ERR_TIMEOUT},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_OUTCOME struct outcome o;
		int64_t start = clock_mono_ms();
		perform(&o, &rows[i].script, rows[i].request);
		cr_expect_eq(o.rc, -1, "row %zu", i);
		cr_expect_eq(o.e.kind, rows[i].kind, "row %zu: %s: %s", i, err_kind_name(o.e.kind), o.e.message);
		cr_expect_gt(strlen(o.e.message), 0, "row %zu", i);
		cr_expect_lt(clock_mono_ms() - start, 15000, "row %zu", i);
	}
}

Test(http, a_slow_answer_that_goes_on_is_no_stall)
{
	AUTO_OUTCOME struct outcome o;
	struct http_script script = {.text = OK_HEAD "Content-Length: 8\r\n\r\nabcdefgh", .pieces = 10, .gap_ms = 60};
	perform(&o, &script, (struct http_request){.stall_timeout_ms = 5000});
	cr_expect_eq(o.rc, 0, "%s", o.e.message);
	cr_expect_str_eq(buf_str(&o.answer.body), "abcdefgh");
}

Test(http, answers_are_bounded)
{
	for (size_t max = 9; max <= 11; max++) {
		AUTO_OUTCOME struct outcome o;
		perform(&o, &(struct http_script){.text = OK_HEAD "Content-Length: 10\r\n\r\n0123456789"}, (struct http_request){.max_response_bytes = max});
		cr_expect_eq(o.rc, max >= 10 ? 0 : -1, "%zu bytes", max);
		if (max < 10) {
			cr_expect_eq(o.e.kind, ERR_PROTOCOL);
			cr_expect_str_eq(o.e.message, "answer is larger than 9 bytes");
		}
	}
}

Test(http, redirects_are_answers)
{
	AUTO_OUTCOME struct outcome o;
	perform(&o, &(struct http_script){.text = "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"},
		(struct http_request){.bearer_token = "secret"});
	cr_expect_eq(o.rc, 0, "%s", o.e.message);
	cr_expect_eq(o.answer.status, 302);
	cr_expect_eq(o.server.requests, 1);
	cr_expect_eq(o.server.connections, 1);
}

Test(http, sends_what_it_is_told)
{
	struct http_header headers[] = {{"Content-Type", "text/x"}, {"X-Empty-Not", "v"}, {NULL, NULL}};
	AUTO_FILE FILE *file = tmpfile();
	fputs("skip from a file", file);
	rewind(file);
	const struct {
		struct http_request request;
		const char *line, *body;
	} rows[] = {
		{{.method = "PATCH", .body = "{}", .body_len = 2}, "PATCH /p HTTP/1.1\r\n", "\r\n\r\n{}"},
		{{.method = "PUT", .body_file = file, .body_len = 16}, "PUT /p HTTP/1.1\r\n", "\r\n\r\nskip from a file"},
		{{.method = "PUT", .body = "", .body_len = 0}, "PUT /p HTTP/1.1\r\n", "Content-Length: 0\r\n"},
		{{.method = "DELETE"}, "DELETE /p HTTP/1.1\r\n", "\r\n\r\n"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_OUTCOME struct outcome o;
		struct http_request q = rows[i].request;
		q.headers = headers;
		q.bearer_token = "t0ken";
		perform(&o, &(struct http_script){.text = "HTTP/1.1 204 None\r\n\r\n"}, q);
		cr_assert_eq(o.rc, 0, "row %zu: %s", i, o.e.message);
		const char *sent = buf_str(&o.server.received);
		cr_expect(strncmp(sent, rows[i].line, strlen(rows[i].line)) == 0, "row %zu: %s", i, sent);
		cr_expect_not_null(strstr(sent, rows[i].body), "row %zu: %s", i, sent);
		cr_expect_not_null(strstr(sent, "\r\nAuthorization: Bearer t0ken\r\n"), "row %zu: %s", i, sent);
		cr_expect_not_null(strstr(sent, "\r\nContent-Type: text/x\r\n"), "row %zu: %s", i, sent);
		cr_expect_null(strstr(sent, "Expect:"), "row %zu: %s", i, sent);
	}
}

Test(http, headers_cannot_be_smuggled)
{
	struct http_header bad_value[] = {{"X-A", "v\r\nX-B: w"}, {NULL, NULL}}, bad_name[] = {{"X-A\n", "v"}, {NULL, NULL}};
	const struct http_request rows[] = {{.headers = bad_value}, {.headers = bad_name}, {.bearer_token = "a\nb"}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_OUTCOME struct outcome o;
		perform(&o, &(struct http_script){.text = "HTTP/1.1 204 None\r\n\r\n"}, rows[i]);
		cr_expect_eq(o.rc, -1, "row %zu", i);
		cr_expect_eq(o.e.kind, ERR_INVALID, "row %zu", i);
		cr_expect_eq(o.server.requests, 0, "row %zu", i);
	}
}

Test(http, paths_are_sent_as_they_are)
{
	struct http_server server;
	http_server_start(&server, &(struct http_script){.text = "HTTP/1.1 204 None\r\n\r\n"}, NULL, NULL);
	AUTO_FREE char *url = mem_printf("http://127.0.0.1:%d/a/../b/./%%2E%%2e/c//?x=/../", server.port);
	struct err e = ERR_INIT;
	struct http_response answer;
	struct http_client *client = http_client_new(NULL, &e);
	cr_expect_eq(http_perform(client, &(struct http_request){.method = "GET", .url = url, .cancel_fd = -1}, &answer, &e), 0, "%s", e.message);
	http_response_fini(&answer);
	http_client_free(client);
	http_server_stop(&server);
	const char *line = "GET /a/../b/./%2E%2e/c//?x=/../ HTTP/1.1\r\n";
	cr_expect(strncmp(buf_str(&server.received), line, strlen(line)) == 0, "%s", buf_str(&server.received));
	http_server_fini(&server);
}

Test(http, cancels_at_once)
{
	AUTO_FD int cancel = eventfd(1, EFD_CLOEXEC);
	AUTO_OUTCOME struct outcome o;
	perform(&o, &(struct http_script){.text = NULL, .keep_open = true}, (struct http_request){.cancel_fd = cancel});
	cr_expect_eq(o.rc, -1);
	cr_expect_eq(o.e.kind, ERR_CANCELED);
}

struct pieces {
	struct buf got;
	int calls, fail_at;
};

static int on_piece(void *ctx, const char *data, size_t len, struct err *e)
{
	struct pieces *p = ctx;
	buf_append(&p->got, data, len);
	p->calls++;
	return p->calls == p->fail_at ? err_set(e, ERR_GONE, 0, "enough") : 0;
}

Test(http, streams_good_answers_and_keeps_bad_ones)
{
	static const struct {
		const char *text, *streamed, *kept;
		int fail_at, rc;
	} rows[] = {
		{OK_HEAD "Content-Length: 6\r\n\r\nabcdef", "abcdef", "", 0, 0},
		{"HTTP/1.1 410 Gone\r\nContent-Length: 6\r\n\r\nabcdef", "", "abcdef", 0, 0},
		{OK_HEAD "Content-Length: 6\r\n\r\nabcdef", "abcdef", "", 1, -1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_OUTCOME struct outcome o;
		struct pieces p = {.fail_at = rows[i].fail_at};
		buf_init(&p.got, 100);
		perform(&o, &(struct http_script){.text = rows[i].text}, (struct http_request){.on_body = on_piece, .on_body_ctx = &p});
		cr_expect_eq(o.rc, rows[i].rc, "row %zu: %s", i, o.e.message);
		cr_expect_str_eq(buf_str(&p.got), rows[i].streamed, "row %zu", i);
		cr_expect_str_eq(buf_str(&o.answer.body), rows[i].kept, "row %zu", i);
		if (rows[i].rc < 0) {
			cr_expect_eq(o.e.kind, ERR_GONE);
			cr_expect_str_eq(o.e.message, "enough");
		}
		buf_fini(&p.got);
	}
}

Test(http, keeps_its_connection)
{
	struct http_server server;
	http_server_start(&server, &(struct http_script){.text = OK_HEAD "Content-Length: 2\r\n\r\nok", .keep_open = true}, NULL, NULL);
	AUTO_FREE char *url = mem_printf("http://127.0.0.1:%d/", server.port);
	struct err e = ERR_INIT;
	struct http_client *client = http_client_new(NULL, &e);
	for (int i = 0; i < 5; i++) {
		struct http_response answer;
		cr_expect_eq(http_perform(client, &(struct http_request){.method = "GET", .url = url, .cancel_fd = -1}, &answer, &e), 0, "%s", e.message);
		http_response_fini(&answer);
	}
	http_client_free(client);
	http_server_stop(&server);
	cr_expect_eq(server.requests, 5);
	cr_expect_eq(server.connections, 1, "%d connections", server.connections);
	http_server_fini(&server);
}

Test(http, unusable_urls_and_absent_servers)
{
	static const struct {
		const char *url;
		enum err_kind kind;
	} rows[] = {
		{"ftp://127.0.0.1/", ERR_INVALID}, {"file:///etc/passwd", ERR_INVALID}, {"http://", ERR_INVALID}, {"", ERR_INVALID},
		{"htp://127.0.0.1/", ERR_INVALID}, {"http://127.0.0.1:1/", ERR_RETRY}, {"http://no-such-host.invalid/", ERR_RETRY},
	};
	struct err ignored = ERR_INIT;
	struct http_client *client = http_client_new(NULL, &ignored);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		struct http_response answer;
		cr_expect_eq(http_perform(client, &(struct http_request){.method = "GET", .url = rows[i].url, .cancel_fd = -1}, &answer, &e), -1, "%s",
			     rows[i].url);
		cr_expect_eq(e.kind, rows[i].kind, "'%s': %s: %s", rows[i].url, err_kind_name(e.kind), e.message);
		http_response_fini(&answer);
	}
	http_client_free(client);
}

Test(http, certificates_are_checked)
{
	struct err e = ERR_INIT;
	struct link_pair ca, other_ca, server_pair;
	const char *names[] = {"drdotnet.example"};
	int64_t now = clock_wall_ms();
	cr_assert_eq(link_pki_make_ca(now, 2, &ca, &e), 0, "%s", e.message);
	cr_assert_eq(link_pki_make_ca(now, 2, &other_ca, &e), 0);
	cr_assert_eq(link_pki_issue(&ca, names, 1, now, 1, &server_pair, &e), 0, "%s", e.message);
	const struct {
		struct http_tls tls;
		bool good;
	} rows[] = {
		{{.ca_pem = ca.cert, .server_name = "drdotnet.example"}, true},
		{{.ca_pem = ca.cert}, false}, /* the certificate is not for 127.0.0.1 */
		{{.ca_pem = ca.cert, .server_name = "other.example"}, false},
		{{.ca_pem = other_ca.cert, .server_name = "drdotnet.example"}, false},
		{{.server_name = "drdotnet.example"}, false},
		{{.ca_file = "/no/such/file", .server_name = "drdotnet.example"}, false},
		{{.insecure_skip_verify = true}, true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct http_server server;
		http_server_start(&server, &(struct http_script){.text = OK_HEAD "Content-Length: 2\r\n\r\nok"}, server_pair.cert, server_pair.key);
		AUTO_FREE char *url = mem_printf("https://127.0.0.1:%d/", server.port);
		struct err failed = ERR_INIT;
		struct http_response answer;
		struct http_client *client = http_client_new(&rows[i].tls, &failed);
		int rc = http_perform(client, &(struct http_request){.method = "GET", .url = url, .cancel_fd = -1}, &answer, &failed);
		cr_expect_eq(rc, rows[i].good ? 0 : -1, "row %zu: %s", i, failed.message);
		cr_expect(rows[i].good || failed.kind == ERR_DENIED, "row %zu: %s: %s", i, err_kind_name(failed.kind), failed.message);
		http_response_fini(&answer);
		http_client_free(client);
		http_server_stop(&server);
		cr_expect_eq(server.requests, rows[i].good ? 1 : 0, "row %zu", i);
		http_server_fini(&server);
	}
	link_pair_fini(&ca);
	link_pair_fini(&other_ca);
	link_pair_fini(&server_pair);
}

Test(http, a_status_is_a_decision)
{
	static const struct {
		int status;
		enum err_kind kind;
	} rows[] = {{400, ERR_INVALID}, {401, ERR_DENIED}, {403, ERR_DENIED}, {404, ERR_NOT_FOUND}, {408, ERR_RETRY}, {409, ERR_CONFLICT},
		    {410, ERR_GONE}, {422, ERR_INVALID}, {429, ERR_RETRY}, {500, ERR_RETRY}, {503, ERR_RETRY}, {599, ERR_RETRY}, {302, ERR_PROTOCOL},
		    {418, ERR_PROTOCOL}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_expect_eq(http_status_kind(rows[i].status), rows[i].kind, "%d", rows[i].status);
}

Test(http_url, encodes_parts_and_respects_the_maximum)
{
	AUTO_BUF struct buf url;
	buf_init(&url, 200);
	http_url_begin(&url, "https://h:1/base///");
	http_url_segment(&url, "a b/c");
	http_url_segment(&url, "..");
	http_url_segment(&url, "");
	http_url_query(&url, "k=", "v&w#?");
	http_url_query(&url, "next", "\xC3\xBC~-._%");
	cr_expect_str_eq(buf_str(&url), "https://h:1/base/a%20b%2Fc/../?k%3D=v%26w%23%3F&next=%C3%BC~-._%25");
	for (size_t max = 9; max <= 11; max++) {
		AUTO_BUF struct buf small;
		buf_init(&small, max);
		http_url_begin(&small, "http://h");
		cr_expect_eq(http_url_segment(&small, "x"), max >= 10 ? 0 : -1, "%zu bytes", max);
		cr_expect_eq(small.full, max < 10);
	}
}
