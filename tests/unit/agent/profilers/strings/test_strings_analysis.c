#include "agent/profilers/strings/string_loose.h"
#include "agent/profilers/strings/strings_analysis.h"
#include "common/base/mem.h"
#include "common/proto/string_class.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t secret[STRINGS_SECRET_BYTES] = {7};

enum { T_STRING, T_ORDER, T_WORDS, T_ENTRIES, T_LIST, T_FREE, T_COUNT };

/* xorshift64*: the same numbers each time. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1du;
}

/* A random heap as plain lists: the naive model reads these, the analysis the stream that is made of them. */
struct model_object {
	unsigned type;
	uint64_t address, size;
	struct heap_edge edges[12];
	size_t edge_count;
	struct heap_string_record text;
	unsigned generation;
	size_t first;       /* strings: the first with the same contents */
	size_t count;       /* of the first one: how many there are */
	bool held;
};

struct model {
	struct model_object *objects;
	size_t count;
	struct heap_snapshot *snapshot;
};

#define RANGE_BYTES (UINT64_C(1) << 24)
#define RANGES 6

static void make_string(struct model_object *o, uint64_t value, uint64_t *state)
{
	*state = 0x9e3779b97f4a7c15u * (value + 1);
	o->type = T_STRING;
	o->text.length = next_random(state) % 40;
	o->text.digest = value % 7 == 0 ? 12345 : next_random(state); /* some have one digest and differ in length only */
	if (value % 7 == 0)
		o->text.length = value % 50;
	o->text.classes = (uint8_t)(1 + value % 255);
	o->text.revealed = (uint8_t)(o->text.length < 4 ? o->text.length : 4);
	for (size_t i = 0; i < o->text.revealed; i++)
		o->text.units[i] = (uint16_t)('a' + (value + i) % 26);
	o->size = 22 + 2 * o->text.length;
}

/* References to objects anywhere, also to none. */
static void make_edges(struct model *m, struct model_object *o, uint64_t *state)
{
	size_t slots = o->type == T_ORDER ? 3 : o->type == T_LIST ? 1 : next_random(state) % 12;
	for (size_t i = 0; i < slots; i++) {
		if (next_random(state) % 4 == 0)
			continue;
		uint64_t target = next_random(state) % 20 ? m->objects[next_random(state) % m->count].address : next_random(state) >> 20 << 3;
		o->edges[o->edge_count++] = (struct heap_edge){(uint32_t)((o->type == T_ORDER || o->type == T_LIST ? 8 : 16) + i * 8), target};
	}
	if (o->type == T_WORDS || o->type == T_ENTRIES)
		o->size = 16 + slots * 8;
}

static void lay_out(struct model *m, size_t count, size_t values, uint64_t seed)
{
	static const unsigned generations[RANGES] = {HEAP_GEN2, HEAP_GEN0, HEAP_GEN_LOH, HEAP_GEN1, HEAP_GEN_POH, HEAP_GEN_FROZEN};
	static const unsigned places[RANGES] = {4, 2, 6, 1, 5, 3};
	uint64_t state = seed, at = 0;
	m->objects = mem_calloc(count, sizeof *m->objects);
	m->count = count;
	for (size_t i = 0; i < count; i++) {
		size_t range = i * RANGES / count;
		struct model_object *o = &m->objects[i];
		uint64_t own = next_random(&state);
		if (i == 0 || range != (i - 1) * RANGES / count)
			at = places[range] * RANGE_BYTES;
		if (own % 3 == 0)
			make_string(o, (own >> 8) % values * ((own >> 40) % 4 ? 1 : (own >> 8) % 3), &state);
		else
			*o = (struct model_object){.type = T_ORDER + own % 5, .size = 32};
		state = own;
		o->address = at;
		o->generation = generations[range];
		at += 256 + own % 16 * 8; /* room for any of them */
	}
	for (size_t i = 0; i < count; i++)
		if (m->objects[i].type != T_STRING && m->objects[i].type != T_FREE)
			make_edges(m, &m->objects[i], &state);
}

