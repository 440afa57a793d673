#include "profiler/requests/shape_table.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SHAPES_AT_ONCE 400

static _Thread_local uint8_t units[2][40000];

static struct event_text text_of(int which, const char *ascii)
{
	size_t n = strlen(ascii);
	for (size_t i = 0; i < n; i++) {
		units[which][2 * i] = (uint8_t)ascii[i];
		units[which][2 * i + 1] = (uint8_t)(ascii[i] == '\x7f' ? 4 : 0); /* a letter of another alphabet */
	}
	return (struct event_text){units[which], n};
}

static const char *shape(const char *method, const char *path)
{
	static char out[PATH_SHAPE_BYTES + 1];
	struct path_shape s;
	const struct event_text m = text_of(0, method), p = text_of(1, path);
	path_shape_make(&m, &p, &s);
	memcpy(out, s.text, s.len);
	out[s.len] = 0;
	return out;
}

Test(path_shape, words_stay_and_values_go)
{
	static const struct {
		const char *path, *shape;
	} rows[] = {
		{"/", "GET /"}, {"", "GET /"}, {"/orders", "GET /orders"}, {"/orders/", "GET /orders/"}, {"/orders/17", "GET /orders/{id}"},
		{"/api/v2/orders/3f2504e0-4f89-11d3-9a0c-0305e82c3301/items", "GET /api/v2/orders/{id}/items"},
		{"/users/john.smith", "GET /users/{id}"}, {"/users/a@b.c", "GET /users/{id}"}, {"/users/a%20b", "GET /users/{id}"},
		{"/shop.Prices/Watch", "GET /shop.Prices/Watch"}, {"/css/site.css", "GET /css/{id}"}, {"/t/bcdfghjklmnpqrst", "GET /t/{id}"},
		{"/x/abc123def", "GET /x/{id}"}, {"/a/b/c/d/e/f/g/h/i/j/k/l/m/n", "GET /a/b/c/d/e/f/g/h/i/j/k/l/{more}"}, {"*", "GET /{id}"},
		{"/\x7f\x7f", "GET /{id}"}, {"//a", "GET //a"}, {"/caf=e/x;y=1", "GET /{id}/{id}"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(shape("GET", rows[i].path), rows[i].shape, "%s: %s", rows[i].path, shape("GET", rows[i].path));
	cr_expect_str_eq(shape("PROPFIND-X", "/"), "OTHER /");
	cr_expect_str_eq(shape("SECRETSECRETSECRET", "/"), "OTHER /");
}

Test(path_shape, a_known_path_stays_as_it_is)
{
	static const uint8_t post[] = {'P', 0, 'O', 0}, path[] = {'/', 0, 'a', 0, '1', 0, '2', 0, '3', 0, '4', 0, '/', 0, 'B', 0, 0xe9, 0};
	struct path_shape s;
	path_shape_make_known(&(struct event_text){post, 2}, &(struct event_text){path, 9}, &s);
	cr_expect_eq(s.len, 12);
	cr_expect_eq(memcmp(s.text, "PO /a1234/B_", s.len), 0);
	cr_expect_eq(s.words, 0);
	static uint8_t longer[2048];
	path_shape_make_known(&(struct event_text){post, 2}, &(struct event_text){longer, 1000}, &s);
	cr_expect_eq(s.len, PATH_SHAPE_BYTES);
}

Test(path_shape, a_path_of_16_kb_is_bounded)
{
	static char path[16384];
	memset(path, 'a', sizeof path - 1);
	path[0] = '/';
	cr_expect_str_eq(shape("GET", path), "GET /{id}{more}");
	for (size_t i = 0; i < sizeof path - 1; i += 2)
		path[i] = '/';
	cr_expect(strlen(shape("GET", path)) <= PATH_SHAPE_BYTES);
}

static uint32_t intern(const char *path)
{
	struct path_shape s;
	const struct event_text m = text_of(0, "GET"), p = text_of(1, path);
	path_shape_make(&m, &p, &s);
	return shape_table_intern(&s);
}

Test(shape_table, the_same_shape_has_the_same_number)
{
	uint16_t len;
	shape_table_reset();
	uint32_t orders = intern("/orders/1");
	cr_expect_eq(orders, 1);
	cr_expect_eq(intern("/orders/2"), orders);
	cr_expect_eq(intern("/carts"), 2);
	cr_expect_eq(shape_table_count(), 2);
	const char *text = shape_table_text(orders, &len);
	cr_expect(len == strlen("GET /orders/{id}") && memcmp(text, "GET /orders/{id}", len) == 0);
}

/* Twenty of a kind are values. */
Test(shape_table, siblings_are_folded)
{
	char path[64];
	uint32_t last = 0;
	uint16_t len;
	shape_table_reset();
	for (int i = 0; i < 200; i++) {
		snprintf(path, sizeof path, "/users/%c%c%c/cart", 'a' + i % 26, 'a' + i / 26, 'e');
		last = intern(path);
	}
	cr_expect_leq(shape_table_count(), SHAPE_SIBLINGS + 1);
	const char *text = shape_table_text(last, &len);
	cr_expect(len == strlen("GET /users/{name}/cart") && memcmp(text, "GET /users/{name}/cart", len) == 0, "%.*s", len, text);
}

Test(shape_table, endless_routes_have_an_end)
{
	char path[64];
	shape_table_reset();
	for (int i = 0; i < 30000; i++) {
		snprintf(path, sizeof path, "/%c%c%c/%c%c%ca", 'a' + i % 26, 'a' + i / 26 % 26, 'e', 'a' + i / 7 % 26, 'e', 'a' + i / 676 % 26);
		cr_assert_leq(intern(path), SHAPE_TABLE_MOST);
	}
	cr_expect_leq(shape_table_count(), SHAPE_TABLE_MOST);
}

/* Threads of the application meet the same new shapes at once. tsan */
struct interning {
	pthread_t thread;
	uint32_t numbers[SHAPES_AT_ONCE];
};

static void *intern_all(void *ctx)
{
	struct interning *t = ctx;
	for (unsigned i = 0; i < SHAPES_AT_ONCE; i++) {
		char path[32];
		snprintf(path, sizeof path, "/%c%cost/s%c%cow", 'a' + i % 20, 'a' + i / 20, 'a' + i % 20, 'a' + i / 20);
		t->numbers[i] = intern(path);
	}
	return NULL;
}

Test(shape_table, threads_that_meet_a_new_shape_at_once_give_it_one_number)
{
	static struct interning threads[4];
	shape_table_reset();
	for (size_t i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i].thread, NULL, intern_all, &threads[i]), 0);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i].thread, NULL);
	for (unsigned i = 0; i < SHAPES_AT_ONCE; i++)
		for (size_t k = 0; k < 4; k++)
			cr_expect(threads[k].numbers[i] && threads[k].numbers[i] == threads[0].numbers[i], "shape %u", i);
}

