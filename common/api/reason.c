#include "common/api/reason.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define REASON_DEFINE(name, remedy) const char REASON_##name[] = #name;
REASON_LIST(REASON_DEFINE)

struct reason_entry {
	const char *reason, *remedy;
};

#define REASON_ENTRY(name, remedy) {REASON_##name, remedy},
static const struct reason_entry entries[] = {REASON_LIST(REASON_ENTRY)};

static const struct reason_entry *find_reason(const char *text)
{
	for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
		if (strcmp(entries[i].reason, text) == 0)
			return &entries[i];
	}
	return NULL;
}

const char *reason_remedy(const char *reason)
{
	const struct reason_entry *entry = reason ? find_reason(reason) : NULL;
	return entry ? entry->remedy : NULL;
}

const char *reason_intern(const char *text)
{
	const struct reason_entry *entry = text ? find_reason(text) : NULL;
	return entry ? entry->reason : NULL;
}

/* The reasons that one may have to act on as the one who runs the installation, and those that are no failures. Others: of waits that go by what was asked
 * for, or by its target, as a deadline tells that has passed meanwhile. */
static const struct {
	const char *reason, *fault;
} faults[] = {
#define OURS(name) {REASON_##name, REASON_FAULT_INSTALLATION}
#define NONE(name) {REASON_##name, REASON_FAULT_NONE}
#define OTHER(name) {REASON_##name, REASON_FAULT_OTHER}
	NONE(Completed), NONE(PartiallySucceeded), NONE(Canceled),
	OURS(RevealNotEnforced), OURS(NodeWithoutAgent), OURS(AgentLost), OURS(AgentTooOld), OURS(DeadlineExceeded), OURS(HeapTooLargeForAgent),
	OURS(AttachFailed), OURS(PermissionDenied), OURS(PerfEventsForbidden), OURS(StoreNotFound), OURS(UploadFailed), OURS(DeliveryExpired),
	OURS(SpoolFull), OURS(SpoolUnusable), OURS(InternalError),
	OTHER(NoPodsMatched), OTHER(PodNotFound), OTHER(PodNotRunning), OTHER(PodNotReady),
#undef OURS
#undef NONE
#undef OTHER
};

/* NULL: it is in no list. */
static const char *listed_fault(const char *reason)
{
	for (size_t i = 0; reason && i < sizeof faults / sizeof *faults; i++) {
		if (strcmp(faults[i].reason, reason) == 0)
			return faults[i].fault;
	}
	return NULL;
}

const char *reason_fault(const char *reason, const char *waited_for)
{
	bool late = reason && strcmp(reason, REASON_DeadlineExceeded) == 0;
	const char *fault = late ? listed_fault(waited_for) : NULL;
	if (!fault)
		fault = listed_fault(reason);
	return fault ? fault : REASON_FAULT_OTHER;
}

const char *reason_of_err(const struct err *e)
{
	bool refused = e->kind == ERR_DENIED && (e->code == EPERM || e->code == EACCES);
	return e->reason ? e->reason : refused ? REASON_PermissionDenied : REASON_InternalError;
}

const char *reason_of_write_error(int errnum)
{
	switch (errnum) {
	case ENOSPC:
	case EDQUOT:
		return REASON_SpoolFull;
	case EROFS:
	case EIO:
	case ENOENT: /* its folder was removed */
	case ENOTDIR:
	case ESTALE:
	case EACCES:
	case EPERM:
		return REASON_SpoolUnusable;
	default:
		return NULL;
	}
}
