/* The payloads of the runtime's events about exceptions, and what is made of the message. The first byte chooses the version. */
#include "profiler/exceptions/exception_event.h"
#include "profiler/exceptions/message_shape.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct utf16_text *t, const uint8_t *data, size_t size)
{
	if (t->data < data || t->data + 2 * t->units + 2 > data + size)
		abort();
	for (size_t i = 0; i < t->units; i++)
		if (!t->data[2 * i] && !t->data[2 * i + 1])
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exception_thrown e;
	char shape[MESSAGE_SHAPE_BYTES];
	static int prepared;

	if (!prepared++)
		message_shape_prepare();
	if (size < 1)
		return 0;
	exception_catch_read(data + 1, size - 1);
	size_t len = message_shape_make(data + 1, (size - 1) / 2, shape);
	if (len > sizeof shape)
		abort();
	for (size_t i = 0; i < len; i++)
		if (shape[i] < ' ' || shape[i] > '~' || (shape[i] >= '0' && shape[i] <= '9'))
			abort();
	if (!exception_thrown_read(data[0], data + 1, size - 1, &e))
		return 0;
	check_text(&e.type, data, size);
	check_text(&e.message, data, size);
	message_shape_make(e.message.data, e.message.units, shape);
	return 0;
}
