#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/web/web_server.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG_BYTES (24 << 20)
#define WAIT_MS 30000

static atomic_int opened, closed, at_work, counted[WEB_EVENT_OVERLOADED + 1], chunks_read;
static atomic_bool hold;
static struct web_waker *_Atomic waker;

static void count(void *ctx, enum web_event event, unsigned status)
{
	(void)ctx, (void)status;
	atomic_fetch_add(&counted[event], 1);
}

/* Handlers -------------------------------------------------------------------------------------------------------- */

static void echo(void *ctx, const struct web_request *q, struct web_response *r)
{
	size_t len;
	const char *body = web_request_body(q, &len);
	char text[512];
	(void)ctx;
	snprintf(text, sizeof text, "%s|%s|%s|%.*s", web_request_path(q), web_request_param(q, "id") ? web_request_param(q, "id") : "-",
		 web_request_query(q, "a") ? web_request_query(q, "a") : "-", (int)len, body);
	web_respond(r, 200, "text/plain", text, strlen(text));
	web_respond(r, 500, "text/plain", "second", 6); /* the first one stays */
}

static void nothing(void *ctx, const struct web_request *q, struct web_response *r)
{
	(void)ctx, (void)q, (void)r;
}

static void block(void *ctx, const struct web_request *q, struct web_response *r)
{
	(void)ctx, (void)q;
	atomic_fetch_add(&at_work, 1);
	while (atomic_load(&hold))
		usleep(1000);
	web_respond(r, 200, "text/plain", "done", 4);
}

struct source {
	int64_t left, fail_at;
};

static ssize_t source_read(void *ctx, void *out, size_t size, struct err *e)
{
	struct source *s = ctx;
	atomic_fetch_add(&chunks_read, 1);
	if (s->left <= s->fail_at)
		return err_set(e, ERR_INTERNAL, 0, "as it was asked for");
	size_t n = (int64_t)size < s->left ? size : (size_t)s->left;
	memset(out, 'x', n);
	s->left -= (int64_t)n;
	return (ssize_t)n;
}

static void source_close(void *ctx)
{
	atomic_fetch_add(&closed, 1);
	free(ctx);
}

/* ctx: how it goes wrong. "?size=" says a size beforehand. */
static void stream(void *ctx, const struct web_request *q, struct web_response *r)
{
	struct source *s = mem_alloc(sizeof *s);
	const char *size = web_request_query(q, "size");
	s->left = BIG_BYTES;
	s->fail_at = ctx ? BIG_BYTES / 2 : -1;
	atomic_fetch_add(&opened, 1);
	web_respond_stream(r, 200, "application/octet-stream", size ? atoll(size) : -1, (struct web_stream){source_read, source_close, s});
}

struct ticker {
	int next, last;
};

static bool tick(void *ctx, struct buf *out)
{
	struct ticker *t = ctx;
	char text[32];
	snprintf(text, sizeof text, "line %d\nmore", t->next++);
	web_events_append(out, "tick", text);
	return t->next > t->last;
}

static void events(void *ctx, const struct web_request *q, struct web_response *r)
{
	struct ticker *t = mem_alloc(sizeof *t);
	const char *last = web_request_query(q, "last");
	(void)ctx;
	t->last = last ? atoi(last) : 2;
	atomic_fetch_add(&opened, 1);
	struct web_waker *w = web_respond_events(r, (struct web_events){tick, source_close, t});
	web_waker_unref(atomic_exchange(&waker, w));
}

static struct web_server *start(struct web_server_config *c)
{
	struct err e = ERR_INIT;
	c->bind_address = "127.0.0.1";
	c->count = count;
	struct web_server *s = web_server_new(c);
	web_server_route(s, &(struct web_route){WEB_GET | WEB_POST, "/echo/{id}", echo, NULL, false});
	web_server_route(s, &(struct web_route){WEB_POST, "/any", echo, NULL, true});
	web_server_route(s, &(struct web_route){WEB_GET, "/nothing", nothing, NULL, false});
	web_server_route(s, &(struct web_route){WEB_GET, "/block", block, NULL, false});
	web_server_route(s, &(struct web_route){WEB_GET, "/stream", stream, NULL, false});
	web_server_route(s, &(struct web_route){WEB_GET, "/broken", stream, s, false});
	web_server_route(s, &(struct web_route){WEB_GET, "/events", events, NULL, false});
	cr_assert_eq(web_server_start(s, &e), 0, "%s", e.message);
	return s;
}

static void stop(struct web_server *s)
{
	web_server_free(s);
	web_waker_unref(atomic_exchange(&waker, NULL));
	cr_expect_eq(atomic_load(&opened), atomic_load(&closed), "each source is closed once: %d of %d", closed, opened);
}