static void build(struct model *m)
{
	static const unsigned places[RANGES] = {4, 2, 6, 1, 5, 3};
	struct heap_builder *b = heap_builder_new(true);
	heap_builder_type(b, "string", HEAP_TYPE_VARIABLE | HEAP_TYPE_STRING, 22, NULL);
	heap_builder_type(b, "Shop.Order", HEAP_TYPE_REFERENCES, 32, "8 _code, 16 _name, 24 _other");
	heap_builder_type(b, "string[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	heap_builder_type(b, "Shop.Entry[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, "0 [].Key, 8 [].Value");
	heap_builder_type(b, "System.Collections.Generic.List<string>", HEAP_TYPE_REFERENCES, 32, "8 _items");
	heap_builder_type(b, "Free", HEAP_TYPE_VARIABLE | HEAP_TYPE_FREE, 24, NULL);
	for (size_t r = 0; r < RANGES; r++)
		for (size_t i = 0; i < m->count; i++)
			if (m->objects[i].address / RANGE_BYTES == places[r]) {
				heap_builder_range(b, m->objects[i].generation, places[r] * RANGE_BYTES, RANGE_BYTES);
				break;
			}
	for (size_t i = 0; i < m->count; i++) {
		const struct model_object *o = &m->objects[i];
		heap_builder_object(b, o->type, o->address, o->size, o->edges, o->edge_count);
		if (o->type == T_STRING)
			heap_builder_string(b, &o->text);
	}
	m->snapshot = heap_builder_finish_take(b);
	m->snapshot->types[T_ENTRIES].element_size = 16;
}

static bool equal_text(const struct model_object *a, const struct model_object *b)
{
	return a->text.digest == b->text.digest && a->text.length == b->text.length;
}

static void find_firsts(struct model *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct model_object *o = &m->objects[i];
		if (o->type != T_STRING)
			continue;
		for (o->first = 0; m->objects[o->first].type != T_STRING || !equal_text(&m->objects[o->first], o);)
			o->first++;
		m->objects[o->first].count++;
	}
}

static uint64_t real_size(const struct model_object *o)
{
	return (o->size + 7) / 8 * 8;
}

struct naive_holder {
	unsigned type;
	uint64_t offset, strings, copies, wasted;
};

static struct model_object *at_address(struct model *m, uint64_t address)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->objects[i].address == address)
			return &m->objects[i];
	return NULL;
}

/* Arrays and collections that nothing refers to come after all others. */
static size_t find_holders(struct model *m, struct naive_holder *out)
{
	struct string_loose refers;
	size_t count = 0;
	string_loose_init(&refers, m->snapshot);
	for (size_t i = 0; i < m->count; i++)
		for (size_t k = 0; k < m->objects[i].edge_count; k++)
			string_loose_reference(&refers, m->objects[i].edges[k].target);
	for (size_t turn = 0; turn < 2 * m->count; turn++) {
		size_t i = turn % m->count;
		bool loose = m->objects[i].type != T_ORDER && string_loose_is(&refers, m->objects[i].address);
		for (size_t k = 0; loose == (turn >= m->count) && k < m->objects[i].edge_count; k++) {
			struct model_object *s = at_address(m, m->objects[i].edges[k].target);
			uint64_t offset = m->objects[i].edges[k].offset;
			if (!s || s->type != T_STRING || s->held || m->objects[s->first].count < 2)
				continue;
			s->held = true;
			if (m->objects[i].type == T_WORDS)
				offset = 0;
			if (m->objects[i].type == T_ENTRIES)
				offset = (offset - 16) % 16;
			size_t h = 0;
			while (h < count && (out[h].type != m->objects[i].type || out[h].offset != offset))
				h++;
			if (h == count)
				out[count++] = (struct naive_holder){.type = m->objects[i].type, .offset = offset};
			bool copy = s != &m->objects[s->first];
			out[h].strings++;
			out[h].copies += copy;
			out[h].wasted += copy ? real_size(s) : 0;
		}
	}
	string_loose_fini(&refers);
	return count;
}

