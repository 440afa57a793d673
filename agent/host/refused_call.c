#include "agent/host/refused_call.h"

#include "common/api/reason.h"

#include <errno.h>

int refused_call(struct err *e, int errnum, const char *call, const char *what)
{
	if (errnum == EPERM)
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied,
				      "%s (%s): the agent's seccomp profile, or a security module, refuses this system call; allow it there", call, what);
	return err_set_errno(e, errnum, "%s (%s)", call, what);
}
