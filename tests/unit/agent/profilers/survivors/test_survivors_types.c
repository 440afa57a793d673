/* What a report says where objects were only counted by type. */
#include "agent/heap/heap_counts.h"
#include "agent/report/report.h"
#include "agent/profilers/survivors/survivors_diagnosis.h"
#include "agent/profilers/survivors/survivors_types.h"

#include <criterion/criterion.h>
#include <string.h>

struct made {
	struct heap_snapshot *snapshot;
	struct survivors s;
	struct survivors_diagnosis d;
};

static void make(struct made *m, uint64_t orders, uint64_t strings, bool part)
{
	struct heap_builder *b = heap_builder_new(false);
	uint32_t order = heap_builder_type(b, "Shop.Order", 0, 100, NULL), text = heap_builder_type(b, "string", 0, 50, NULL);
	uint32_t other = heap_builder_type(b, "Shop.Ui.Widget", 0, 1000, NULL);

	heap_builder_range(b, HEAP_GEN2, 0x100000, orders * 100 + 50000000);
	heap_builder_counted(b, order, HEAP_GEN2, orders, orders * 100);
	heap_builder_counted(b, text, HEAP_GEN0, strings, strings * 50);
	heap_builder_counted(b, other, HEAP_GEN_LOH, 20000, 20000000);
	for (const char *const *name = (const char *const[]){"Shop.Cart", "Shop.Price", NULL}; *name; name++)
		heap_builder_counted(b, heap_builder_type(b, *name, 0, 1000, NULL), HEAP_GEN1, 15000, 15000000);
	m->snapshot = heap_builder_finish_take(b);
	m->snapshot->facts.why = "the walk that shows holders would stop for longer than the pause budget";
	m->snapshot->facts.needs.budget_ms = 1126;
	m->snapshot->facts.part = part;
	m->snapshot->facts.whole_budget_ms = part ? 800 : 0;
	m->snapshot->facts.heap_most_bytes = part ? 1000000000 : 0;
	survivors_make_types(m->snapshot, &m->s);
	survivors_diagnosis_make(&m->s, &m->d);
}

static void made_fini(struct made *m)
{
	survivors_diagnosis_fini(&m->d);
	survivors_fini(&m->s);
	heap_snapshot_free(m->snapshot);
}

Test(survivors_types, figures)
{
	struct made m;
	make(&m, 2000000, 1000000, false);
	cr_expect(m.s.objects == 3050000 && m.s.bytes == 300000000 && m.s.unreachable_bytes == 0);
	cr_expect(m.s.spaces[HEAP_GEN2].bytes == 200000000 && m.s.free_bytes == 50000000);
	cr_expect(m.s.types.count == 5 && strcmp(m.s.types.items[0].name, "Shop.Order") == 0, "by their own bytes");
	cr_expect(m.s.tree.count == 1 && m.s.holder_count == 0 && m.s.paths.count == 0);
	cr_expect_float_eq(survivors_types_seen_percent(&m.s), 100, 0.01);
	made_fini(&m);
}

Test(survivors_types, what_is_said)
{
	static const struct {
		const char *what;
		uint64_t orders, strings;
		bool part;
		const char *headline, *says[3], *says_not;
	} rows[] = {
		{"a type", 20000000, 1000000, false, "Types only: 2.0 GB of 2.1 GB are Order x 20,000,000",
		 {"holders need pauseBudgetMilliseconds: 1126.", "What nothing holds any more is counted too", "Most bytes by type: Order"}, "seen"},
		{"none stands out", 170000, 360000, false, "Types only: 85 MB, no type stands out; most, 24%, Widget x 20,000", {NULL}, NULL},
		{"a part", 2000000, 1000000, true, "Types only, 30% of the heap seen: 200 MB of 300 MB are Order x 2,000,000",
		 {"ended the count after 300 MB, at least 30% of the heap", "pauseBudgetMilliseconds: 800 would count all of it",
		  "no figure stands for the rest"},
		 "free space"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct made m;
		make(&m, rows[i].orders, rows[i].strings, rows[i].part);
		cr_expect_str_eq(m.d.headline, rows[i].headline);
		cr_expect_leq(strlen(m.d.headline), HEADLINE_MAX_CHARS);
		cr_expect_eq(strncmp(m.d.text, m.d.headline, strlen(m.d.headline)), 0);
		cr_expect_leq(strlen(m.d.text), DIAGNOSIS_MAX_BYTES);
		for (size_t k = 0; k < 3 && rows[i].says[k]; k++)
			cr_expect_not_null(strstr(m.d.text, rows[i].says[k]), "%s: %s is not in %s", rows[i].what, rows[i].says[k], m.d.text);
		cr_expect(!rows[i].says_not || !strstr(m.d.text, rows[i].says_not), "%s: %s", rows[i].what, m.d.text);
		made_fini(&m);
	}
}
