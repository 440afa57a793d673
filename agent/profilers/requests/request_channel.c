#include "agent/profilers/requests/request_channel.h"

#include "common/base/buf.h"
#include "common/base/text.h"

#define COMPLAINT_BYTES 128

void request_channel_init(struct request_channel *c, struct profiler_channel *ch, struct request_log *log)
{
	*c = (struct request_channel){.channel = ch, .log = log};
	if (ch)
		profiler_channel_on_frames(ch, request_channel_frame, c);
}

static int malformed_requests(struct err *e)
{
	return err_set(e, ERR_PROTOCOL, 0, "the library sent malformed requests");
}

static int take_shapes(struct request_channel *c, struct wire_reader *r, struct err *e)
{
	struct channel_request_shape s;
	while (wire_left(r)) {
		if (!channel_get_request_shape(r, &s))
			return malformed_requests(e);
		request_log_shape(c->log, &s);
	}
	return 0;
}

static int take_done(struct request_channel *c, struct wire_reader *r, struct err *e)
{
	struct channel_request_done d;
	while (wire_left(r)) {
		if (!channel_get_request_done(r, &d))
			return malformed_requests(e);
		request_log_done(c->log, &d);
	}
	return 0;
}

static int take_open(struct request_channel *c, struct wire_reader *r, struct err *e)
{
	struct channel_request_open o;
	uint64_t at_ns = wire_u64(r);
	if (r->bad)
		return malformed_requests(e);
	if (at_ns != c->log->open_at_ns)
		request_log_look(c->log, at_ns);
	while (wire_left(r)) {
		if (!channel_get_request_open(r, &o) || o.start_ns > at_ns)
			return malformed_requests(e);
		request_log_open(c->log, &o);
	}
	return 0;
}

static int take_calls(struct request_channel *c, struct wire_reader *r, struct err *e)
{
	struct channel_request_call x;
	while (wire_left(r)) {
		if (!channel_get_request_call(r, &x))
			return malformed_requests(e);
		request_trail_call(&c->log->trail, &x);
	}
	return 0;
}

static int take_switches(struct request_channel *c, struct wire_reader *r, struct err *e)
{
	struct channel_request_switch x;
	while (wire_left(r)) {
		if (!channel_get_request_switch(r, &x))
			return malformed_requests(e);
		request_trail_switch(&c->log->trail, &x);
	}
	return 0;
}

static int take_windows(struct request_channel *c, struct wire_reader *r, struct err *e)
{
	struct channel_request_window x;
	while (wire_left(r)) {
		if (!channel_get_request_window(r, &x))
			return malformed_requests(e);
		request_trail_window(&c->log->trail, &x);
	}
	return 0;
}

static int take_templates(struct request_channel *c, struct wire_reader *r, struct err *e)
{
	struct channel_request_template x;
	while (wire_left(r)) {
		if (!channel_get_request_template(r, &x))
			return malformed_requests(e);
		request_log_template(c->log, &x);
	}
	return 0;
}

static int take_rounds(struct request_channel *c, struct wire_reader *r, struct err *e)
{
	struct channel_request_round x;
	while (wire_left(r)) {
		if (!channel_get_request_round(r, &x))
			return malformed_requests(e);
		request_log_round(c->log, &x);
	}
	return 0;
}

static int take_answers(struct request_channel *c, struct wire_reader *r, struct err *e)
{
	struct channel_request_answer x;
	while (wire_left(r)) {
		if (!channel_get_request_answer(r, &x))
			return malformed_requests(e);
		request_answers_add(&c->log->answers, &x);
	}
	return 0;
}

static int take_stalls(struct request_channel *c, struct wire_reader *r, struct err *e)
{
	struct channel_request_stall list[STALLS_AT_ONCE];
	size_t count = 0;
	uint64_t at_ns = wire_u64(r);
	while (wire_left(r) && count < STALLS_AT_ONCE)
		if (!channel_get_request_stall(r, &list[count++]))
			return malformed_requests(e);
	if (r->bad || at_ns > INT64_MAX)
		return malformed_requests(e);
	request_answers_look(&c->log->answers, at_ns, list, count);
	return 0;
}

