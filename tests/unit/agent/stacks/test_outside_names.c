#include "agent/stacks/outside_names.h"

#include "common/api/reason.h"

#include <criterion/criterion.h>
#include <string.h>

Test(outside_names, says_where_names_come_from_or_how_to_get_them)
{
	static const struct {
		const char *reason;
		int64_t named, unnamed;
		const char *says; /* NULL: nothing */
	} rows[] = {
		{REASON_NativeAOT, 90, 3, "named by its symbols"}, {REASON_NativeAOT, 0, 3, "Keep APP.dbg"}, {REASON_NativeAOT, 0, 0, NULL},
		{REASON_AttachFailed, 0, 3, NULL},		   {NULL, 0, 3, NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct session_facts f = {.pid = 1};
		const struct cpu_capture c = {.managed_frames = rows[i].named, .unresolved_frames = rows[i].unnamed};
		outside_names_note_compiled(rows[i].reason, &c, &f);
		cr_assert_eq(f.limits.count, rows[i].says != NULL, "%zu", i);
		bool nameless = rows[i].says && !rows[i].named;
		cr_assert_eq(engine_lacks(&f.engines, ENGINE_SLEEPERS) != NULL, nameless, "nothing is excluded by stacks without names");
		cr_assert_eq(engine_lacks(&f.engines, ENGINE_SAMPLING) != NULL, nameless);
		if (!rows[i].says)
			continue;
		cr_expect_str_eq(f.limits.list[0].name, "names");
		cr_expect_not_null(strstr(f.limits.list[0].meaning, rows[i].says), "%s", f.limits.list[0].meaning);
		cr_expect_eq(f.limits.list[0].meaning[strlen(f.limits.list[0].meaning) - 1], '.', "it is whole: %s", f.limits.list[0].meaning);
	}
}
