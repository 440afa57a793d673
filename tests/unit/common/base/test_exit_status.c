#include "common/base/exit_status.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <signal.h>

static void expect(struct exit_status s, const char *wanted)
{
	AUTO_BUF struct buf out;
	buf_init(&out, 64);
	exit_status_text(&s, &out);
	cr_expect_str_eq(buf_str(&out), wanted);
}

Test(exit_status, of_a_process_that_was_waited_for)
{
	expect(exit_status_of_wait(0), "exit code 0");
	expect(exit_status_of_wait(3 << 8), "exit code 3");
	expect(exit_status_of_wait(SIGABRT), "exit code 134 (SIGABRT)");
	expect(exit_status_of_wait(SIGSEGV | 0x80), "exit code 139 (SIGSEGV)"); /* with a core dump */
	expect(exit_status_of_wait(134 << 8), "exit code 134");                 /* it says so itself: no signal */
	expect(exit_status_of_wait(SIGUSR1), "exit code 138");
}

Test(exit_status, of_a_container)
{
	expect(exit_status_of_code(137, 0), "exit code 137 (SIGKILL)");
	expect(exit_status_of_code(255, 9), "exit code 255 (SIGKILL)");
	expect(exit_status_of_code(150, 0), "exit code 150"); /* a framework that is missing, and no SIGTTOU */
	expect(exit_status_of_code(128, 0), "exit code 128");
	expect(exit_status_of_code(-1, 0), "exit code -1");
	expect(exit_status_of_code(INT64_MIN + 128, 0), "exit code -9223372036854775680");
	expect((struct exit_status){0}, "");
}
