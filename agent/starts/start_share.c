#include "agent/starts/start_share.h"

#include <string.h>

static size_t count_of(const struct start_held *held, size_t count, const char *namespace)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++)
		n += strcmp(held[i].namespace, namespace) == 0;
	return n;
}

size_t start_share_victim(const struct start_held *held, size_t count, const char *namespace)
{
	const char *largest = namespace;
	size_t own = count_of(held, count, namespace), most = own, victim = count;
	for (size_t i = 0; i < count; i++) {
		size_t n = count_of(held, count, held[i].namespace);
		if (n > most) {
			most = n;
			largest = held[i].namespace;
		}
	}
	if (most <= own + 1)
		return count;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(held[i].namespace, largest) == 0 && (victim == count || (held[victim].found && !held[i].found)))
			victim = i;
	}
	return victim;
}
