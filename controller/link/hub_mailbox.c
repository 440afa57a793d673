#include "controller/link/hub_mailbox.h"

#include "common/base/mem.h"
#include "controller/link/agent_hub_private.h"

#include <stdlib.h>

struct hub_mailbox {
	char *items[AGENT_HUB_MAILBOX_MAX];
	size_t head, count;
};

bool hub_mailbox_put(struct hub_mailbox **m, char *text)
{
	if (!*m)
		*m = mem_alloc(sizeof **m);
	if ((*m)->count == AGENT_HUB_MAILBOX_MAX)
		return false;
	(*m)->items[((*m)->head + (*m)->count++) % AGENT_HUB_MAILBOX_MAX] = text;
	return true;
}

char *hub_mailbox_take(struct hub_mailbox **m)
{
	if (!*m)
		return NULL;
	char *text = (*m)->items[(*m)->head];
	(*m)->head = ((*m)->head + 1) % AGENT_HUB_MAILBOX_MAX;
	if (--(*m)->count == 0) {
		free(*m);
		*m = NULL;
	}
	return text;
}

void hub_mailbox_free(struct hub_mailbox *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++)
		free(m->items[(m->head + i) % AGENT_HUB_MAILBOX_MAX]);
	free(m);
}
