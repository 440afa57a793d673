/* Fills the table of what is known of code (code_rules.h): loaded libraries at once, managed code as stacks are met that lead through it. Own thread,
 * but for code_learn_want(). */
#ifndef DRDOTNET_CODE_LEARN_H
#define DRDOTNET_CODE_LEARN_H

#include "profiler/stacks/code_rules.h"

void code_learn_reset(void);
/* Before the first walk, after a reset; again: nothing. */
void code_learn_begin(void *info);
/* From now on the runtime is not asked. */
void code_learn_end(void);
/* What is known of the code there, of the runtime if need be. NULL: it may not be asked now. Good until the next call. */
const struct code_rule *code_learn(uint64_t ip);
/* Any context, lock-free: the next tick learns of it, if it is not forgotten for another one. */
void code_learn_want(uint64_t ip);
/* Now and then: learns what is wanted, and forgets what may have become something else. */
void code_learn_tick(void);

#endif
