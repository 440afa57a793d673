/* Whose captures stay when there are more new containers than captures: each namespace gets its share. Pure. */
#ifndef DRDOTNET_START_SHARE_H
#define DRDOTNET_START_SHARE_H

#include <stdbool.h>
#include <stddef.h>

struct start_held {
	const char *namespace;
	bool found; /* a .NET process is in it */
};

/* Which of the `count` captures, oldest first, makes room for a new container of this namespace: of the namespace that holds most, and more than one more than
 * this one, the oldest in which no .NET process was found, else its oldest. `count`: none does, the new one is left out. */
size_t start_share_victim(const struct start_held *held, size_t count, const char *namespace);

#endif
