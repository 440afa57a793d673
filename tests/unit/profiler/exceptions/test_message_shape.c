#include "profiler/exceptions/message_shape.h"

#include <criterion/criterion.h>
#include <string.h>

/* Latin-1 is enough to write messages with; what is beyond goes as units. */
static const char *shape_of(const char *message)
{
	static char shape[MESSAGE_SHAPE_BYTES + 1];
	uint8_t units[4096];
	size_t n = strlen(message);

	message_shape_prepare();
	for (size_t i = 0; i < n; i++) {
		units[2 * i] = (uint8_t)message[i];
		units[2 * i + 1] = 0;
	}
	shape[message_shape_make(units, n, shape)] = '\0';
	return shape;
}

static const struct {
	const char *message, *shape;
} rows[] = {
	{"", ""},
	{"Order 4711 of customer 'c-17' was not found", "Order # of customer * was not found"},
	{"Order 1 of customer 'another' was not found.", "Order # of customer * was not found"},
	{"Input string was not in a correct format.", "Input string was not in a correct format"},
	{"Object reference not set to an instance of an object.", "Object reference not set to an instance of an object"},
	{"The operation has timed out.", "The operation has timed out"},
	{"session 3f2504e0-4f89-11d3-9a0c-0305e82c3301 expired", "session # expired"},
	{"host db-7.internal:5432 refused", "host * refused"},
	{"user jane@example.org denied", "user * denied"},
	{"password=hunter", "*"},
	{"hunter", "*"},
	{"the hunter hunter hunter file", "the * file"},
	{"file /srv/jane/a.txt is missing", "file * is missing"},
	{"a 'quoted part without an end and more", "a *"},
	{"\"a\" and \"b\"", "* and *"},
	{"don't", "*"},
	{"  line\nbreak\tand\x01 more ", "* and more"},
	{"\xe9\xe8 not found", "* not found"},
	{"...!?,", ""},
	{"12 34 abc", "*"},
	{"invalid (12) [x]", "invalid *"},
};

Test(message_shape, only_known_words_stay)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(shape_of(rows[i].message), rows[i].shape, "%s: %s", rows[i].message, shape_of(rows[i].message));
}

Test(message_shape, long_messages_are_cut_between_words)
{
	char message[4000] = "";

	for (int i = 0; i < 300; i++)
		strcat(message, i % 2 ? "not " : "found ");
	const char *shape = shape_of(message);
	cr_expect_leq(strlen(shape), MESSAGE_SHAPE_BYTES);
	cr_expect_geq(strlen(shape), MESSAGE_SHAPE_BYTES - 8);
	cr_expect_str_eq(shape + strlen(shape) - 3, strrchr(shape, ' ')[1] == 'n' ? "not" : "und");
}

/* Words as long as memory is known for, and lone halves of surrogates. */
Test(message_shape, anything_that_is_no_text_is_masked)
{
	uint8_t units[2 * 600];
	char shape[MESSAGE_SHAPE_BYTES];

	message_shape_prepare();
	memset(units, 0xd8, sizeof units);
	cr_expect_eq(message_shape_make(units, 600, shape), 1);
	cr_expect_eq(shape[0], '*');
	memset(units, 0, sizeof units);
	cr_expect_eq(message_shape_make(units, 600, shape), 0);
}
