/* Answers of the library about the IL that code was made from (common/proto/channel_code.h): one question at a time. Of one channel and its thread. */
#ifndef DRDOTNET_CHANNEL_IL_H
#define DRDOTNET_CHANNEL_IL_H

#include "common/base/err.h"
#include "common/proto/channel_code.h"

struct channel_il { /* zeroed: nothing was asked */
	uint32_t *out;     /* of the question that waits; NULL: none does */
	uint32_t expected;
	unsigned stale;    /* answers to come to questions that were given up */
};

/* An IL_OFFSETS frame; -1: it is no answer to what was asked. */
int channel_il_take(struct channel_il *il, const struct channel_frame *f, struct err *e);
/* The library does not know the question: nothing is known. */
void channel_il_refused(struct channel_il *il);

#endif
