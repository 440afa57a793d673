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