static const char *routed(const char *path, const char *values)
{
	static char out[PATH_SHAPE_BYTES + 1];
	const struct event_text p = text_of(1, path), v = text_of(0, values);
	struct route_values parsed;
	struct path_shape s;

	route_values_parse(&v, &parsed);
	path_shape_make_routed("GET /x", 6, &p, &parsed, &s);
	memcpy(out, s.text, s.len);
	out[s.len] = 0;
	return out;
}

Test(path_shape, what_routing_took_is_named_after_the_parameter)
{
	static const struct {
		const char *path, *values, *shape;
	} rows[] = {
		{"/items/4711", "[id, 4711]", "GET /items/{id}"},
		{"/users/alice/cart", "[name, alice]", "GET /users/{name}/cart"},
		{"/a/1/b/1", "[first, 1],[second, 1]", "GET /a/{first}/b/{second}"},
		{"/api/products/3", "[action, Get],[controller, Products],[id, 3]", "GET /api/products/{id}"},
		{"/files/a/b.txt", "[path, a/b.txt]", "GET /files/{*path}"},
		{"/items/4711", "", "GET /items/{id}"},
		{"/items/4711", "[id, 4712]", "GET /items/{id}"},
		{"/items/alice", "[not a name, alice]", "GET /items/alice"},
		{"/items/alice", "[, alice]", "GET /items/alice"},
		{"/items/alice", "[id, alice", "GET /items/alice"},
		{"/items/alice", "[id", "GET /items/alice"},
		{"/items/alice", "[id, ", "GET /items/alice"},
		{"/items/x", "[id, a],[b],[of, x]", "GET /items/x"},
		{"/home/index", "[controller, home],[action, index]", "GET /home/index"},
		{"/", "[id, ]", "GET /"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(routed(rows[i].path, rows[i].values), rows[i].shape, "%s of %s", rows[i].values, rows[i].path);
}

Test(path_shape, names_of_parameters_are_bounded)
{
	char values[400], path[64];
	size_t n = 0;

	snprintf(values, sizeof values, "[%0*d, 1]", 33, 0);
	memset(values + 1, 'a', 33);
	cr_expect_str_eq(routed("/items/1", values), "GET /items/{id}");
	for (int i = 0; i < 14; i++)
		n += (size_t)snprintf(values + n, sizeof values - n, "%s[a_name_of_20_letters%d, %d]", i ? "," : "", i, i);
	snprintf(path, sizeof path, "/0/1/2/3/4/5/6/7/8/9/10/11/12");
	cr_expect_leq(strlen(routed(path, values)), PATH_SHAPE_BYTES);
}

Test(shape_table, a_shape_of_several_routes_keeps_its_own_name)
{
	shape_table_reset();
	shape_table_note_template(5, 7);
	shape_table_note_template(5, 7);
	cr_expect_eq(shape_table_template(5), 7);
	shape_table_note_template(5, 5);
	cr_expect_eq(shape_table_template(5), SHAPE_TEMPLATES);
	shape_table_note_template(5, 7);
	cr_expect_eq(shape_table_template(5), SHAPE_TEMPLATES);
	cr_expect_eq(shape_table_template(6), 0);
}
