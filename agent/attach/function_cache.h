/* The functions that a profiler library has described, by id. One thread. What comes in is hostile: bounded in number and
 * bytes; past the bounds a function stays unknown and is counted. */
#ifndef DRDOTNET_FUNCTION_CACHE_H
#define DRDOTNET_FUNCTION_CACHE_H

#include "agent/attach/profiler_channel.h"
#include "common/proto/channel.h"

#include <stddef.h>

#define FUNCTION_CACHE_MAX_COUNT 32768
#define FUNCTION_CACHE_MAX_BYTES (12u << 20)

struct function_cache;

struct function_cache *function_cache_new(void);
void function_cache_free(struct function_cache *c);
/* Copies it. An id that is known keeps its strings, unless it is a dynamic method with another start: then the id means the
 * new one from now on and the old one stays valid for who holds it. */
void function_cache_add(struct function_cache *c, const struct channel_function *f);
const struct resolved_function *function_cache_find(const struct function_cache *c, uint64_t id); /* NULL: unknown */
uint64_t function_cache_dropped(const struct function_cache *c);

#endif
