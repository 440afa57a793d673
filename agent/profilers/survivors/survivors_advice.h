/* What to do about a holder, by how it holds: event handlers, timers, caches, handles and the like. Pure; any thread. */
#ifndef DRDOTNET_SURVIVORS_ADVICE_H
#define DRDOTNET_SURVIVORS_ADVICE_H

#include "agent/heap/heap_paths.h"
#include "agent/profilers/survivors/survivors_tree.h"

/* One sentence without its full stop; NULL: nothing to say. `p` may be NULL: only the root's kind is known. */
const char *survivors_advice(const struct heap_snapshot *s, enum survivors_kind kind, const struct heap_path *p);
/* About an object of the application that roots hold by types of .NET: `p` begins at it; may be NULL. */
const char *survivors_advice_kept(const struct heap_snapshot *s, const struct heap_path *p);
/* Against a disease that a rule has found, by its id; NULL: how it is held tells more. */
const char *survivors_advice_disease(const char *id);
/* Where roots were not read. */
const char *survivors_advice_unread(const struct heap_facts *f);

#endif
