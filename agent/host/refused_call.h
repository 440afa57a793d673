/* A system call of the agent that failed: one that a sandbox refuses is named, with what allows it. */
#ifndef DRDOTNET_REFUSED_CALL_H
#define DRDOTNET_REFUSED_CALL_H

#include "common/base/err.h"

/* Sets *e for the errno with which `call` failed while it was to do `what`. EPERM is a seccomp profile's or a security module's answer, where the call needs
 * no right: ERR_DENIED, REASON_PermissionDenied. Returns -1. */
int refused_call(struct err *e, int errnum, const char *call, const char *what);

#endif
