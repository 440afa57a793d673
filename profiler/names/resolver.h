/* Answers RESOLVE, instruction pointers to functions, each function described once per session; and CODE_ASK and IL_ASK, where their code begins and
 * which IL it was made from. Own thread. */
#ifndef DRDOTNET_RESOLVER_H
#define DRDOTNET_RESOLVER_H

#include "profiler/base/channel_io.h"
#include "profiler/clr/cor_abi.h"

struct resolver_counts {
	uint64_t resolved, unresolved, functions;
};

/* A body of a method's code (tiers, on-stack replacement), and the piece of it that was asked for: the body itself but for code that was split. */
struct resolver_body {
	uint64_t start, piece, piece_end;
	uint32_t bytes; /* from the start on */
	bool dynamic;
};

enum resolver_place {
	RESOLVER_BODY,
	RESOLVER_NO_BODY, /* the runtime knows none there */
	RESOLVER_NOT_NOW, /* it may not be asked */
};

void resolver_reset(void);
/* false: a malformed request; nothing was answered. */
bool resolver_answer(void *info, const struct channel_frame *request, struct channel_io *io);
bool resolver_answer_code(void *info, const struct channel_frame *request, struct channel_io *io);
enum resolver_place resolver_find_body(void *info, uint64_t ip, struct resolver_body *out);
/* IL_ASK: which IL the code was made from; common/proto/channel_code.h. */
bool resolver_answer_il(void *info, const struct channel_frame *request, struct channel_io *io);
struct resolver_counts resolver_counts(void);

#endif
