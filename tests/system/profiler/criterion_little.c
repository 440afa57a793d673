/* What assertions of criterion call in its library, for a machine that the library is not installed for (plain_main.c runs the tests). */
#include <criterion/criterion.h>
#include <criterion/options.h>
#include <stdio.h>
#include <stdlib.h>

struct criterion_options criterion_options;

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

char *cr_translate_assert_msg(int index, ...)
{
	char *message;

	return asprintf(&message, "assertion (kind %d)", index) < 0 ? NULL : message;
}
