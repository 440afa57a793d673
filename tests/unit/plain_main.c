/* A plain runner for criterion tests, for ThreadSanitizer: criterion's own puts each test into a sandbox at fixed
 * addresses, which ThreadSanitizer cannot bear. Each test is a forked child; the lines are TAP like criterion's. */
#include "tests/unit/plain_criterion.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int failed_tests = 0;
	PLAIN_EACH_TEST(t) {
		fflush(stdout);
		pid_t pid = fork();
		if (pid == 0)
			exit(plain_call(*t) ? 1 : 0); /* through exit(), so that the sanitizer can report what it found */
		int status = 0;
		waitpid(pid, &status, 0);
		failed_tests += status != 0;
		printf("%sok - %s::%s\n", status ? "not " : "", (*t)->category, (*t)->name);
	}
	return failed_tests ? 1 : 0;
}
