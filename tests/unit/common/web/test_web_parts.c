#include "common/rest/rest_backend.h"
#include "common/rest/rest_id.h"
#include "common/web/web_limits.h"
#include "common/web/web_route.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage a = {0};
	if (inet_pton(AF_INET, text, &((struct sockaddr_in *)&a)->sin_addr) == 1)
		a.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&a)->sin6_addr) == 1)
		a.ss_family = AF_INET6;
	return a;
}

static struct web_client *admit(struct web_limits *l, const char *text, int64_t now_ms)
{
	struct sockaddr_storage a = address(text);
	return web_limits_admit(l, (struct sockaddr *)&a, now_ms);
}

Test(web_limits, an_address_has_its_own_bounds)
{
	struct web_limits l;
	web_limits_init(&l, 5, 2, 10, 3);
	struct web_client *a = admit(&l, "10.0.0.1", 0);
	cr_assert_not_null(a);
	web_limits_connected(&l, a);
	cr_expect_eq(admit(&l, "::ffff:10.0.0.1", 0), a, "the same by IPv6");
	web_limits_connected(&l, a);
	cr_expect_null(admit(&l, "10.0.0.1", 0), "two at most");
	struct web_client *b = admit(&l, "2001:db8::1", 0);
	cr_assert_not_null(b);
	cr_expect_eq(admit(&l, "2001:db8::ffff:2", 0), b, "one /64 is one client");
	cr_expect_neq(admit(&l, "2001:db8:0:1::1", 0), b);
	for (int i = 0; i < 2; i++)
		web_limits_connected(&l, b);
	struct web_client *c = admit(&l, "10.0.0.2", 0);
	web_limits_connected(&l, c);
	cr_expect_null(admit(&l, "10.0.0.3", 0), "five in all");
	web_limits_disconnected(&l, a);
	cr_expect_eq(admit(&l, "10.0.0.1", 0), a);
	web_limits_fini(&l);
}

Test(web_limits, requests_come_at_a_rate)
{
	struct web_limits l;
	web_limits_init(&l, 5, 2, 10, 3);
	struct web_client *a = admit(&l, "10.0.0.1", 1000);
	for (int i = 0; i < 3; i++)
		cr_expect_eq(web_limits_request(&l, a, 1000), 0);
	int64_t wait = web_limits_request(&l, a, 1000);
	cr_expect(wait >= 100 && wait <= 102, "%d", (int)wait);
	cr_expect_eq(web_limits_request(&l, a, 1000 + wait), 0);
	cr_expect_gt(web_limits_request(&l, a, 1000 + wait), 0);
	cr_expect_gt(web_limits_request(&l, a, 0), 0, "a clock that goes back gives nothing");
	for (int i = 0; i < 3; i++)
		cr_expect_eq(web_limits_request(&l, a, 100000), 0, "never more than the burst");
	cr_expect_gt(web_limits_request(&l, a, 100000), 0);
	web_limits_charge(&l, a, 1000);
	wait = web_limits_request(&l, a, 100000);
	cr_expect(wait > 300 && wait <= 500, "a charge has a bound: %d", (int)wait);
	web_limits_fini(&l);
	web_limits_init(&l, 5, 2, -1, 3);
	a = admit(&l, "10.0.0.1", 0);
	web_limits_charge(&l, a, 100);
	for (int i = 0; i < 100; i++)
		cr_expect_eq(web_limits_request(&l, a, 0), 0);
	web_limits_fini(&l);
}

Test(web_limits, the_number_of_addresses_has_a_bound)
{
	struct web_limits l;
	char text[32];
	web_limits_init(&l, 100000, 10, 10, 1);
	for (int i = 0; i < WEB_LIMITS_MAX_CLIENTS; i++) {
		snprintf(text, sizeof text, "10.1.%d.%d", i / 256, i % 256);
		struct web_client *c = admit(&l, text, 0);
		cr_assert_not_null(c);
		web_limits_request(&l, c, 0);
	}
	cr_expect_null(admit(&l, "10.2.0.1", 0), "all of them are remembered for what they have used");
	cr_expect_not_null(admit(&l, "10.2.0.1", 1000), "and forgotten when it is made good");
	cr_expect_leq(HASH_COUNT(l.clients), 2);
	web_limits_fini(&l);
}

