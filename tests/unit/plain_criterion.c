#include "tests/unit/plain_criterion.h"

#include <criterion/event.h>
#include <criterion/options.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern struct criterion_suite *__start_cr_sts[] __attribute__((weak)), *__stop_cr_sts[] __attribute__((weak));

struct criterion_options criterion_options;

static int failed_asserts;

static void say(const char *file, unsigned line, const char *message)
{
	printf("# %s:%u: %s\n", file, line, message);
	fflush(stdout);
}

static void say_skip(const char *why)
{
	printf("# left out: %s\n", why);
	fflush(stdout);
}

static _Noreturn void end(void)
{
	_exit(1);
}

void (*plain_at_failure)(const char *file, unsigned line, const char *message) = say;
void (*plain_at_skip)(const char *why) = say_skip;
void (*plain_at_abort)(void) = end;

void criterion_send_assert(struct criterion_assert_stats *stats)
{
	if (stats->passed)
		return;
	failed_asserts++;
	plain_at_failure(stats->file, stats->line, stats->message ? stats->message : "");
}

void criterion_abort_test(void)
{
	plain_at_abort();
	end();
}

void criterion_skip_test(const char *format, ...)
{
	char why[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof why, format, arguments);
	va_end(arguments);
	plain_at_skip(why);
	_exit(PLAIN_SKIPPED);
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

int cr_asprintf(char **out, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int n = vasprintf(out, format, arguments);
	va_end(arguments);
	return n;
}

void cr_asprintf_free(char *s)
{
	free(s);
}

/* What an assertion says that was given no words of its own; its expression follows the index. */
char *cr_translate_assert_msg(int index, ...)
{
	static const char *const formats[] = {
		[CRITERION_ASSERT_MSG_FAIL] = "The conditions for this assertion were not met.",
		[CRITERION_ASSERT_MSG_EXPR_FALSE] = "The expression %s is false.",
		[CRITERION_ASSERT_MSG_EXPR_AS_STRINGS_FALSE] = "The expression (as strings) %s is false.",
		[CRITERION_ASSERT_MSG_IS_NULL] = "%s is null.",
		[CRITERION_ASSERT_MSG_IS_NOT_NULL] = "%s is not null.",
		[CRITERION_ASSERT_MSG_IS_EMPTY] = "%s is empty.",
		[CRITERION_ASSERT_MSG_IS_NOT_EMPTY] = "%s is not empty.",
	};
	const char *format = (size_t)index < sizeof formats / sizeof *formats && formats[index] ? formats[index] : formats[CRITERION_ASSERT_MSG_FAIL];
	char *message;
	va_list arguments;

	va_start(arguments, index);
	int n = vasprintf(&message, format, arguments);
	va_end(arguments);
	return n < 0 ? NULL : message;
}

const struct criterion_test_extra_data *plain_suite_of(const struct criterion_test *t)
{
	for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++)
		if (*s && strcmp((*s)->name, t->category) == 0)
			return (*s)->data;
	return NULL;
}

int plain_call(const struct criterion_test *t)
{
	const struct criterion_test_extra_data *suite = plain_suite_of(t);
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
