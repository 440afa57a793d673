#include "tests/unit/plain_criterion.h"

#include <criterion/event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern struct criterion_suite *__start_cr_sts[] __attribute__((weak)), *__stop_cr_sts[] __attribute__((weak));

static int failed_asserts;

static _Noreturn void end(void)
{
	_exit(1);
}

void (*plain_at_abort)(void) = end;

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
	plain_at_abort();
	end();
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

static const struct criterion_test_extra_data *suite_of(const struct criterion_test *t)
{
	for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++)
		if (*s && strcmp((*s)->name, t->category) == 0)
			return (*s)->data;
	return NULL;
}

int plain_call(const struct criterion_test *t)
{
	const struct criterion_test_extra_data *suite = suite_of(t);
	if (suite && suite->init)
		suite->init();
	if (t->data->init)
		t->data->init();
	t->test();
	if (t->data->fini)
		t->data->fini();
	if (suite && suite->fini)
		suite->fini();
	return failed_asserts;
}
