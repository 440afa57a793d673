/* Answers RESOLVE, instruction pointers to functions, each function described once per session; and CODE_ASK, where their code begins. Own thread. */
#ifndef DRDOTNET_RESOLVER_H
#define DRDOTNET_RESOLVER_H

#include "profiler/channel_io.h"
#include "profiler/cor_abi.h"

struct resolver_counts {
	uint64_t resolved, unresolved, functions;
};

void resolver_reset(void);
/* false: a malformed request; nothing was answered. */
bool resolver_answer(void *info, const struct channel_frame *request, struct channel_io *io);
bool resolver_answer_code(void *info, const struct channel_frame *request, struct channel_io *io);
struct resolver_counts resolver_counts(void);

#endif
