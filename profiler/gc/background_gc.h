/* Whether the runtime collects in the background just now. No interface tells: its callbacks come in the same order whether such a collection
 * has ended, or only the small one that it begins with. But its threads for it (".NET BGC") sleep when there is none, and are awake or
 * waiting for a collection in the foreground when there is one. So: who has slept from one look to the next, with no full collection that
 * began meanwhile and none in the foreground at the second look, has nothing to do. Without such a thread there is no such collection.
 * CLR callback (the attach) or own thread. */
#ifndef DRDOTNET_BACKGROUND_GC_H
#define DRDOTNET_BACKGROUND_GC_H

#include <stdbool.h>

#define BACKGROUND_GC_NAP_MS 25 /* longer than any of their waits for threads that are to stop */

/* The first look. false: one of them is awake, or nobody can tell. */
bool background_gc_note(void);
bool background_gc_any(void); /* threads noted */
/* The second one, of these threads; the application may stand. */
bool background_gc_slept(void);

#endif
