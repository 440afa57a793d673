/* Hashes of sites and of what happens there, of words and bytes. Any thread. */
#ifndef DRDOTNET_SITE_HASH_H
#define DRDOTNET_SITE_HASH_H

#include "common/proto/difference.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline WRAPS uint64_t site_hash_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static inline uint64_t site_hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint64_t word;

	hash = site_hash_word(hash, bytes);
	for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) {
		memcpy(&word, at, sizeof word);
		hash = site_hash_word(hash, word);
	}
	for (; bytes; bytes--)
		hash = site_hash_word(hash, *at++);
	return hash;
}

/* The hash as a key, never 0: tables take the upper bits. */
static inline WRAPS uint64_t site_hash_end(uint64_t hash)
{
	hash *= 0xd6e8feb86659fd93u;
	return hash ? hash : 1;
}

#endif
