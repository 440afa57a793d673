/* What the library knows of code, so that a walk up a stack finds each frame's caller (common/proto/code_frame.h): a table from ranges of
 * addresses, filled by the library's own thread from what the runtime says, and read by signal handlers and callbacks meanwhile. Holds copies of
 * the code's first bytes: code that is gone is never read. Two indexes, of which readers read one while the own thread makes the other; a rule
 * is written only where neither leads to it. Bounded: what does not fit is not known. Zeroed memory is an empty table. */
#ifndef DRDOTNET_CODE_RULES_H
#define DRDOTNET_CODE_RULES_H

#include "common/proto/code_frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_RULES_MAX 8192

enum code_kind {
	CODE_MANAGED,
	CODE_NATIVE, /* a loaded library, on the word that it keeps frame pointers */
	CODE_STUB,   /* the runtime's own, that it does not describe; or no code at all */
};

struct code_rule {
	uint64_t start, end; /* the addresses that it is about */
	uint64_t body;       /* managed: the function's first instruction */
	enum code_kind kind;
	bool runtime;           /* the runtime's library, which stays */
	bool fleeting;          /* other code may be there soon, unannounced */
	struct code_frame call; /* managed: the frame as it stands at the function's calls */
	uint8_t prolog_bytes;
	uint8_t prolog[CODE_FRAME_PROLOG_BYTES];
} __attribute__((aligned(64))); /* all that a return address needs is in one line of the cache */

struct code_index;

/* Own thread, no reader can be in it. */
void code_rules_reset(void);
/* Own thread. In the place of what was known of these addresses. false: it is not in the table, because that is full or a reader is still in the index
 * that would be written. */
bool code_rules_put(const struct code_rule *rule);
/* Own thread. Fleeting rules, or all managed and fleeting ones. false: not now, as above. */
bool code_rules_forget(bool managed);
size_t code_rules_count(void); /* own thread */
/* Own thread. NULL: not known. Good until the next change. */
const struct code_rule *code_rules_own(uint64_t ip);

/* Any context: lock-free. Everything that find returns is good until leave. */
const struct code_index *code_rules_enter(void);
const struct code_rule *code_rules_find(const struct code_index *index, uint64_t ip);
void code_rules_leave(const struct code_index *index);

#endif
