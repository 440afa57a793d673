/* Criterion's tests without criterion's library: plain_criterion.c has the functions that its macros call, a main() of our own walks the
 * tests and calls plain_call() in a process for each. Parameterized tests and theories are not for it. */
#ifndef DRDOTNET_PLAIN_CRITERION_H
#define DRDOTNET_PLAIN_CRITERION_H

#include <criterion/criterion.h>

extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];

#define PLAIN_EACH_TEST(t) for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++)
#define PLAIN_SKIPPED 76 /* what the process of a test that is left out ends with */

/* Called with the words of an assertion that failed; by default they are a line of standard output. */
extern void (*plain_at_failure)(const char *file, unsigned line, const char *message);
/* Called with why a test is left out, before its process ends. */
extern void (*plain_at_skip)(const char *why);
/* Called where an assertion ends the test's process; by default it ends with 1. */
extern void (*plain_at_abort)(void);

/* The data of the test's suite; NULL: it has none. */
const struct criterion_test_extra_data *plain_suite_of(const struct criterion_test *t);
/* The test with what stands before and after it; returns how many of its assertions failed. */
int plain_call(const struct criterion_test *t);

#endif
