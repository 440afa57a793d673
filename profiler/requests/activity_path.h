/* The activity ids that the runtime gives to nested starts and stops: a path of small numbers in the first 12 bytes, so that the id of what a request began
 * starts with the request's own. A number up to 10 is one half of a byte, high half first; a larger one has its length (0xc: 1 byte ... 0xf: 4) there and
 * then its bytes, from the next whole byte on; 0xb stands before a number where the path was too long, and 0 ends it. The last four bytes are a checksum.
 * Source: the form that System.Diagnostics.Tracing.ActivityTracker documents. Pure; any context. */
#ifndef DRDOTNET_ACTIVITY_PATH_H
#define DRDOTNET_ACTIVITY_PATH_H

#include <stdbool.h>
#include <stdint.h>

#define ACTIVITY_PATH_BYTES 12
#define ACTIVITY_ID_BYTES 16

struct activity_path {
	uint64_t high; /* the first 8 bytes; 0: no activity */
	uint32_t low;
};

/* Of the 16 bytes of an activity id; NULL: none. */
struct activity_path activity_path_of(const uint8_t *id);
/* Cuts the last number off. false: there is nothing above it. */
bool activity_path_parent(struct activity_path *p);

#endif
