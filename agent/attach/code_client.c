#include "agent/attach/code_client.h"

#include <string.h>

void code_client_init(struct code_client *c, struct profiler_channel *ch)
{
	*c = (struct code_client){.channel = ch};
	profiler_channel_on_code(ch, code_client_frame, c);
}

int code_client_frame(void *ctx, const struct channel_frame *f, struct err *e)
{
	struct code_client *c = ctx;
	struct wire_reader r;
	uint32_t count;

	if (f->type == CHANNEL_ERROR) /* a question of ours that was refused: nothing is known */
		c->out = NULL;
	if (f->type != CHANNEL_CODE_BODIES)
		return 0;
	if (!channel_get_code_bodies(f, &r, &count))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent malformed places of code");
	if (c->stale) {
		c->stale--;
		return 0;
	}
	if (!c->out || count != c->expected)
		return err_set(e, ERR_PROTOCOL, 0, "the library told where the code of %u instruction pointers begins, not of %u", count,
			       c->out ? c->expected : 0);
	for (uint32_t i = 0; i < count; i++)
		c->out[i] = channel_get_code_body(&r);
	c->out = NULL;
	return 0;
}

static int ask_some(struct code_client *c, const uint64_t *ips, uint32_t count, struct channel_code_body *out, int64_t deadline_ms, struct err *e)
{
	uint8_t payload[4 + CHANNEL_MAX_CODE * sizeof *ips];
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u32(&w, count);
	for (uint32_t i = 0; i < count; i++)
		wire_put_u64(&w, ips[i]);
	if (profiler_channel_request(c->channel, CHANNEL_CODE_ASK, payload, w.pos, e) < 0)
		return -1;
	c->out = out;
	c->expected = count;
	while (c->out) {
		if (profiler_channel_await(c->channel, "tell where code begins", deadline_ms, e) < 0) {
			c->stale += c->out != NULL;
			c->out = NULL;
			return -1;
		}
	}
	return 0;
}

int code_client_ask(struct code_client *c, const uint64_t *ips, size_t count, struct channel_code_body *out, int64_t deadline_ms, struct err *e)
{
	memset(out, 0, count * sizeof *out);
	for (size_t done = 0; done < count;) {
		size_t n = count - done < CHANNEL_MAX_CODE ? count - done : CHANNEL_MAX_CODE;
		if (ask_some(c, ips + done, (uint32_t)n, out + done, deadline_ms, e) < 0)
			return -1;
		done += n;
	}
	return 0;
}
