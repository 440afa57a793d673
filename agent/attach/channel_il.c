#include "agent/attach/channel_il.h"

#include "agent/attach/profiler_channel_private.h"

int channel_il_take(struct channel_il *il, const struct channel_frame *f, struct err *e)
{
	struct wire_reader r;
	uint32_t count;

	if (!channel_get_il_offsets(f, &r, &count))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent malformed IL offsets");
	if (il->stale) {
		il->stale--;
		return 0;
	}
	if (!il->out || count != il->expected)
		return err_set(e, ERR_PROTOCOL, 0, "the library told %u IL offsets, not %u", count, il->out ? il->expected : 0);
	for (uint32_t i = 0; i < count; i++)
		il->out[i] = wire_u32(&r);
	il->out = NULL;
	return 0;
}

void channel_il_refused(struct channel_il *il)
{
	if (il->stale)
		il->stale--;
	else
		il->out = NULL;
}

static int ask_il_offsets(struct profiler_channel *ch, const uint64_t *ips, uint32_t count, uint32_t *out, int64_t deadline_ms, struct err *e)
{
	uint8_t payload[4 + CHANNEL_MAX_CODE * sizeof *ips];
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u32(&w, count);
	for (uint32_t i = 0; i < count; i++)
		wire_put_u64(&w, ips[i]);
	if (profiler_channel_request(ch, CHANNEL_IL_ASK, payload, w.pos, e) < 0)
		return -1;
	ch->il.out = out;
	ch->il.expected = count;
	while (ch->il.out) {
		if (profiler_channel_await(ch, "tell the IL of code", deadline_ms, e) < 0) {
			ch->il.stale += ch->il.out != NULL;
			ch->il.out = NULL;
			return -1;
		}
	}
	return 0;
}

int profiler_channel_il_offsets(struct profiler_channel *ch, const uint64_t *ips, size_t count, uint32_t *out, int64_t deadline_ms, struct err *e)
{
	for (size_t i = 0; i < count; i++)
		out[i] = CHANNEL_NO_IL;
	for (size_t done = 0; done < count;) {
		size_t n = count - done < CHANNEL_MAX_CODE ? count - done : CHANNEL_MAX_CODE;
		if (ask_il_offsets(ch, ips + done, (uint32_t)n, out + done, deadline_ms, e) < 0)
			return -1;
		done += n;
	}
	return 0;
}
