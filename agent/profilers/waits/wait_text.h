/* The diagnosis of Waits in words. Pure; any thread. */
#ifndef DRDOTNET_WAIT_TEXT_H
#define DRDOTNET_WAIT_TEXT_H

#include "agent/profilers/waits/wait_numbers.h"
#include "common/base/buf.h"

/* The text below what the findings say, the first line is the headline. Into an empty buffer. */
void wait_text_put(const struct wait_analysis *a, const struct wait_numbers *n, const struct findings *f, struct buf *out);

#endif
