/* An open-addressing hash set of indexes into an array of the caller's, for interning: the caller compares the candidates
 * with what it looks for. Grows; one thread. */
#ifndef DRDOTNET_INDEX_SET_H
#define DRDOTNET_INDEX_SET_H

#include <stddef.h>
#include <stdint.h>

#define INDEX_NONE UINT32_MAX

struct index_set { /* zeroed: empty */
	uint32_t *slots, *hashes;
	size_t cap, count;
};

void index_set_fini(struct index_set *s);
void index_set_clear(struct index_set *s); /* keeps the memory */
void index_set_add(struct index_set *s, uint32_t hash, uint32_t index);

/* The next index that was added with this hash; INDEX_NONE when there is no further one. Set *at = hash before the first call. */
uint32_t index_set_next(const struct index_set *s, uint32_t hash, size_t *at);

/* FNV-1a; start with INDEX_HASH_START: random for each process, as pods choose what is hashed and would choose what collides. */
#define INDEX_HASH_START index_hash_start()
uint32_t index_hash_start(void);
uint32_t index_hash(uint32_t h, const void *data, size_t len);
uint32_t index_hash_str(uint32_t h, const char *s); /* NULL and "" differ */

#endif
