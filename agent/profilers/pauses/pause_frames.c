#include "agent/profilers/pauses/pause_frames.h"

#include "common/base/mem.h"

#include <stdlib.h>

static int add_stops(struct pause_frames *p, const struct channel_frame *f, struct err *e)
{
	struct channel_stop stop;
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	while (wire_left(&r)) {
		if (!channel_get_stop(&r, &stop))
			return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed stop");
		if (p->stop_count == PAUSE_FRAMES_MAX_STOPS) {
			p->dropped++;
			continue;
		}
		GROW(p->stops, p->stop_count, p->stop_cap);
		p->stops[p->stop_count++] = stop;
	}
	return 0;
}

static int add_stacks(struct pause_frames *p, const struct channel_frame *f, struct err *e)
{
	struct channel_stop_stack stack;
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	while (wire_left(&r)) {
		if (!channel_get_stop_stack(&r, &stack))
			return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed stack of a stop");
		if (p->stack_count == PAUSE_FRAMES_MAX_STACKS) {
			p->dropped++;
			continue;
		}
		GROW(p->stacks, p->stack_count, p->stack_cap);
		p->stacks[p->stack_count++] = stack;
	}
	return 0;
}

int pause_frames_add(void *ctx, const struct channel_frame *f, struct err *e)
{
	struct pause_frames *p = ctx;

	switch (f->type) {
	case CHANNEL_STOPS:
		return add_stops(p, f, e);
	case CHANNEL_STOP_STACKS:
		return add_stacks(p, f, e);
	case CHANNEL_STOPS_STATE:
	case CHANNEL_ERROR:
		p->answers++;
		p->refused = f->type == CHANNEL_ERROR;
		if (!p->refused && !channel_get_stops_state(f, &p->state))
			return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed account of stops");
		return 0;
	default:
		return 0;
	}
}

int pause_frames_ask(struct pause_frames *p, struct profiler_channel *ch, uint16_t type, int64_t deadline_ms, struct err *e)
{
	unsigned before = p->answers;

	if (profiler_channel_request(ch, type, NULL, 0, e) < 0)
		return -1;
	while (p->answers == before)
		if (profiler_channel_await(ch, "tell of the runtime's stops", deadline_ms, e) < 0)
			return -1;
	return p->refused ? err_set(e, ERR_INTERNAL, 0, "the library cannot tell of the runtime's stops") : 0;
}

struct pause_frames pause_frames_steal(struct pause_frames *p)
{
	struct pause_frames taken = {
		.stops = p->stops,
		.stop_count = p->stop_count,
		.stop_cap = p->stop_cap,
		.stacks = p->stacks,
		.stack_count = p->stack_count,
		.stack_cap = p->stack_cap,
	};
	p->stops = NULL;
	p->stacks = NULL;
	p->stop_count = p->stop_cap = p->stack_count = p->stack_cap = 0;
	return taken;
}

void pause_frames_fini(struct pause_frames *p)
{
	free(p->stops);
	free(p->stacks);
	*p = (struct pause_frames){0};
}
