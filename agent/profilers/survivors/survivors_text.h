/* Words that the texts about a heap share. All append. Pure; any thread. */
#ifndef DRDOTNET_SURVIVORS_TEXT_H
#define DRDOTNET_SURVIVORS_TEXT_H

#include "agent/profilers/survivors/survivors.h"
#include "common/base/buf.h"


/* "412 MB (78%)" of all objects' bytes */
void survivors_text_share(struct buf *out, const struct survivors *s, uint64_t bytes);

/* A holder's name in at most max_chars characters: leading namespaces go first, the word before them stays ("static …Cache._items"). */
void survivors_text_holder(struct buf *out, const char *name, size_t max_chars);

/* "Order x 1,000,000", without namespaces, in at most max_chars characters. */
void survivors_text_times(struct buf *out, const char *short_name, uint64_t count, size_t max_chars);
void survivors_text_objects(struct buf *out, const struct heap_snapshot *s, uint32_t type, uint64_t count, size_t max_chars);

/* What hangs below the root: "Dictionary<int, Order>._entries -> Entry[].value -> Order x 1,000,000". Steps in the middle are left out
 * where it is longer than max_chars. */
void survivors_text_steps(struct buf *out, const struct heap_snapshot *s, const struct heap_path *p, size_t max_chars);

/* The root's name, or what it is without one: heap_facts_unheld(). */
const char *survivors_text_root(const struct heap_snapshot *s, const struct heap_path *p);
enum survivors_kind survivors_text_path_kind(const struct heap_path *p);

/* The strongest path that begins at a holder; NULL: none was found. */
const struct heap_path *survivors_text_path_of(const struct survivors *s, const struct survivors_holder *h);

#endif
