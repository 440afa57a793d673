/* Messages that wait for one agent, as text: the oldest first, at most AGENT_HUB_MAILBOX_MAX. Exists only while something waits, for most
 * links are idle most of the time. Used by agent_hub.c only, under its lock. */
#ifndef DRDOTNET_HUB_MAILBOX_H
#define DRDOTNET_HUB_MAILBOX_H

#include <stdbool.h>

struct hub_mailbox;

/* Takes the text, or returns false when it is full: then the text is still the caller's. */
bool hub_mailbox_put(struct hub_mailbox **m, char *text);
char *hub_mailbox_take(struct hub_mailbox **m); /* free it; NULL: nothing waits */
void hub_mailbox_free(struct hub_mailbox *m);

#endif
