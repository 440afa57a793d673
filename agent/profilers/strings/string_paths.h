/* Who holds the arrays and collections that hold strings: from those that hold copies outwards, as long as the holder is itself an
 * array or one of the runtime's collections, up to a static field or an object of the application. Heaviest way only. One thread. */
#ifndef DRDOTNET_STRING_PATHS_H
#define DRDOTNET_STRING_PATHS_H

#include "agent/profilers/strings/string_holders.h"

struct string_paths;

struct string_paths *string_paths_new(const struct heap_snapshot *s);
void string_paths_free(struct string_paths *p);

/* Whether objects of this type are looked through. */
bool string_paths_through(const struct heap_type *t);

/* An object holds copies of this weight in the slots of `holder`. Not counted beyond a bound. */
void string_paths_add(struct string_paths *p, uint32_t holder, uint64_t object, uint64_t wasted_bytes);

/* Reads the snapshot once for each step outwards, and sets held_by of the holders: "static Shop.Library.Names ->
 * Dictionary<string, string>._entries". */
void string_paths_find(struct string_paths *p, struct string_holder *holders, size_t count);

#endif
