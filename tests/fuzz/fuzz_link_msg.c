/* A peer's message: whatever decodes can be written, decodes again, and is written the same way. */
#include "common/link/link_msg.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct link_msg m, again;
	struct err e = ERR_INIT;
	if (link_msg_decode((const char *)data, size, &m, &e) < 0) {
		if (e.kind != ERR_PROTOCOL || m.type != LINK_MSG_UNKNOWN)
			abort();
		return 0;
	}
	/* An order that is not understood has nothing to be written from. */
	char *text = m.type == LINK_MSG_UNKNOWN || (m.type == LINK_MSG_ORDER && m.u.order.spec_error[0]) ? NULL : link_msg_encode(&m, &e);
	if (text) {
		if (link_msg_decode(text, strlen(text), &again, &e) < 0)
			abort();
		char *twice = link_msg_encode(&again, &e);
		if (!twice || strcmp(text, twice) != 0)
			abort();
		free(twice);
		free(text);
		link_msg_fini(&again);
	}
	link_msg_fini(&m);
	return 0;
}