static void expect_sums(const struct strings_analysis *a, struct model *m)
{
	struct strings_analysis x = {0};
	struct strings_sum unheld = {0};
	for (size_t i = 0; i < m->count; i++) {
		const struct model_object *o = &m->objects[i];
		if (o->type == T_FREE)
			continue;
		x.heap_objects++;
		x.heap_bytes += real_size(o);
		if (o->type != T_STRING)
			continue;
		bool copy = o->first != i;
		x.strings++;
		x.bytes += real_size(o);
		x.generation[o->generation].strings++;
		x.generation[o->generation].bytes += real_size(o);
		x.values += !copy;
		x.duplicated_values += o->count > 1;
		x.copies += copy;
		x.wasted_bytes += copy ? real_size(o) : 0;
		x.generation[o->generation].copies += copy;
		x.generation[o->generation].wasted_bytes += copy ? real_size(o) : 0;
		if (!o->held && m->objects[o->first].count > 1) {
			unheld.strings++;
			unheld.copies += copy;
			unheld.wasted_bytes += copy ? real_size(o) : 0;
		}
	}
	cr_expect_eq(a->heap_objects, x.heap_objects);
	cr_expect_eq(a->heap_bytes, x.heap_bytes);
	cr_expect_eq(a->strings, x.strings);
	cr_expect_eq(a->bytes, x.bytes);
	cr_expect_eq(a->values, x.values, "%lu, not %lu values", a->values, x.values);
	cr_expect_eq(a->duplicated_values, x.duplicated_values);
	cr_expect_eq(a->copies, x.copies);
	cr_expect_eq(a->wasted_bytes, x.wasted_bytes);
	cr_expect_eq(memcmp(a->generation, x.generation, sizeof x.generation), 0);
	cr_expect_eq(memcmp(&a->unheld, &unheld, sizeof unheld), 0, "%lu, not %lu unheld", a->unheld.strings, unheld.strings);
	cr_expect_eq(a->crowded.strings, 0);
}

static void expect_values(const struct strings_analysis *a, struct model *m)
{
	size_t expected = a->duplicated_values < STRINGS_VALUES_MAX ? a->duplicated_values : STRINGS_VALUES_MAX, larger = 0;
	cr_assert_eq(a->list_count, expected);
	for (size_t i = 0; i < a->list_count; i++) {
		const struct strings_value *v = &a->list[i];
		const struct model_object *first = at_address(m, v->address);
		uint32_t held = v->unheld, old = 0;
		cr_assert(first && first == &m->objects[first->first], "value %zu is not the first of its kind", i);
		for (size_t k = 0; k < m->count; k++)
			old += m->objects[k].type == T_STRING && m->objects[k].first == first->first && m->objects[k].generation >= HEAP_GEN2;
		for (size_t k = 0; k < v->holder_count; k++)
			held += v->holders[k].count;
		cr_expect_eq(v->count, first->count);
		cr_expect_eq(v->size_bytes, real_size(first));
		cr_expect_eq(v->chars, first->text.length);
		cr_expect_eq(v->classes, first->text.classes, "value %zu", i);
		cr_expect_eq(v->old_count, old);
		cr_expect_eq(held, v->count);
		if (i)
			cr_expect(strings_value_wasted(v) <= strings_value_wasted(v - 1));
	}
	for (size_t i = 0; i < m->count && a->list_count; i++)
		larger += m->objects[i].count > 1 &&
			  (m->objects[i].count - 1) * real_size(&m->objects[i]) > strings_value_wasted(&a->list[a->list_count - 1]);
	cr_expect(larger < STRINGS_VALUES_MAX && larger <= a->list_count, "%zu larger ones", larger);
}

static void expect_holders(const struct strings_analysis *a, const struct naive_holder *naive, size_t count)
{
	cr_expect_eq(a->holders.count, count, "%zu, not %zu holders", a->holders.count, count);
	for (size_t i = 0; i < a->holders.count; i++) {
		const struct string_holder *h = strings_analysis_holder(a, i);
		size_t k = 0;
		while (k < count && (naive[k].type != h->type || naive[k].offset != h->offset))
			k++;
		cr_assert(k < count, "holder %s", h->name);
		cr_expect_eq(h->strings, naive[k].strings, "%s", h->name);
		cr_expect_eq(h->copies, naive[k].copies, "%s", h->name);
		cr_expect_eq(h->wasted_bytes, naive[k].wasted, "%s", h->name);
		if (i)
			cr_expect(h->wasted_bytes <= strings_analysis_holder(a, i - 1)->wasted_bytes);
	}
}

static void fini(struct model *m)
{
	heap_snapshot_free(m->snapshot);
	free(m->objects);
}

Test(strings_analysis, says_what_a_naive_count_says)
{
	static const struct {
		size_t objects, values;
		uint64_t part;
	} rows[] = {
		{1, 1, 0}, {2, 1, 0}, {10, 2, 0}, {100, 5, 0}, {300, 1, 0}, {1000, 20, 0}, {1000, 20, 10}, {1000, 500, 0}, {1000, 500, 50},
		{1500, 100000, 0}, {1500, 100000, 3}, {4000, 300, 100},
	};
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		for (uint64_t seed = 1; seed <= 3; seed++) {
			struct model m = {0};
			struct strings_analysis a;
			struct naive_holder naive[16];
			const struct strings_options o = {.part_strings = rows[r].part, .secret = secret};
			lay_out(&m, rows[r].objects, rows[r].values, seed);
			build(&m);
			find_firsts(&m);
			size_t holders = find_holders(&m, naive);
			strings_analysis_make(m.snapshot, &o, &a);
			expect_sums(&a, &m);
			expect_values(&a, &m);
			expect_holders(&a, naive, holders);
			for (size_t i = 0; i < a.list_count; i++)
				cr_expect_null(a.list[i].start);
			strings_analysis_fini(&a);
			fini(&m);
		}
	}
}

