/* A plain runner for criterion tests, for ThreadSanitizer: criterion's own puts each test into a sandbox at fixed
 * addresses, which ThreadSanitizer cannot bear. Each test is a forked child; the lines are TAP like criterion's. The
 * functions here take the place of criterion's of the same names. Parameterized tests and theories are not for it. */
#include <criterion/criterion.h>
#include <criterion/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];

static int failed_asserts;

void criterion_send_assert(struct criterion_assert_stats *stats)
{
	if (stats->passed)
		return;
	failed_asserts++;
	printf("# %s:%u: %s\n", stats->file, stats->line, stats->message ? stats->message : "");
	fflush(stdout);
}

void criterion_abort_test(void)
{
	_exit(1);
}

void criterion_continue_test(void)
{
}

void cri_asserts_passed_incr(void)
{
}

void criterion_internal_test_setup(void)
{
}

void criterion_internal_test_teardown(void)
{
}

void criterion_internal_test_main(void (*function)(void))
{
	function();
}

/* In the child: the exit code goes through exit(), so that the sanitizer can report what it found. */
static void run(const struct criterion_test *t)
{
	if (t->data->init)
		t->data->init();
	t->test();
	if (t->data->fini)
		t->data->fini();
	exit(failed_asserts ? 1 : 0);
}

int main(void)
{
	int failed_tests = 0;
	for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++) {
		fflush(stdout);
		pid_t pid = fork();
		if (pid == 0)
			run(*t);
		int status = 0;
		waitpid(pid, &status, 0);
		failed_tests += status != 0;
		printf("%sok - %s::%s\n", status ? "not " : "", (*t)->category, (*t)->name);
	}
	return failed_tests ? 1 : 0;
}
