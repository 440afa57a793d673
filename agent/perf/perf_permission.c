#include "agent/perf/perf_permission.h"

#include "common/api/reason.h"
#include "common/base/fsio.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAP_BIT(cap) (UINT64_C(1) << (cap))
#define CAP_PERFMON_NUMBER 38 /* Linux 5.8; older headers lack CAP_PERFMON */

static uint64_t field(const char *status, const char *name, int base)
{
	const char *at = strstr(status, name);
	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

void perf_permission_read(const char *proc_root, struct perf_permission *out)
{
	char path[128], text[4096];
	*out = (struct perf_permission){.paranoid = 0};
	snprintf(path, sizeof path, "%s/sys/kernel/perf_event_paranoid", proc_root);
	if (fsio_read_small(AT_FDCWD, path, text, sizeof text) > 0) {
		out->paranoid = atoi(text);
		out->paranoid_known = true;
	}
	snprintf(path, sizeof path, "%s/self/status", proc_root);
	if (fsio_read_small(AT_FDCWD, path, text, sizeof text) > 0) {
		out->caps = field(text, "\nCapEff:", 16);
		out->seccomp_filter = field(text, "\nSeccomp:", 10) == 2;
	}
}

static bool may_perfmon(const struct perf_permission *p)
{
	return p->caps & (CAP_BIT(CAP_PERFMON_NUMBER) | CAP_BIT(CAP_SYS_ADMIN));
}

bool perf_permission_system_wide(const struct perf_permission *p)
{
	return may_perfmon(p) || (p->paranoid_known && p->paranoid <= 0);
}

int perf_permission_explain(const struct perf_permission *p, int errnum, struct err *e)
{
	const char *name = REASON_PerfEventsForbidden;
	if (errnum == ENOSYS || errnum == EOPNOTSUPP || errnum == ENOENT)
		return err_set_reason(e, ERR_DENIED, name, "perf_event_open: this kernel or sandbox has no perf events (%s)", strerror(errnum));
	/* The kernel's own checks answer EACCES (and EPERM only in its security modules); a seccomp profile answers EPERM. */
	if (errnum == EPERM && p->seccomp_filter && !may_perfmon(p))
		return err_set_reason(e, ERR_DENIED, name,
				      "perf_event_open: refused by the seccomp profile (RuntimeDefault allows it with CAP_PERFMON)");
	if (errnum == EPERM && p->seccomp_filter)
		return err_set_reason(e, ERR_DENIED, name, "perf_event_open: refused by the seccomp profile");
	if (p->paranoid_known && p->paranoid >= 3 && !may_perfmon(p))
		return err_set_reason(e, ERR_DENIED, name,
				      "perf_event_open: kernel.perf_event_paranoid is %d and CAP_PERFMON is missing", p->paranoid);
	if ((errnum == EACCES || errnum == EPERM) && !may_perfmon(p))
		return err_set_reason(e, ERR_DENIED, name,
				      "perf_event_open: CAP_PERFMON is missing, and so is the right to trace this process (CAP_SYS_PTRACE or its uid)");
	return err_set_reason(e, ERR_DENIED, name, "perf_event_open: refused by a security module (%s)", strerror(errnum));
}
