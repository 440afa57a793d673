#include "profiler/requests/answers.h"

#include <criterion/criterion.h>
#include <string.h>

static struct event_text text_of(const char *ascii)
{
	static uint8_t units[2][64];
	static unsigned turn;
	uint8_t *to = units[turn++ % 2];
	for (size_t i = 0; i < strlen(ascii); i++) {
		to[2 * i] = (uint8_t)ascii[i];
		to[2 * i + 1] = 0;
	}
	return (struct event_text){to, strlen(ascii)};
}

Test(answers, an_address_is_a_number_of_the_session)
{
	struct event_text a = text_of("10.1.2.3"), b = text_of("10.1.2.4");
	cr_expect_eq(answers_number_of(&a, 42), answers_number_of(&a, 42));
	cr_expect_neq(answers_number_of(&a, 42), answers_number_of(&b, 42));
	cr_expect_neq(answers_number_of(&a, 42), answers_number_of(&a, 43), "another session's number");
}
