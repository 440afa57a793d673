/* Who held the locks that threads waited for: at each look at them, where the holder was. Part of wait_analysis.c. Pure; one thread. */
#ifndef DRDOTNET_WAIT_HOLDERS_H
#define DRDOTNET_WAIT_HOLDERS_H

#include "agent/waits/wait_analysis.h"
#include "agent/waits/wait_join.h"

/* `place_of`: by wait of the join; `method_of`: the application's innermost method, by stack. */
void wait_holders_find(struct wait_analysis *a, const struct wait_join *j, const uint32_t *place_of, const uint32_t *method_of);

#endif
