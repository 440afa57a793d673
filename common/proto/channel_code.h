/* Where the code begins that an instruction pointer lies in, and which place of the method's IL it was made from (docs/channel-protocol.md). No
 * allocation, no I/O, no state. */
#ifndef DRDOTNET_CHANNEL_CODE_H
#define DRDOTNET_CHANNEL_CODE_H

#include "common/proto/channel.h"

/* CODE_ASK: u32 count, count x u64 instruction pointer. CODE_BODIES: u32 count, count x { u64 start, u32 bytes }, in the order asked; bytes 0: the
 * runtime knows none there. One method may have several bodies (tiers, on-stack replacement), so the start is the pointer's, not the method's. */
enum {
	CHANNEL_CODE_ASK = 0x0140,
	CHANNEL_CODE_BODIES = 0x0240,
};

/* IL_ASK: u32 count, count x u64 instruction pointer. IL_OFFSETS: u32 count, count x u32 offset in the method's IL, in the order asked. Any session's. */
enum {
	CHANNEL_IL_ASK = 0x0107,
	CHANNEL_IL_OFFSETS = 0x020e,
};
#define CHANNEL_NO_IL UINT32_MAX /* the runtime does not tell */

#define CHANNEL_MAX_CODE 512 /* of one request */

struct channel_code_body {
	uint64_t start;
	uint32_t bytes;
};

/* All begin with a count that the rest must hold exactly; false otherwise. Then read with wire_u64(), channel_get_code_body() or wire_u32(). */
bool channel_get_code_ask(const struct channel_frame *f, struct wire_reader *r, uint32_t *count);
bool channel_get_code_bodies(const struct channel_frame *f, struct wire_reader *r, uint32_t *count);
bool channel_get_il_ask(const struct channel_frame *f, struct wire_reader *r, uint32_t *count);
bool channel_get_il_offsets(const struct channel_frame *f, struct wire_reader *r, uint32_t *count);
void channel_put_code_body(struct wire_writer *w, const struct channel_code_body *v);
struct channel_code_body channel_get_code_body(struct wire_reader *r);

#endif
