#include "agent/attach/channel_collections.h"

#include "common/base/mem.h"

#include <stdlib.h>

int channel_collections_add(struct channel_collections *list, const struct channel_frame *f, struct err *e)
{
	struct channel_collection c;
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	while (wire_left(&r)) {
		if (!channel_get_collection(&r, &c))
			return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed collection");
		if (list->count >= CHANNEL_COLLECTIONS_MAX)
			return 0;
		GROW(list->items, list->count, list->cap);
		list->items[list->count++] = c;
	}
	return 0;
}

void channel_collections_fini(struct channel_collections *list)
{
	free(list->items);
	*list = (struct channel_collections){0};
}
