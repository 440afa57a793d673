#include "agent/target/target.h"
#include "common/api/reason.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <string.h>

struct seen {
	int inner_pid;
	const char *container, *entrypoint;
	const char *reason; /* NULL: profilable */
	enum agent_mode mode;
};

#define A "aaaa"
#define B "bbbb"

static const struct row {
	const char *what;
	struct seen list[4];
	const char *container, *entrypoint;
	int pid;
	int chosen;         /* -1: refused */
	const char *reason; /* of the refusal */
	enum err_kind kind;
	const char *word;
} rows[] = {
	{"none", {{0}}, NULL, NULL, 0, -1, "NoDotnetProcess", ERR_NOT_FOUND, "no .NET process"},
	{"the only one", {{1, A, "Shop", NULL, 0}}, NULL, NULL, 0, 0, NULL, 0, NULL},
	{"by container", {{1, A, "Shop", NULL, 0}, {1, B, "Cart", NULL, 0}}, B, NULL, 0, 1, NULL, 0, NULL},
	{"by entry point", {{1, A, "Shop", NULL, 0}, {7, A, "Cart", NULL, 0}}, NULL, "Cart", 0, 1, NULL, 0, NULL},
	{"by entry point with .dll", {{1, A, "Shop", NULL, 0}, {7, A, "Cart", NULL, 0}}, NULL, "Shop.dll", 0, 0, NULL, 0, NULL},
	{"entry points are case-sensitive", {{1, A, "Shop", NULL, 0}}, NULL, "shop", 0, -1, "ProcessNotFound", ERR_NOT_FOUND, "none of the 1"},
	{"entry points are whole words", {{1, A, "Shop", NULL, 0}}, NULL, "Sho", 0, -1, "ProcessNotFound", ERR_NOT_FOUND, "none"},
	{"by pid", {{1, A, "Shop", NULL, 0}, {7, A, "Shop", NULL, 0}}, NULL, NULL, 7, 1, NULL, 0, NULL},
	{"two pids 1, by container", {{1, A, "Shop", NULL, 0}, {1, B, "Shop", NULL, 0}}, A, NULL, 1, 0, NULL, 0, NULL},
	{"ambiguous", {{1, A, "Shop", NULL, 0}, {7, A, "Cart", NULL, 0}}, NULL, NULL, 0, -1, "AmbiguousProcess", ERR_INVALID, "Shop (pid 1, container aaaa), Cart (pid 7"},
	{"ambiguous beside a stopped one", {{1, A, "Shop", NULL, 0}, {7, A, "Cart", "ProcessStopped", 0}}, NULL, NULL, 0, -1, "AmbiguousProcess", ERR_INVALID, "2 .NET processes"},
	{"what never can be profiled does not make it ambiguous", {{1, A, NULL, "NativeAOT", 0}, {7, B, "Cart", NULL, 0}}, NULL, NULL, 0, 1, NULL, 0, NULL},
	{"its own reason", {{1, A, "Shop", "NotEnoughMemory", 0}}, NULL, NULL, 0, -1, "NotEnoughMemory", ERR_INVALID, "Shop (pid 1, container aaaa): because"},
	{"denied", {{1, A, NULL, "PermissionDenied", 0}}, NULL, NULL, 0, -1, "PermissionDenied", ERR_DENIED, ".NET process (pid 1, container aaaa): because"},
	{"all never: the first one's reason", {{1, A, NULL, "PermissionDenied", 0}, {2, A, NULL, "PermissionDenied", 0}}, NULL, NULL, 0, -1, "PermissionDenied", ERR_DENIED, "because"},
	{"no such container", {{1, A, "Shop", NULL, 0}}, B, NULL, 0, -1, "ProcessNotFound", ERR_NOT_FOUND, "none"},
	{"not in a container", {{1, NULL, "Shop", NULL, 0}}, B, NULL, 0, -1, "ProcessNotFound", ERR_NOT_FOUND, "none"},
	{"shared tmp: container ids are not known", {{1, NULL, "Shop", NULL, AGENT_MODE_SHARED_TMP}}, B, NULL, 0, 0, NULL, 0, NULL},
	{"the one that could not tell its entry point", {{1, A, "Shop", NULL, 0}, {2, A, NULL, "ProcessStopped", 0}}, NULL, "Cart", 0, -1, "ProcessStopped", ERR_INVALID, "because"},
	{"several that could not tell", {{1, A, NULL, "ProcessStopped", 0}, {2, A, NULL, "ProcessStopped", 0}}, NULL, "Cart", 0, -1, "ProcessNotFound", ERR_NOT_FOUND, "none of the 2"},
	{"terminal sequences do not reach the message", {{1, A, "\x1b[31m", NULL, 0}, {2, A, "b", NULL, 0}}, NULL, NULL, 0, -1, "AmbiguousProcess", ERR_INVALID, "\\x1b[31m (pid 1"},
};

