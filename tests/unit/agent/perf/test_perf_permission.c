#include "agent/perf/perf_permission.h"
#include "common/api/reason.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define PERFMON (UINT64_C(1) << 38)
#define SYS_ADMIN (UINT64_C(1) << 21)
#define SYS_PTRACE (UINT64_C(1) << 19)

static const struct {
	struct perf_permission p;
	int errnum;
	const char *says;
} rows[] = {
	{{2, true, true, SYS_PTRACE}, EPERM, "seccomp profile (RuntimeDefault allows it with CAP_PERFMON)"},
	{{2, true, true, SYS_PTRACE | PERFMON}, EPERM, "refused by the seccomp profile"},
	{{4, true, false, SYS_PTRACE}, EACCES, "kernel.perf_event_paranoid is 4 and CAP_PERFMON is missing"},
	{{3, true, false, 0}, EPERM, "kernel.perf_event_paranoid is 3"},
	{{2, true, false, 0}, EACCES, "CAP_PERFMON is missing, and so is the right to trace"},
	{{2, true, true, 0}, EACCES, "CAP_PERFMON is missing, and so is the right to trace"},
	{{2, true, false, PERFMON}, EACCES, "a security module"},
	{{2, true, false, SYS_ADMIN}, EPERM, "a security module"},
	{{0, false, false, 0}, ENOSYS, "this kernel or sandbox has no perf events"},
	{{0, false, false, 0}, EOPNOTSUPP, "this kernel or sandbox has no perf events"},
};

Test(perf_permission, names_what_forbids)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		cr_expect_eq(perf_permission_explain(&rows[i].p, rows[i].errnum, &e), -1);
		cr_expect_eq(e.kind, ERR_DENIED);
		cr_expect_eq(e.reason, REASON_PerfEventsForbidden);
		cr_expect(strstr(e.message, rows[i].says), "row %zu: %s", i, e.message);
	}
}

Test(perf_permission, knows_who_may_sample_all_processes)
{
	static const struct {
		struct perf_permission p;
		bool may;
	} whole[] = {
		{{2, true, false, PERFMON}, true},    {{4, true, false, SYS_ADMIN}, true}, {{0, true, false, 0}, true},
		{{-1, true, false, 0}, true},         {{1, true, false, 0}, false},        {{2, true, false, SYS_PTRACE}, false},
		{{0, false, false, SYS_PTRACE}, false},
	};
	for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
		cr_expect_eq(perf_permission_system_wide(&whole[i].p), whole[i].may, "row %zu", i);
}

Test(perf_permission, reads_this_process)
{
	struct perf_permission p;
	perf_permission_read("/proc", &p);
	cr_expect(p.paranoid_known);
	cr_expect_geq(p.paranoid, -1);
	perf_permission_read("/nonexistent", &p);
	cr_expect_not(p.paranoid_known);
	cr_expect_eq(p.caps, 0);
}
