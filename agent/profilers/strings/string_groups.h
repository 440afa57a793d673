/* Equal strings as groups: an open-addressing table by digest and length, 24 bytes a group and 6 to 11 for its slot. Groups keep
 * their places, so that others may refer to them. Grows; one thread. */
#ifndef DRDOTNET_STRING_GROUPS_H
#define DRDOTNET_STRING_GROUPS_H

#include <stddef.h>
#include <stdint.h>

struct string_group {
	uint64_t digest;
	uint32_t chars;
	uint32_t count;
	uint32_t eighths; /* size of one string / 8 */
	uint32_t listed;  /* the caller's: 1 + index of its list, 0: not in it */
};

struct string_groups { /* zeroed: empty */
	struct string_group *items;
	size_t count, cap;
	uint32_t *slots; /* 1 + index */
	size_t slot_count;
};

void string_groups_fini(struct string_groups *g);

/* One more string; the index of its group. */
uint32_t string_groups_add(struct string_groups *g, uint64_t digest, uint32_t chars, uint64_t size_bytes);

static inline uint64_t string_group_size(const struct string_group *g)
{
	return (uint64_t)g->eighths * 8;
}

static inline uint64_t string_group_wasted(const struct string_group *g)
{
	return (uint64_t)(g->count - 1) * string_group_size(g);
}

#endif
