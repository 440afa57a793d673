/* Samples whose stacks pass through code that is not known yet: they wait, with the copies of their stacks, until the library has been asked.
 * Bounded. The copies are secret: see agent/perf/secret_memory.h. One thread. */
#ifndef DRDOTNET_PENDING_SAMPLES_H
#define DRDOTNET_PENDING_SAMPLES_H

#include "agent/perf/perf_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PENDING_MAX_BYTES (8u << 20)
#define PENDING_MAX_SAMPLES 8192

struct pending_samples { /* zeroed: empty */
	uint8_t *bytes; /* what the samples below point into */
	size_t used;
	struct perf_sample *samples;
	size_t count, cap;
};

void pending_samples_fini(struct pending_samples *p);
/* Copies it. false: no room. */
bool pending_samples_add(struct pending_samples *p, const struct perf_sample *s);
/* Forgets them all; what was copied is overwritten. */
void pending_samples_clear(struct pending_samples *p);
bool pending_samples_half_full(const struct pending_samples *p);

#endif