/* Clients --------------------------------------------------------------------------------------------------------- */

static int connect_to(const struct web_server *s)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)web_server_port(s)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static int ask(const struct web_server *s, const char *words)
{
	int fd = connect_to(s);
	say(fd, words);
	return fd;
}

/* Until the text is there, or the connection's end (text NULL). false: neither within time. */
static bool read_until(int fd, struct buf *got, const char *text)
{
	char piece[65536];
	struct pollfd p = {.fd = fd, .events = POLLIN};
	while (!text || !strstr(buf_str(got), text)) {
		if (poll(&p, 1, WAIT_MS) <= 0)
			return false;
		ssize_t n = recv(fd, piece, sizeof piece, 0);
		if (n <= 0)
			return !text;
		buf_append(got, piece, (size_t)n);
	}
	return true;
}

static void expect_answer(const struct web_server *s, const char *words, const char *start, const char *end)
{
	struct buf got;
	buf_init(&got, 1 << 20);
	int fd = ask(s, words);
	bool found = read_until(fd, &got, end);
	cr_expect(found && strncmp(buf_str(&got), start, strlen(start)) == 0, "%s -> %s", words, buf_str(&got));
	close(fd);
	buf_fini(&got);
}

#define HOST "Host: x\r\n"
#define JSON "Content-Type: application/json\r\n"

