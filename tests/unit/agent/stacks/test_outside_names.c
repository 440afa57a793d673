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
		struct limits l = {.count = 0};
		const struct cpu_capture c = {.managed_frames = rows[i].named, .unresolved_frames = rows[i].unnamed};
		outside_names_note_compiled(rows[i].reason, &c, &l);
		cr_assert_eq(l.count, rows[i].says != NULL, "%zu", i);
		if (!rows[i].says)
			continue;
		cr_expect_str_eq(l.list[0].name, "names");
		cr_expect_not_null(strstr(l.list[0].meaning, rows[i].says), "%s", l.list[0].meaning);
		cr_expect_eq(l.list[0].meaning[strlen(l.list[0].meaning) - 1], '.', "it is whole: %s", l.list[0].meaning);
	}
}