static void fill(struct target_list *l, const struct row *r)
{
	memset(l, 0, sizeof *l);
	for (size_t i = 0; i < 4 && r->list[i].inner_pid; i++) {
		const struct seen *s = &r->list[i];
		struct target t = {.mode = s->mode, .inner_pid = s->inner_pid, .profilable = !s->reason};
		t.container_id = mem_strdup(s->container);
		t.entrypoint = mem_strdup(s->entrypoint);
		t.reason = reason_intern(s->reason);
		t.message = s->reason ? mem_strdup("because") : NULL;
		target_list_add_take(l, &t);
	}
}

Test(target, chooses_the_process_that_is_meant)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct row *r = &rows[i];
		struct target_list l;
		struct err e = ERR_INIT;
		fill(&l, r);
		ssize_t got = target_choose(&l, r->container, r->entrypoint, r->pid, &e);
		cr_expect_eq(got, r->chosen, "%s: %zd %s", r->what, got, e.message);
		if (r->chosen < 0) {
			cr_assert_not_null(e.reason, "%s", r->what);
			cr_expect_str_eq(e.reason, r->reason, "%s: %s", r->what, e.reason);
			cr_expect_eq(e.kind, r->kind, "%s: %s", r->what, err_kind_name(e.kind));
			cr_expect(strstr(e.message, r->word), "%s: '%s' lacks '%s'", r->what, e.message, r->word);
		}
		target_list_fini(&l);
	}
}

Test(target, lists_many_without_running_over)
{
	struct target_list l = {0};
	for (int i = 0; i < 100; i++) {
		struct target t = {.inner_pid = i + 1, .profilable = true, .entrypoint = mem_printf("Application.Number%d", i)};
		target_list_add_take(&l, &t);
	}
	struct err e = ERR_INIT;
	cr_expect_eq(target_choose(&l, NULL, NULL, 0, &e), -1);
	cr_expect(strstr(e.message, "100 .NET processes match"));
	cr_expect(strstr(e.message, ", ..."));
	target_list_fini(&l);
	target_list_fini(&l);
	target_list_fini(NULL);
}

Test(target, copies_are_independent)
{
	struct target t = {.inner_pid = 3, .entrypoint = mem_strdup("Shop"), .proc_dir = mem_strdup("/proc/3"), .message = mem_strdup("m")};
	struct target copy;
	target_copy(&copy, &t);
	cr_expect_str_eq(copy.entrypoint, "Shop");
	cr_expect_neq(copy.entrypoint, t.entrypoint);
	cr_expect_null(copy.rid);
	target_fini(&t);
	cr_expect_str_eq(copy.proc_dir, "/proc/3");
	cr_expect_str_eq(copy.message, "m");
	cr_expect_eq(copy.inner_pid, 3);
	target_fini(&copy);
	target_fini(&copy);
	target_fini(NULL);
}

Test(target, admits_for_who_needs_no_library_what_only_that_cannot_enter)
{
	struct target_list l = {0};
	struct target t = {.mode = AGENT_MODE_HOST_PID, .inner_pid = 1, .reason = REASON_DiagnosticsDisabled};
	struct err e = ERR_INIT;
	target_list_add_take(&l, &t);
	cr_assert_eq(target_choose(&l, NULL, NULL, 0, &e), -1);
	cr_assert(target_list_admit(&l, e.reason, TARGET_WITHOUT_LIBRARY));
	cr_assert_eq(target_choose(&l, NULL, NULL, 0, NULL), 0);
	cr_assert_str_eq(l.items[0].reason, "DiagnosticsDisabled", "it is still said");
	t = (struct target){.mode = AGENT_MODE_HOST_PID, .inner_pid = 2, .reason = REASON_NativeAOT};
	target_list_add_take(&l, &t);
	cr_assert_not(target_list_admit(&l, REASON_NativeAOT, TARGET_WITHOUT_LIBRARY));
	cr_assert_not(target_list_admit(&l, NULL, TARGET_WITHOUT_LIBRARY));
	t = (struct target){.mode = AGENT_MODE_SHARED_TMP, .inner_pid = 3, .reason = REASON_AttachFailed};
	target_list_add_take(&l, &t);
	cr_assert_not(target_list_admit(&l, REASON_AttachFailed, TARGET_WITHOUT_LIBRARY), "nothing can be seen from outside there");
	cr_assert(target_list_admit(&l, REASON_NativeAOT, TARGET_WITHOUT_RUNTIME));
	cr_assert(l.items[1].profilable);
	cr_assert_not(target_list_admit(&l, REASON_DiagnosticsDisabled, TARGET_WITHOUT_RUNTIME), "a library would be let in there, if it were allowed");
	target_list_fini(&l);
}