Test(web_server, answers)
{
	struct web_server *s = start(&(struct web_server_config){.requests_per_second = -1, .max_body_bytes = 10});
	static const struct {
		const char *words, *start, *end;
	} rows[] = {
		{"GET /echo/a%2Db?b=1&a=%26c HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "/echo/a-b|a-b|&c|"},
		{"POST /echo/x HTTP/1.1\r\n" HOST JSON "Content-Length: 10\r\n\r\n0123456789", "HTTP/1.1 200 ", "|0123456789"},
		{"POST /echo/x HTTP/1.1\r\n" HOST JSON "Content-Length: 11\r\n\r\n0123456789a", "HTTP/1.1 413 ", "\"status\":413"},
		{"POST /echo/x HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\n1", "HTTP/1.1 415 ", "\"status\":415"},
		{"POST /any HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\n1", "HTTP/1.1 200 ", "/any|-|-|1"},
		{"POST /any HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "HTTP/1.1 200 ", "/any|-|-|"},
		{"POST /any HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "/any|-|-|"},
		{"PUT /any HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "HTTP/1.1 405 ", "allow: POST\r\n"},
		{"GET /echo/ HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 404 ", "\"status\":404"},
		{"GET /nothing HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 500 ", "\"status\":500"},
		{"GET /echo/x HTTP/1.0\r\n\r\n", "HTTP/1.0 200 ", "/echo/x|x|-|"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_answer(s, rows[i].words, rows[i].start, rows[i].end);
	stop(s);
}

static int64_t body_bytes(const struct web_server *s, const char *words, int64_t *all)
{
	char piece[65536];
	int fd = ask(s, words);
	ssize_t n;
	*all = 0;
	int64_t x = 0;
	while ((n = recv(fd, piece, sizeof piece, 0)) > 0) {
		*all += n;
		for (ssize_t i = 0; i < n; i++)
			x += piece[i] == 'x';
	}
	close(fd);
	return n < 0 ? -1 : x;
}

Test(web_server, streams_as_much_as_there_is)
{
	struct web_server *s = start(&(struct web_server_config){.requests_per_second = -1});
	int64_t all;
	char words[128];
	snprintf(words, sizeof words, "GET /stream?size=%d HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", BIG_BYTES);
	cr_expect_geq(body_bytes(s, words, &all), BIG_BYTES);
	cr_expect_geq(body_bytes(s, "GET /stream HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", &all), BIG_BYTES);
	cr_expect_geq(body_bytes(s, "GET /stream HTTP/1.0\r\n\r\n", &all), BIG_BYTES);
	/* What fails, and what is shorter or longer than it said, does not look whole. */
	struct buf got;
	buf_init(&got, BIG_BYTES * 2);
	int fd = ask(s, "GET /broken HTTP/1.1\r\n" HOST "\r\n");
	cr_expect(read_until(fd, &got, NULL));
	close(fd);
	cr_expect_null(strstr(buf_str(&got), "\r\n0\r\n\r\n"));
	cr_expect_gt(got.len, BIG_BYTES / 4);
	buf_fini(&got);
	cr_expect_lt(body_bytes(s, "GET /stream?size=1000 HTTP/1.1\r\n" HOST "\r\n", &all), 1000);
	snprintf(words, sizeof words, "GET /stream?size=%d HTTP/1.1\r\n" HOST "\r\n", BIG_BYTES + 1);
	cr_expect_leq(body_bytes(s, words, &all), BIG_BYTES + 1000); /* and the connection has ended */
	expect_answer(s, "HEAD /stream HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "\r\n\r\n");
	stop(s);
}

Test(web_server, a_reader_that_takes_nothing_costs_little_and_is_given_up)
{
	struct web_server *s = start(&(struct web_server_config){.requests_per_second = -1, .stall_timeout_s = 1});
	int fd = ask(s, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
	int64_t end = clock_mono_ms() + WAIT_MS;
	while (atomic_load(&closed) == 0 && clock_mono_ms() < end)
		usleep(10000);
	cr_expect_eq(atomic_load(&closed), 1);
	cr_expect_eq(atomic_load(&counted[WEB_EVENT_TIMED_OUT]), 1);
	cr_expect_lt(atomic_load(&chunks_read), BIG_BYTES / 65536, "more was read than the sockets hold");
	close(fd);
	stop(s);
}

static void *wake_often(void *arg)
{
	const atomic_bool *go = arg;
	while (atomic_load(go)) {
		struct web_waker *w = atomic_exchange(&waker, NULL);
		if (w) {
			for (int i = 0; i < 1000; i++)
				web_waker_wake(w);
			usleep(1000);
			web_waker_wake(w);
			struct web_waker *none = NULL;
			if (!atomic_compare_exchange_strong(&waker, &none, w))
				web_waker_unref(w);
		}
		usleep(100);
	}
	return NULL;
}

Test(web_server, events_come_when_somebody_wakes)
{
	struct web_server *s = start(&(struct web_server_config){.requests_per_second = -1, .keep_alive_s = 1, .max_event_streams = 2, .workers = 1});
	atomic_bool go = true;
	pthread_t thread;
	struct buf got;
	buf_init(&got, 1 << 20);
	/* Nobody wakes: the first one, then comments; and the only worker is free. */
	int quiet = ask(s, "GET /events HTTP/1.1\r\n" HOST "\r\n");
	cr_expect(read_until(quiet, &got, ": keep-alive\n\n"), "%s", buf_str(&got));
	cr_expect_not_null(strstr(buf_str(&got), "event: tick\ndata: line 0\ndata: more\n\n"), "%s", buf_str(&got));
	int second = ask(s, "GET /events HTTP/1.1\r\n" HOST "\r\n");
	buf_reset(&got);
	cr_expect(read_until(second, &got, "line 0"));
	expect_answer(s, "GET /events HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 503 ", "\"status\":503");
	close(second);
	pthread_create(&thread, NULL, wake_often, &go);
	buf_reset(&got);
	int64_t end = clock_mono_ms() + WAIT_MS;
	while (!strstr(buf_str(&got), "line 40") && clock_mono_ms() < end) { /* a place gets free when the server has seen the end */
		buf_reset(&got);
		int fd = ask(s, "GET /events?last=40 HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
		cr_expect(read_until(fd, &got, NULL));
		close(fd);
	}
	cr_expect_not_null(strstr(buf_str(&got), "line 40\ndata: more\n\n\r\n0\r\n\r\n"), "%s", buf_str(&got));
	close(quiet);
	stop(s);
	atomic_store(&go, false);
	pthread_join(thread, NULL); /* it has woken what is no more */
	web_waker_unref(atomic_exchange(&waker, NULL));
	buf_fini(&got);
}

static int64_t cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

Test(web_server, what_lies_unread_beside_an_answer_costs_nothing)
{
	struct web_server *s = start(&(struct web_server_config){.requests_per_second = -1});
	static const char *const words[] = {"GET /events HTTP/1.1\r\n" HOST "\r\n", "GET /block HTTP/1.1\r\n" HOST "\r\n"};
	struct buf got;
	buf_init(&got, 65536);
	atomic_store(&hold, true);
	for (int i = 0; i < 4; i++) {
		int fd = ask(s, words[i / 2]);
		if (i / 2 == 0)
			cr_expect(read_until(fd, &got, "line 0"));
		if (i % 2)
			shutdown(fd, SHUT_WR);
		else
			cr_assert_gt(send(fd, words[0], strlen(words[0]), 0), 0);
		usleep(50000);
		int64_t before_ms = cpu_ms();
		usleep(200000);
		cr_expect_lt(cpu_ms() - before_ms, 100, "%d: %lld ms", i, (long long)(cpu_ms() - before_ms));
		atomic_store(&hold, i < 2);
		if (i == 2) {
			buf_reset(&got);
			cr_expect(read_until(fd, &got, "line 0"), "the next request is answered, too: %s", buf_str(&got));
			atomic_store(&hold, true);
		}
		close(fd);
		buf_reset(&got);
	}
	stop(s);
	web_waker_unref(atomic_exchange(&waker, NULL));
	buf_fini(&got);
}

Test(web_server, connections_may_end_at_any_time)
{
	struct web_server *s = start(&(struct web_server_config){.requests_per_second = -1, .workers = 2});
	static const char *const words[] = {"GET /echo/a HTTP/1.1\r\n" HOST "\r\n", "GET /stream HTTP/1.1\r\n" HOST "\r\n",
					    "GET /events HTTP/1.1\r\n" HOST "\r\n",
					    "POST /any HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n12", "GET /ech"};
	for (int i = 0; i < 200; i++) {
		int fd = ask(s, words[i % 5]);
		if (i % 3 == 0)
			usleep(200);
		if (i % 2)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
		close(fd);
	}
	expect_answer(s, words[0], "HTTP/1.1 200 ", "/echo/a|a|-|");
	stop(s);
}

Test(web_server, slow_ones_and_too_many_are_refused)
{
	struct web_server *s = start(&(struct web_server_config){.requests_per_second = -1, .headers_timeout_s = 1, .body_timeout_s = 1, .idle_timeout_s = 1,
								 .max_connections_per_client = 3});
	struct buf got;
	buf_init(&got, 65536);
	int half = ask(s, "GET /echo/a HT"), body = ask(s, "POST /any HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n12");
	int idle = ask(s, "GET /x HTTP/1.1\r\n" HOST "\r\n");
	cr_expect(read_until(idle, &got, "\"status\":404"));
	int more = connect_to(s);
	cr_expect(read_until(more, &got, NULL), "a fourth connection stays");
	cr_expect(read_until(half, &got, NULL) && read_until(body, &got, NULL) && read_until(idle, &got, NULL));
	cr_expect_geq(atomic_load(&counted[WEB_EVENT_REFUSED_CONNECTION]), 1);
	close(half);
	close(body);
	close(idle);
	close(more);
	stop(s);
	buf_fini(&got);
}

Test(web_server, rate_and_queue_have_bounds)
{
	struct web_server *s = start(&(struct web_server_config){.requests_per_second = 0.01, .request_burst = 3});
	for (int i = 0; i < 3; i++)
		expect_answer(s, "GET /echo/a HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "|a|");
	expect_answer(s, "GET /echo/a HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 429 ", "retry-after: ");
	cr_expect_eq(atomic_load(&counted[WEB_EVENT_RATE_LIMITED]), 1);
	stop(s);
	atomic_store(&hold, true);
	s = start(&(struct web_server_config){.requests_per_second = -1, .workers = 1, .max_queued = 1});
	int first = ask(s, "GET /block HTTP/1.1\r\n" HOST "\r\n");
	while (!atomic_load(&at_work))
		usleep(1000);
	int fds[3];
	for (int i = 0; i < 3; i++)
		fds[i] = ask(s, "GET /block HTTP/1.1\r\n" HOST "\r\n");
	while (atomic_load(&counted[WEB_EVENT_OVERLOADED]) < 2)
		usleep(1000);
	/* The stop waits for the one that works; the one that waits is told. */
	pthread_t stopper;
	pthread_create(&stopper, NULL, (void *(*)(void *))(void (*)(void))web_server_free, s);
	usleep(20000);
	atomic_store(&hold, false);
	pthread_join(stopper, NULL);
	close(first);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

Test(web_server, says_why_it_cannot_start)
{
	struct err e = ERR_INIT;
	struct web_server *s = start(&(struct web_server_config){.requests_per_second = -1});
	struct web_server *other = web_server_new(&(struct web_server_config){.bind_address = "127.0.0.1", .port = web_server_port(s)});
	cr_expect_eq(web_server_start(other, &e), -1);
	cr_expect_eq(e.kind, ERR_RETRY, "%s", e.message);
	web_server_free(other);
	e = (struct err)ERR_INIT;
	other = web_server_new(&(struct web_server_config){.bind_address = "127.0.0.1", .cert_pem = "x", .key_pem = "y"});
	cr_expect_eq(web_server_start(other, &e), -1);
	cr_expect_eq(e.kind, ERR_INVALID, "%s", e.message);
	web_server_free(other);
	e = (struct err)ERR_INIT;
	cr_expect_eq(web_server_set_certificate(s, "x", "y", &e), -1);
	cr_expect_eq(e.kind, ERR_INVALID);
	stop(s);
	web_server_free(NULL);
}
