/* A heap walk's stream with digests of strings, any bytes, to what is counted and said of them. The first byte: revealed or not, in one part
 * or many. */
#include "agent/profilers/strings/strings_diagnosis.h"
#include "tests/fuzz/fuzz_heap.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REVEAL 1
#define PARTS 2

static const uint8_t secret[STRINGS_SECRET_BYTES] = {1};

static void check_shown(const char *s)
{
	for (size_t left = s ? strlen(s) : 0; left;) {
		uint32_t c = 0;
		size_t n = text_decode_utf8(s, left, &c);
		check((c >= 0x20 || c == '\n') && c != 0x7f && !(c == 0xfffd && n == 1));
		s += n;
		left -= n;
	}
}

static void name_types(struct heap_snapshot *s)
{
	static const char *const names[] = {"Shop.Order", "string[]", "System.Collections.Generic.List<string>"};
	for (uint32_t i = 0; i < s->type_count; i++) {
		struct heap_type *t = &s->types[i];
		heap_type_set_name(t, names[i % 3]);
		if (!(t->flags & HEAP_TYPE_ARRAY))
			continue;
		t->elements_at = i % 5 * 8;
		t->element_size = i % 4 * 8;
	}
}

static void check_sums(const struct strings_analysis *a)
{
	uint64_t strings = 0, copies = a->unheld.copies + a->crowded.copies, wasted = a->unheld.wasted_bytes + a->crowded.wasted_bytes, listed = 0;
	for (size_t i = 0; i < a->holders.count; i++) {
		copies += a->holders.items[i].copies;
		wasted += a->holders.items[i].wasted_bytes;
		check_shown(a->holders.items[i].name);
		check_shown(a->holders.items[i].field);
		check_shown(a->holders.items[i].held_by);
	}
	check(copies == a->copies && wasted == a->wasted_bytes);
	for (size_t i = 0; i < a->list_count; i++) {
		uint64_t held = a->list[i].unheld;
		for (size_t k = 0; k < a->list[i].holder_count; k++)
			held += a->list[i].holders[k].count;
		check(held == a->list[i].count && a->list[i].count > 1 && a->list[i].old_count <= a->list[i].count);
		check(!a->list[i].start || a->revealed);
		check_shown(a->list[i].start);
		listed += strings_value_wasted(&a->list[i]);
	}
	check(a->list_count < a->duplicated_values || listed == a->wasted_bytes);
	for (int g = 0; g < HEAP_GENERATIONS; g++)
		strings += a->generation[g].strings;
	check(strings == a->strings && a->values + a->copies == a->strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strings_analysis a;
	struct strings_diagnosis d;
	if (size < 2 || size > 1 << 16)
		return 0;
	struct heap_snapshot *s = read_snapshot(data + 1, size - 1, true, "static Shop.Library.Tags", "static Shop.Library.Tags");
	if (!s)
		return 0;
	name_types(s);
	const struct strings_options o = {.secret = secret, .reveal = data[0] & REVEAL, .part_strings = data[0] & PARTS ? 2 : 0};
	strings_analysis_make(s, &o, &a);
	check_sums(&a);
	strings_diagnosis_make(&a, &d);
	check_shown(d.text);
	check(strlen(d.text) <= DIAGNOSIS_MAX_BYTES);
	strings_diagnosis_fini(&d);
	strings_analysis_fini(&a);
	heap_snapshot_free(s);
	return 0;
}