Test(strings_analysis, of_too_many_values_the_worst_are_listed)
{
	struct model m = {0};
	struct strings_analysis a;
	const struct strings_options whole = {.secret = secret}, parts = {.secret = secret, .part_strings = 700};
	lay_out(&m, 18000, 1700, 9);
	build(&m);
	find_firsts(&m);
	strings_analysis_make(m.snapshot, &whole, &a);
	cr_assert(a.duplicated_values > STRINGS_VALUES_MAX);
	for (size_t i = 0; i < m.count; i++)
		m.objects[i].held = m.objects[i].type == T_STRING; /* holders are not looked at here */
	expect_values(&a, &m);
	struct strings_analysis b;
	strings_analysis_make(m.snapshot, &parts, &b);
	cr_assert_eq(b.list_count, a.list_count);
	for (size_t i = 0; i < a.list_count; i++) {
		cr_expect_eq(a.list[i].address, b.list[i].address, "value %zu", i);
		cr_expect_str_eq(a.list[i].id, b.list[i].id);
	}
	strings_analysis_fini(&a);
	strings_analysis_fini(&b);
	fini(&m);
}

/* Order._code: 3 x "777777"; a list's array: 4 x "EUR", two of them in another array too; a static array: 2 of one and nobody's 2. */
static struct heap_snapshot *shop(void)
{
	static const struct heap_string_record digits = {6, 1, STRING_CLASS_DIGIT, 6, {'7', '7', '7', '7', '7', '7'}};
	static const struct heap_string_record euro = {3, 2, STRING_CLASS_UPPER, 3, {'E', 'U', 'R'}};
	static const struct heap_string_record tag = {4, 3, STRING_CLASS_OTHER, 4, {0x65e5, 0xd800, 0, 'x'}};
	static const struct heap_string_record nobodys = {4, 4, STRING_CLASS_LOWER, 4, {'a', 'b', 'c', 'd'}};
	struct heap_builder *b = heap_builder_new(true);
	heap_builder_type(b, "string", HEAP_TYPE_VARIABLE | HEAP_TYPE_STRING, 22, NULL);
	heap_builder_type(b, "Shop.Order", HEAP_TYPE_REFERENCES, 24, "8 _code");
	heap_builder_type(b, "string[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	heap_builder_type(b, "System.Collections.Generic.List<string>", HEAP_TYPE_REFERENCES, 32, "8 _items");
	heap_builder_type(b, "Shop.Prices", HEAP_TYPE_REFERENCES, 24, "8 _currencies");
	heap_builder_range(b, HEAP_GEN2, 0, 0x100000);
	uint64_t at = 0x1000;
	for (unsigned i = 0; i < 3; i++, at += 0x100) {
		heap_builder_object(b, 1, at, 0, &(struct heap_edge){8, at + 0x40}, 1);
		heap_builder_object(b, 0, at + 0x40, 22 + 12, NULL, 0);
		heap_builder_string(b, &digits);
	}
	heap_builder_object(b, 4, 0x2000, 0, &(struct heap_edge){8, 0x2100}, 1);
	heap_builder_object(b, 3, 0x2100, 0, &(struct heap_edge){8, 0x2200}, 1);
	heap_builder_object(b, 2, 0x2200, 16 + 4 * 8, (struct heap_edge[]){{16, 0x3000}, {24, 0x3100}, {32, 0x3200}, {40, 0x3300}}, 4);
	heap_builder_object(b, 2, 0x2300, 16 + 4 * 8, (struct heap_edge[]){{16, 0x3000}, {24, 0x3100}, {32, 0x3400}, {40, 0x3500}}, 4);
	for (uint64_t string = 0x3000; string <= 0x3700; string += 0x100) {
		const struct heap_string_record *r = string < 0x3400 ? &euro : string < 0x3600 ? &tag : &nobodys;
		heap_builder_object(b, 0, string, 22 + 2 * r->length, NULL, 0);
		heap_builder_string(b, r);
	}
	heap_builder_root(b, HEAP_ROOT_STACK, 0, 0x2300, 0, "stack of Shop.Main");
	heap_builder_root(b, HEAP_ROOT_STATIC, 0, 0x2300, 0, "static Shop.Library.Tags");
	return heap_builder_finish_take(b);
}

/* The array of a Split that is done with lies before the dictionary that its strings are in. */
Test(strings_analysis, what_nothing_refers_to_is_no_holder_where_there_is_another)
{
	static const struct heap_string_record name = {4, 1, STRING_CLASS_LOWER, 4, {'n', 'a', 'm', 'e'}};
	struct heap_builder *b = heap_builder_new(true);
	struct strings_analysis a;
	const struct strings_options o = {.secret = secret};
	heap_builder_type(b, "string", HEAP_TYPE_VARIABLE | HEAP_TYPE_STRING, 22, NULL);
	heap_builder_type(b, "string[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	heap_builder_type(b, "Shop.Row", HEAP_TYPE_REFERENCES, 24, "8 _column");
	heap_builder_range(b, HEAP_GEN0, 0, 0x100000);
	for (uint64_t at = 0x1000; at < 0x1400; at += 0x100) {
		heap_builder_object(b, 0, at, 30, NULL, 0);
		heap_builder_string(b, &name);
	}
	heap_builder_object(b, 1, 0x2000, 16 + 4 * 8, (struct heap_edge[]){{16, 0x1000}, {24, 0x1100}, {32, 0x1200}, {40, 0x1300}}, 4);
	for (uint64_t at = 0x3000; at < 0x3300; at += 0x100) /* one string is in the array only */
		heap_builder_object(b, 2, at, 0, &(struct heap_edge){8, at - 0x2000}, 1);
	struct heap_snapshot *s = heap_builder_finish_take(b);
	strings_analysis_make(s, &o, &a);
	cr_assert_eq(a.holders.count, 2);
	cr_expect_str_eq(a.holders.items[a.holder_order[0]].name, "Shop.Row._column");
	cr_expect_eq(a.holders.items[a.holder_order[0]].strings, 3);
	cr_expect_eq(a.holders.items[a.holder_order[1]].strings, 1);
	strings_analysis_fini(&a);
	heap_snapshot_free(s);
}

static const struct string_holder *holder_named(const struct strings_analysis *a, const char *name)
{
	for (size_t i = 0; i < a->holders.count; i++)
		if (strcmp(a->holders.items[i].name, name) == 0)
			return &a->holders.items[i];
	cr_assert_fail("no holder %s", name);
	return NULL;
}

Test(strings_analysis, names_holders_and_who_holds_their_arrays)
{
	struct heap_snapshot *s = shop();
	struct strings_analysis a;
	const struct strings_options o = {.secret = secret, .reveal = true};
	strings_analysis_make(s, &o, &a);
	const struct string_holder *code = holder_named(&a, "Shop.Order._code"), *words = holder_named(&a, "string[]");
	cr_expect_eq(a.holders.count, 2);
	cr_expect_eq(code->strings, 3);
	cr_expect_eq(code->wasted_bytes, 2 * 40);
	cr_expect_str_eq(code->field, "_code");
	cr_expect_null(code->held_by);
	cr_expect_eq(code->remedy, REMEDY_NUMBER);
	cr_expect_str_eq(a.list[code->value].start, "777777");
	cr_expect_eq(words->strings, 6);
	cr_expect_eq(words->wasted_bytes, 3 * 32 + 32);
	cr_expect_eq(words->value_count, 2);
	cr_expect_null(words->field);
	cr_assert_not_null(words->held_by);
	cr_expect_str_eq(words->held_by, "Shop.Prices._currencies -> List<string>._items");
	cr_expect_str_eq(a.list[words->value].start, "EUR");
	cr_expect_eq(a.unheld.strings, 2);
	cr_expect_eq(a.unheld.copies, 1);
	strings_analysis_fini(&a);
	heap_snapshot_free(s);
}

Test(strings_analysis, a_heap_without_copies_has_none)
{
	struct heap_builder *b = heap_builder_new(true);
	struct strings_analysis a;
	const struct strings_options o = {.secret = secret};
	struct heap_snapshot *s = heap_builder_finish_take(b);
	strings_analysis_make(s, &o, &a);
	cr_expect(a.strings == 0 && a.list_count == 0 && a.holders.count == 0);
	strings_analysis_fini(&a);
	heap_snapshot_free(s);
}
