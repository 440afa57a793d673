#include "common/base/err.h"

#include "common/api/reason.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

Test(err, errno_decides_the_kind)
{
	static const struct {
		int errnum;
		enum err_kind expected;
	} rows[] = {{ENOENT, ERR_NOT_FOUND}, {EACCES, ERR_DENIED}, {EPERM, ERR_DENIED}, {ESRCH, ERR_GONE},
		    {ETIMEDOUT, ERR_TIMEOUT}, {EAGAIN, ERR_RETRY}, {ECONNREFUSED, ERR_RETRY}, {EINVAL, ERR_INTERNAL}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		cr_expect_eq(err_set_errno(&e, rows[i].errnum, "cannot open %s", "x"), -1);
		cr_expect_eq(e.kind, rows[i].expected, "errno %d gave %s", rows[i].errnum, err_kind_name(e.kind));
		cr_expect_eq(e.code, rows[i].errnum);
		cr_expect(strncmp(e.message, "cannot open x: ", 15) == 0, "%s", e.message);
	}
}

Test(err, a_prefix_adds_identity_and_keeps_kind_and_reason)
{
	struct err e = ERR_INIT;
	err_set_reason(&e, ERR_INVALID, REASON_InvalidSpec, "expected a string");
	err_prefix(&e, "spec.%s", "profiler");
	cr_expect_str_eq(e.message, "spec.profiler: expected a string");
	cr_expect_eq(e.kind, ERR_INVALID);
	cr_expect_eq(e.reason, REASON_InvalidSpec);
	struct err unset = ERR_INIT;
	err_prefix(&unset, "nothing");
	cr_expect_str_eq(unset.message, "");
}

Test(err, a_long_message_is_cut_between_characters)
{
	char text[ERR_MESSAGE_SIZE * 2];
	for (size_t shift = 0; shift < 3; shift++) {
		memset(text, 'a', shift);
		for (size_t i = shift; i + 3 < sizeof text; i += 3)
			memcpy(text + i, "\xE2\x82\xAC", 4);
		struct err e = ERR_INIT;
		err_set(&e, ERR_INTERNAL, 0, "%s", text);
		size_t n = strlen(e.message);
		cr_expect_lt(n, ERR_MESSAGE_SIZE);
		cr_expect_eq((n - shift) % 3, 0, "shift %zu: torn at %zu", shift, n);
	}
}

Test(err, a_null_error_is_allowed)
{
	cr_expect_eq(err_set(NULL, ERR_GONE, 0, "x"), -1);
	cr_expect_eq(err_set_errno(NULL, ENOENT, "x"), -1);
	cr_expect_eq(err_prefix(NULL, "x"), -1);
}

Test(reason, each_has_a_remedy_and_unknown_ones_do_not)
{
	cr_expect_eq(reason_intern("ProcessExited"), REASON_ProcessExited);
	cr_expect_str_eq(REASON_ProcessExited, "ProcessExited");
	cr_expect_null(reason_intern("Nonsense"));
	cr_expect_null(reason_intern(NULL));
	cr_expect_null(reason_remedy(NULL));
#define EXPECT_REMEDY(name, remedy) cr_expect_gt(strlen(reason_remedy(REASON_##name)), 10, #name);
	REASON_LIST(EXPECT_REMEDY)
}