Test(web_route, finds_the_pattern)
{
	static const struct web_route routes[] = {
		{.methods = WEB_GET, .pattern = "/"},
		{.methods = WEB_GET, .pattern = "/a"},
		{.methods = WEB_POST | WEB_DELETE, .pattern = "/a/b"},
		{.methods = WEB_GET, .pattern = "/a/{x}"},
		{.methods = WEB_GET, .pattern = "/a/{x}/c/{y}"},
	};
	static const struct {
		const char *path;
		enum web_method method;
		int route;
		unsigned allowed;
		const char *x, *y;
	} rows[] = {
		{"/", WEB_GET, 0, 0, NULL, NULL}, {"/a", WEB_GET, 1, 0, NULL, NULL}, {"/a/b", WEB_POST, 2, 0, NULL, NULL},
		{"/a/b", WEB_GET, 3, 0, "b", NULL}, {"/a/b", WEB_PUT, -1, WEB_POST | WEB_DELETE | WEB_GET, NULL, NULL},
		{"/a/q/c/r", WEB_GET, 4, 0, "q", "r"}, {"/a/", WEB_GET, -1, 0, NULL, NULL}, {"/a/q/c/", WEB_GET, -1, 0, NULL, NULL},
		{"/a/q/d/r", WEB_GET, -1, 0, NULL, NULL}, {"/b", WEB_GET, -1, 0, NULL, NULL}, {"", WEB_GET, -1, 0, NULL, NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct web_request q = {0};
		unsigned allowed;
		const struct web_route *r = web_route_find(routes, 5, rows[i].path, rows[i].method, &q, &allowed);
		cr_expect_eq(r ? r - routes : -1, rows[i].route, "%s", rows[i].path);
		cr_expect(r || allowed == rows[i].allowed, "%s", rows[i].path);
		cr_expect(!rows[i].x || strcmp(web_request_param(&q, "x"), rows[i].x) == 0);
		cr_expect(!rows[i].y || strcmp(web_request_param(&q, "y"), rows[i].y) == 0);
		cr_expect_null(web_request_param(&q, "z"));
		web_request_fini(&q);
	}
}

Test(web_route, strange_paths_are_none)
{
	static const char *const good[] = {"/", "/a", "/a/", "/a.b/..c", "/\xc3\xa4", "/...", "/a b"};
	static const char *const bad[] = {"", "a", "//", "/a//b", "/.", "/..", "/a/./b", "/a/..", "/a\\b", "/\x01", "/\x7f", "/\xff", "/\xc3"};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect(web_route_path_is_plain(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_not(web_route_path_is_plain(bad[i]), "%s", bad[i]);
}

Test(rest_id, names_the_session)
{
	static const struct {
		const char *text, *namespace, *name;
	} rows[] = {
		{"shop.checkout-cpu", "shop", "checkout-cpu"}, {"a.b.c", "a", "b.c"}, {"shop", NULL, NULL}, {"shop.", NULL, NULL}, {".x", NULL, NULL},
		{"Shop.x", NULL, NULL}, {"shop.X", NULL, NULL}, {"shop.-x", NULL, NULL}, {"shop.x-", NULL, NULL}, {"shop.x..y", NULL, NULL},
		{"shop.x/y", NULL, NULL}, {"shop.x y", NULL, NULL}, {"", NULL, NULL}, {"..", NULL, NULL}, {"shop...", NULL, NULL},
	};
	struct rest_session_id id;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int rc = rest_session_id_parse(rows[i].text, &id);
		cr_expect_eq(rc == 0, rows[i].name != NULL, "%s", rows[i].text);
		cr_expect(rc < 0 || (strcmp(id.namespace, rows[i].namespace) == 0 && strcmp(id.name, rows[i].name) == 0), "%s", rows[i].text);
	}
	char name[400] = "n.";
	for (int lengths = 252; lengths <= 254; lengths++) { /* in labels of at most 63 */
		for (int i = 0; i < lengths; i++)
			name[2 + i] = i % 50 == 49 && i != lengths - 1 ? '.' : 'a';
		name[2 + lengths] = '\0';
		cr_expect_eq(rest_session_id_parse(name, &id) == 0, lengths <= 253, "%d", lengths);
	}
	static const char *const files[] = {"report.html", "a", "A_b-c.1"}, *const none[] = {"", ".", "..", ".a", "a/b", "a b", "\xc3\xa4"};
	for (size_t i = 0; i < 3; i++)
		cr_expect(rest_id_is_file(files[i]), "%s", files[i]);
	for (size_t i = 0; i < 7; i++)
		cr_expect_not(rest_id_is_file(none[i]), "%s", none[i]);
}

Test(rest_problem, says_status_field_and_remedy)
{
	struct err e = ERR_INIT;
	struct rest_problem p;
	err_set(&e, ERR_INVALID, 0, "spec.durationSeconds: must be between 1 and 3600");
	cr_expect_eq(rest_problem_from_err(&p, &e), -1);
	cr_expect(p.status == 422 && strcmp(p.field, "spec.durationSeconds") == 0, "%u %s", p.status, p.field);
	static const struct {
		enum err_kind kind;
		int code;
		unsigned status;
	} rows[] = {{ERR_DENIED, 0, 403}, {ERR_DENIED, 401, 401}, {ERR_NOT_FOUND, 0, 404}, {ERR_CONFLICT, 0, 409}, {ERR_GONE, 0, 410},
		    {ERR_RETRY, 0, 503}, {ERR_TIMEOUT, 0, 504}, {ERR_PROTOCOL, 0, 502}, {ERR_INTERNAL, 0, 500}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		e = (struct err)ERR_INIT;
		err_set(&e, rows[i].kind, rows[i].code, "a: b");
		rest_problem_from_err(&p, &e);
		cr_expect_eq(p.status, rows[i].status);
		cr_expect_str_eq(p.field, "", "only what is invalid has a field");
	}
}
