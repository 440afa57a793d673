/* What the rules judge a heap by (survivors_rules.h): bytes are those of objects as they lie on the heap; what "holds" is what would be free
 * if it let go. Pure; any thread. */
#ifndef DRDOTNET_SURVIVORS_NUMBERS_H
#define DRDOTNET_SURVIVORS_NUMBERS_H

#include "agent/profilers/survivors/survivors.h"
#include "agent/report/rules.h"

/* holders_known: 0 where objects were only counted by type: then what holds and retains is not measured, and what a disease's objects "hold" are
 * their own bytes. unread_bytes: held by no root, where not all roots were read. *_of, *_of_objects: what is mainly held, and how many of it;
 * "", unknown: no one type. */
#define SURVIVORS_NUMBERS(NUMBER, TEXT)                                                                                   \
	NUMBER(objects) NUMBER(heap_bytes) NUMBER(holders_known) NUMBER(seen_percent) NUMBER(unread_bytes)                 \
	TEXT(holder) NUMBER(holder_objects) NUMBER(holder_bytes) TEXT(holder_of) NUMBER(holder_of_objects)                 \
	NUMBER(shared_bytes) TEXT(shared_of) NUMBER(shared_of_objects)                                                     \
	NUMBER(unheld_bytes) TEXT(unheld_words) TEXT(unheld_of) NUMBER(unheld_of_objects)                                  \
	TEXT(type) NUMBER(type_objects) NUMBER(type_bytes)                                                                 \
	NUMBER(free_bytes) NUMBER(largest_free_bytes) TEXT(free_generation) NUMBER(pinned_objects)                         \
	NUMBER(large_bytes) NUMBER(large_free_bytes)                                                                       \
	NUMBER(timers) NUMBER(timer_bytes) NUMBER(timer_old_percent)                                                       \
	NUMBER(sources) NUMBER(source_bytes) NUMBER(source_old_percent)                                                    \
	NUMBER(load_contexts) NUMBER(load_context_bytes) NUMBER(unloading_contexts)                                        \
	NUMBER(trackers) NUMBER(tracker_bytes) NUMBER(tracked_entities)                                                    \
	NUMBER(scopes) NUMBER(disposables) NUMBER(disposable_bytes) TEXT(disposable_type)                                  \
	NUMBER(handlers) NUMBER(handler_bytes) TEXT(event)

RULE_STRUCT(survivors_numbers, SURVIVORS_NUMBERS);

void survivors_numbers_of(const struct survivors *s, struct survivors_numbers *out);

#endif
