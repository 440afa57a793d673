/* Criterion's tests without criterion's runner: plain_criterion.c takes the place of the functions that assertions call, a main() of our
 * own walks the tests and calls plain_call() in a process for each. Parameterized tests and theories are not for it. */
#ifndef DRDOTNET_PLAIN_CRITERION_H
#define DRDOTNET_PLAIN_CRITERION_H

#include <criterion/criterion.h>

extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];

#define PLAIN_EACH_TEST(t) for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++)

/* Called where an assertion ends the test's process; by default it ends with 1. */
extern void (*plain_at_abort)(void);

/* The test with what stands before and after it; returns how many of its assertions failed. */
int plain_call(const struct criterion_test *t);

#endif