static int take_peers(struct request_channel *c, struct wire_reader *r, struct err *e)
{
	struct channel_request_peer list[PEERS_AT_ONCE];
	size_t count = 0;
	uint64_t at_ns = wire_u64(r);
	while (wire_left(r) && count < PEERS_AT_ONCE)
		if (!channel_get_request_peer(r, &list[count++]))
			return malformed_requests(e);
	if (r->bad || at_ns > INT64_MAX)
		return malformed_requests(e);
	request_peers_look(&c->log->peers, at_ns, list, count);
	return 0;
}

static int on_requests_state(struct request_channel *c, const struct channel_frame *f, struct err *e)
{
	if (!channel_get_requests_state(f, &c->state))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed answer about requests");
	c->answers++;
	c->error = (struct err)ERR_INIT;
	return 0;
}

static int on_requests_error(struct request_channel *c, const struct channel_frame *f)
{
	struct channel_error error = {0};
	AUTO_BUF struct buf text;
	buf_init(&text, 8 * COMPLAINT_BYTES);
	if (channel_get_error(f, &error) && error.message.len) /* looked at before */
		text_append_printable(&text, error.message.data, error.message.len < COMPLAINT_BYTES ? error.message.len : COMPLAINT_BYTES);
	err_set(&c->error, ERR_INTERNAL, (int)error.code, "the profiler library: %s (0x%x)", buf_str(&text), error.code);
	c->answers++;
	return 0;
}

int request_channel_frame(void *requests, const struct channel_frame *f, struct err *e)
{
	struct request_channel *c = requests;
	struct wire_reader r;
	wire_reader_init(&r, f->payload, f->len);
	switch (f->type) {
	case CHANNEL_REQUESTS_SHAPES:
		return take_shapes(c, &r, e);
	case CHANNEL_REQUESTS_DONE:
		return take_done(c, &r, e);
	case CHANNEL_REQUESTS_OPEN:
		return take_open(c, &r, e);
	case CHANNEL_REQUESTS_CALLS:
		return take_calls(c, &r, e);
	case CHANNEL_REQUESTS_SWITCHES:
		return take_switches(c, &r, e);
	case CHANNEL_REQUESTS_WINDOWS:
		return take_windows(c, &r, e);
	case CHANNEL_REQUESTS_ROUNDS:
		return take_rounds(c, &r, e);
	case CHANNEL_REQUESTS_TEMPLATES:
		return take_templates(c, &r, e);
	case CHANNEL_REQUESTS_ANSWERS:
		return take_answers(c, &r, e);
	case CHANNEL_REQUESTS_STALLS:
		return take_stalls(c, &r, e);
	case CHANNEL_REQUESTS_PEERS:
		return take_peers(c, &r, e);
	case CHANNEL_REQUESTS_AWAITS:
		request_awaits_buffer(&c->log->awaits, f->payload, f->len); /* what the runtime wrote is no fault of the library's */
		return 0;
	case CHANNEL_REQUESTS_UNANSWERED:
		return channel_get_requests_unanswered(f, &c->log->unanswered) ? 0 : malformed_requests(e);
	case CHANNEL_REQUESTS_STATE:
		return on_requests_state(c, f, e);
	case CHANNEL_ERROR:
		return on_requests_error(c, f);
	default:
		return 0; /* of a later version */
	}
}

static int ask_requests(struct request_channel *c, uint16_t type, const char *what, int64_t deadline_ms, struct err *e)
{
	unsigned before = c->answers;
	if (profiler_channel_request(c->channel, type, NULL, 0, e) < 0)
		return -1;
	while (c->answers == before)
		if (profiler_channel_await(c->channel, what, deadline_ms, e) < 0)
			return -1;
	if (!c->error.kind)
		return 0;
	if (e)
		*e = c->error;
	return -1;
}

int request_channel_start(struct request_channel *c, int64_t deadline_ms, struct err *e)
{
	return ask_requests(c, CHANNEL_REQUESTS_START, "start watching requests", deadline_ms, e);
}

int request_channel_stop(struct request_channel *c, int64_t deadline_ms, struct err *e)
{
	return ask_requests(c, CHANNEL_REQUESTS_STOP, "stop watching requests", deadline_ms, e);
}
