#include "common/api/reason.h"

#include <criterion/criterion.h>
#include <errno.h>

Test(reason, of_an_error_is_its_own_or_says_what_was_refused)
{
	struct err e = ERR_INIT;
	err_set_reason(&e, ERR_DENIED, REASON_AttachFailed, "why");
	cr_expect_eq(reason_of_err(&e), REASON_AttachFailed);
	err_set_errno(&e, EPERM, "a call");
	cr_expect_eq(reason_of_err(&e), REASON_PermissionDenied);
	err_set_errno(&e, EACCES, "a file");
	cr_expect_eq(reason_of_err(&e), REASON_PermissionDenied);
	err_set_errno(&e, EROFS, "a file");
	cr_expect_eq(reason_of_err(&e), REASON_InternalError);
	err_set(&e, ERR_DENIED, 403, "a server");
	cr_expect_eq(reason_of_err(&e), REASON_InternalError);
	err_set_errno(&e, EINVAL, "a call");
	cr_expect_eq(reason_of_err(&e), REASON_InternalError);
}

Test(reason, whose_fault_a_passed_deadline_is_goes_by_what_was_waited_for)
{
	static const struct {
		const char *reason, *waited_for, *fault;
	} rows[] = {
		{"DeadlineExceeded", NULL, REASON_FAULT_INSTALLATION},
		{"DeadlineExceeded", "DeadlineExceeded", REASON_FAULT_INSTALLATION},
		{"DeadlineExceeded", "Queued", REASON_FAULT_INSTALLATION},
		{"DeadlineExceeded", "NodeWithoutAgent", REASON_FAULT_INSTALLATION},
		{"DeadlineExceeded", "AgentTooOld", REASON_FAULT_INSTALLATION},
		{"DeadlineExceeded", "PodNotFound", REASON_FAULT_OTHER},
		{"DeadlineExceeded", "NoPodsMatched", REASON_FAULT_OTHER},
		{"DeadlineExceeded", "PodNotRunning", REASON_FAULT_OTHER},
		{"DeadlineExceeded", "PodNotReady", REASON_FAULT_OTHER},
		{"UploadFailed", "PodNotFound", REASON_FAULT_INSTALLATION},
		{"Completed", "Completed", REASON_FAULT_NONE},
		{"PodGone", "PodGone", REASON_FAULT_OTHER},
		{"of a newer version", NULL, REASON_FAULT_OTHER},
		{NULL, NULL, REASON_FAULT_OTHER},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(reason_fault(rows[i].reason, rows[i].waited_for), rows[i].fault, "%s after %s", rows[i].reason, rows[i].waited_for);
}
