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
	cr_expect_str_eq(shape("SECRET", "/"), "OTHER /");
	cr_expect_str_eq(shape("", "/"), "OTHER /");
	cr_expect_str_eq(shape("PROPFIND", "/"), "PROPFIND /");
}

Test(path_shape, a_known_path_stays_as_it_is)
{
	static const uint8_t put[] = {'P', 0, 'U', 0, 'T', 0}, path[] = {'/', 0, 'a', 0, '1', 0, '2', 0, '3', 0, '4', 0, '/', 0, 'B', 0, 0xe9, 0};
	struct path_shape s;
	path_shape_make_known(&(struct event_text){put, 3}, &(struct event_text){path, 9}, &s);
	cr_expect_eq(s.len, 13);
	cr_expect_eq(memcmp(s.text, "PUT /a1234/B_", s.len), 0);
	cr_expect_eq(s.words, 0);
	static uint8_t longer[2048];
	path_shape_make_known(&(struct event_text){put, 3}, &(struct event_text){longer, 1000}, &s);
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

static void check_shape(const struct path_shape *s, const char *of)
{
	cr_assert_leq(s->len, PATH_SHAPE_BYTES, "%s", of);
	for (unsigned i = 0, from = 0; i < s->words; from = s->word[i].at + s->word[i].len, i++) {
		cr_assert(s->word[i].at >= from && s->word[i].at + s->word[i].len <= s->len, "%s: word %u", of, i);
		for (unsigned k = s->word[i].at; k < (unsigned)s->word[i].at + s->word[i].len; k++)
			cr_assert(s->text[k] != '/' && s->text[k] != '{', "%s: word %u", of, i);
	}
}

/* Folds what is left of `s` in every order. */
static void fold_in_every_order(const struct path_shape *s, const char *of)
{
	check_shape(s, of);
	for (unsigned i = 0; i < s->words; i++) {
		struct path_shape folded = *s;
		path_shape_fold(&folded, i);
		cr_assert_lt(folded.words, s->words, "%s", of);
		fold_in_every_order(&folded, of);
	}
}

/* A path of `words` words whose shape has `len` bytes: short words are those whose bits are set in `mask`, the first of the others takes what is left. */
static bool path_of_length(char *out, unsigned len, unsigned words, unsigned mask)
{
	unsigned lens[8], left = len - 4, k;

	for (unsigned i = 0; i < words; i++)
		left -= lens[i] = 1 + (mask >> i & 1 ? 1 + i % 5 : 26);
	for (k = 0; k < words && mask >> k & 1; k++)
		;
	if (k == words || left > len || (lens[k] += left) > (k ? 33 : 65))
		return false;
	for (unsigned i = 0; i < words; i++) {
		*out++ = '/';
		memset(out, 'a' + (int)i, lens[i] - 1);
		memset(out, 'a', (lens[i] - 1) / 2);
		out += lens[i] - 1;
	}
	*out = 0;
	return true;
}

Test(path_shape, folding_is_total_at_every_length_of_every_word_in_every_order)
{
	unsigned met[PATH_SHAPE_BYTES + 1] = {0};
	char path[PATH_SHAPE_BYTES + 8];

	for (unsigned len = 100; len <= PATH_SHAPE_BYTES; len++)
		for (unsigned words = 3; words <= 6; words++)
			for (unsigned mask = 0; mask < 1u << words; mask++) {
				struct path_shape s;
				if (!path_of_length(path, len, words, mask))
					continue;
				const struct event_text m = text_of(0, "GET"), p = text_of(1, path);
				path_shape_make(&m, &p, &s);
				cr_assert(s.len == len && s.words == words, "%s: %u bytes, %u words", path, s.len, s.words);
				met[len]++;
				fold_in_every_order(&s, path);
			}
	for (unsigned len = 100; len <= PATH_SHAPE_BYTES; len++)
		cr_expect_gt(met[len], 4, "%u bytes: %u", len, met[len]);
}

Test(path_shape, what_finds_no_room_behind_a_folded_word_is_cut_before_a_word)
{
	struct path_shape s;
	char path[PATH_SHAPE_BYTES];

	snprintf(path, sizeof path, "/b/%032d/%032d/%032d/%032d/aaaaaaaaaaaaa/bbbbab", 0, 0, 0, 0);
	for (char *c = path; *c; c++)
		*c = (char)(*c == '0' ? 'a' : *c);
	const struct event_text m = text_of(0, "GET"), p = text_of(1, path);
	path_shape_make(&m, &p, &s);
	cr_assert_eq(s.len, 159);
	path_shape_fold(&s, 0);
	cr_expect(s.len == 158 && s.words == 5 && s.text[s.len - 1] == '/', "%.*s", s.len, s.text);
	path_shape_fold(&s, 4);
	cr_expect(s.words == 4 && memcmp(s.text + s.len - 8, "/{name}/", 8) == 0, "%.*s", s.len, s.text);
}

Test(path_shape, a_word_that_there_is_not_is_not_folded)
{
	struct path_shape s = {.len = 5, .words = 1, .text = "GET /", .word = {{4, 200}}};
	path_shape_fold(&s, 0);
	cr_expect(s.len == 5 && s.words == 0);
	s = (struct path_shape){.len = 5, .words = 0, .text = "GET /"};
	path_shape_fold(&s, 3);
	cr_expect(s.len == 5 && s.words == 0);
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

/* A path whose last word is where no {name} has room: a shape of 158 bytes, and 2 for the word. */
Test(shape_table, values_at_the_end_of_a_shape_are_folded)
{
	char path[200], as[33] = {0};
	uint32_t last = 0;
	uint16_t len;

	shape_table_reset();
	memset(as, 'a', 32);
	for (int i = 0; i < 10000; i++) {
		snprintf(path, sizeof path, "/%s/%s/%s/%s/%.18s/%c%c", as, as, as, as, as, 'a' + i % 26, 'a' + i / 26 % 26);
		last = intern(path);
	}
	cr_expect_leq(shape_table_count(), SHAPE_SIBLINGS + 1);
	const char *text = shape_table_text(last, &len);
	cr_expect(len == 156 && text[len - 1] == '/', "%.*s", len, text);
}

/* Every word of long routes takes many values, one word after the other and then all at once: folding a short one moves the later ones towards the end. */
Test(shape_table, any_values_in_long_paths_keep_within_bounds)
{
	unsigned seed = 1;

	for (unsigned route = 0; route < 300; route++) {
		unsigned lens[PATH_SHAPE_SEGMENTS], words = 3 + route % 9;
		for (unsigned k = 0; k < words; k++)
			lens[k] = 1 + (seed = seed * 1103515245 + 12345) / 65536 % (k + 1 == words ? 6 : 32);
		shape_table_reset();
		for (unsigned i = 0; i < 25 * (words + 2); i++) {
			char path[PATH_SHAPE_SEGMENTS * 34], *at = path;
			for (unsigned k = 0; k < words; k++, at += lens[k - 1]) {
				*at++ = '/';
				memset(at, 'a', lens[k]);
				if (i / 25 == words - 1 - k || i / 25 >= words)
					at[lens[k] - 1] = (char)('a' + i % 25);
			}
			*at = 0;
			cr_assert_leq(intern(path), SHAPE_ROUTES_MOST);
		}
	}
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
