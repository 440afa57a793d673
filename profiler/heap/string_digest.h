/* What the heap walk says of a string instead of its contents: a keyed 64-bit digest of the UTF-16 code units and what kinds of
 * characters it has. Own thread, while the application is stopped; no memory, no libc but the clock.
 *
 * Equal contents give equal digests within a session; different contents of one length collide with probability 2^-64 each pair
 * (10 million different strings: below 3 in a million that any two do). The key is random for each session, so an application
 * cannot choose strings that collide, and digests of two sessions tell nothing about each other. It is not a cryptographic hash:
 * digests stay between the library and the agent, and no report shows one.
 *
 * The function: products of 64 by 64 bits, the halves of the 128 bits XORed (as in wyhash), over four lanes of 16 bytes; memory's
 * own speed from about 100 characters on. */
#ifndef DRDOTNET_PROFILER_STRING_DIGEST_H
#define DRDOTNET_PROFILER_STRING_DIGEST_H

#include "common/proto/string_class.h"

#include <stdbool.h>
#include <stdint.h>

#define STRING_DIGEST_SEED_BYTES 16
struct string_digest_key {
	uint64_t word[8];
};

struct string_digest {
	uint64_t hash;
	uint8_t classes; /* enum string_class; 0: empty */
};

/* From the session's random bytes. */
void string_digest_key_make(struct string_digest_key *out, const uint8_t seed[STRING_DIGEST_SEED_BYTES]);

/* Of `count` code units at `units` (aligned to 2). Reads exactly those. Looks at the clock (CLOCK_MONOTONIC) each 4 MiB, less
 * than a millisecond: false when `deadline_ns` has passed before all was read, which only happens within very long strings; *out
 * is untouched then. */
bool string_digest_make(const struct string_digest_key *key, const uint16_t *units, uint32_t count, uint64_t deadline_ns,
			struct string_digest *out);

#endif
