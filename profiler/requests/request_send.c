/* Context: CLR callback (done, call, switch) and own thread. */
#include "profiler/requests/request_send.h"

#include "common/proto/channel_requests.h"
#include "profiler/requests/await_events.h"
#include "profiler/requests/shape_table.h"
#include "profiler/stacks/sample_ring.h"

#include <string.h>

#define DONE_WORDS 5
#define CALL_WORDS 4
#define SWITCH_WORDS 2
#define FRAME_RECORDS 1500 /* of any kind: below a frame's payload */

static struct sample_ring done_ring, call_ring, switch_ring;
static bool shapes_sent[SHAPE_TABLE_MOST + 1];
static uint32_t templates_sent[SHAPE_TABLE_MOST + 1];

static struct open_shape {
	uint32_t count, oldest, streams, stream;
	uint64_t start_ns;
} open[SHAPE_TABLE_MOST + 1];

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

static uint64_t pair(uint32_t low, uint32_t high)
{
	return low | (uint64_t)high << 32;
}

void request_send_done(const struct request *r, uint64_t end_ns, uint32_t tid, bool told)
{
	const uint64_t record[DONE_WORDS] = {
		r->start_ns, end_ns, pair(r->number, r->shape), pair(r->tid, tid), pair(r->status, r->stream | (uint32_t)told << 8)};

	sample_ring_put(&done_ring, record, DONE_WORDS, NULL, 0);
}

void request_send_call(const struct request *call, uint64_t end_ns)
{
	const uint64_t record[CALL_WORDS] = {call->start_ns, end_ns, pair(call->number, call->shape), call->status != 0};

	sample_ring_put(&call_ring, record, CALL_WORDS, NULL, 0);
}

void request_send_switch(uint64_t time_ns, uint32_t tid, uint32_t number)
{
	const uint64_t record[SWITCH_WORDS] = {time_ns, pair(tid, number)};

	sample_ring_put(&switch_ring, record, SWITCH_WORDS, NULL, 0);
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */

static void empty_ring(struct sample_ring *ring)
{
	uint64_t discard[DONE_WORDS];

	while (sample_ring_take(ring, discard, DONE_WORDS))
		;
	atomic_store(&ring->dropped, 0);
}

void request_send_reset(void)
{
	empty_ring(&done_ring);
	empty_ring(&call_ring);
	empty_ring(&switch_ring);
	await_events_reset();
	memset(shapes_sent, 0, sizeof shapes_sent);
	memset(templates_sent, 0, sizeof templates_sent);
}

uint64_t request_send_dropped(void)
{
	return atomic_load(&done_ring.dropped) + atomic_load(&call_ring.dropped);
}

uint64_t request_send_dropped_switches(void)
{
	return atomic_load(&switch_ring.dropped);
}

/* The next one that is to be sent, from this number on; 0: none. */
static uint32_t next_shape(uint32_t from, struct channel_request_shape *s)
{
	uint32_t count = shape_table_count();
	uint16_t len;

	for (uint32_t number = from; number <= count; number++) {
		const char *text = shapes_sent[number] ? NULL : shape_table_text(number, &len);
		if (!text)
			continue;
		*s = (struct channel_request_shape){.number = number, .text = {.data = text, .len = len}};
		return number;
	}
	return 0;
}

static void send_shapes(struct channel_io *io)
{
	struct channel_request_shape s;
	uint32_t next = next_shape(1, &s);

	while (next) {
		struct wire_writer *w = channel_io_begin(io, CHANNEL_REQUESTS_SHAPES);
		for (unsigned i = 0; i < FRAME_RECORDS / 8 && next; i++) {
			channel_put_request_shape(w, &s);
			shapes_sent[next] = true;
			next = next_shape(next + 1, &s);
		}
		channel_io_end(io);
	}
}

/* Of those that were sent; all of them fit a frame. */
static void send_templates(struct channel_io *io)
{
	struct wire_writer *w = NULL;

	for (uint32_t i = 1; i <= SHAPE_TABLE_MOST; i++) {
		uint32_t template = shape_table_template(i);
		if (template == templates_sent[i] || !shapes_sent[i] || (template != SHAPE_TEMPLATES && !shapes_sent[template]))
			continue;
		const struct channel_request_template v = {.shape = i, .template = template == SHAPE_TEMPLATES ? 0 : template};
		w = w ? w : channel_io_begin(io, CHANNEL_REQUESTS_TEMPLATES);
		channel_put_request_template(w, &v);
		templates_sent[i] = template;
	}
	if (w)
		channel_io_end(io);
}

static unsigned send_done_frame(struct channel_io *io)
{
	uint64_t x[DONE_WORDS];
	unsigned n = 0;
	size_t len = sample_ring_take(&done_ring, x, DONE_WORDS);

	if (!len)
		return 0;
	send_shapes(io); /* those of these requests are there by now */
	struct wire_writer *w = channel_io_begin(io, CHANNEL_REQUESTS_DONE);
	do {
		const struct channel_request_done d = {
			.start_ns = x[0], .end_ns = x[1],
			.number = (uint32_t)x[2], .shape = (uint32_t)(x[2] >> 32),
			.start_tid = (uint32_t)x[3], .end_tid = (uint32_t)(x[3] >> 32),
			.status = (uint16_t)x[4], .stream = (uint8_t)(x[4] >> 32), .told = x[4] >> 40 & 1,
		};
		channel_put_request_done(w, &d);
	} while (++n < FRAME_RECORDS && sample_ring_take(&done_ring, x, DONE_WORDS));
	channel_io_end(io);
	return n;
}

static unsigned send_call_frame(struct channel_io *io)
{
	uint64_t x[CALL_WORDS];
	unsigned n = 0;
	size_t len = sample_ring_take(&call_ring, x, CALL_WORDS);

	if (!len)
		return 0;
	send_shapes(io);
	struct wire_writer *w = channel_io_begin(io, CHANNEL_REQUESTS_CALLS);
	do {
		const struct channel_request_call c = {
			.start_ns = x[0], .end_ns = x[1], .number = (uint32_t)x[2], .shape = (uint32_t)(x[2] >> 32), .failed = (uint16_t)x[3]};
		channel_put_request_call(w, &c);
	} while (++n < FRAME_RECORDS && sample_ring_take(&call_ring, x, CALL_WORDS));
	channel_io_end(io);
	return n;
}

static unsigned send_switch_frame(struct channel_io *io)
{
	uint64_t x[SWITCH_WORDS];
	unsigned n = 0;
	size_t len = sample_ring_take(&switch_ring, x, SWITCH_WORDS);

	if (!len)
		return 0;
	struct wire_writer *w = channel_io_begin(io, CHANNEL_REQUESTS_SWITCHES);
	do {
		const struct channel_request_switch s = {.time_ns = x[0], .tid = (uint32_t)x[1], .number = (uint32_t)(x[1] >> 32)};
		channel_put_request_switch(w, &s);
	} while (++n < FRAME_RECORDS && sample_ring_take(&switch_ring, x, SWITCH_WORDS));
	channel_io_end(io);
	return n;
}

void request_send_all(struct channel_io *io)
{
	while (send_switch_frame(io) == FRAME_RECORDS)
		;
	await_events_send(io);
	while (send_call_frame(io) == FRAME_RECORDS)
		;
	while (send_done_frame(io) == FRAME_RECORDS)
		;
	send_templates(io);
}

void request_send_window(struct channel_io *io, uint64_t start_ns, uint64_t end_ns)
{
	const struct channel_request_window v = {start_ns, end_ns};

	channel_put_request_window(channel_io_begin(io, CHANNEL_REQUESTS_WINDOWS), &v);
	channel_io_end(io);
}

void request_send_round(struct channel_io *io, const struct follow_round *r, uint64_t rest_requests)
{
	const struct channel_request_round v = {r->rest_ns, r->rest_cpu_ns, r->start_ns, r->end_ns, r->own_cpu_ns, rest_requests};

	channel_put_request_round(channel_io_begin(io, CHANNEL_REQUESTS_ROUNDS), &v);
	channel_io_end(io);
}

static void note_open(void *ctx, const struct request *r)
{
	struct open_shape *o = &open[r->shape <= SHAPE_TABLE_MOST ? r->shape : 0];

	if (r->start_ns > *(const uint64_t *)ctx)
		return; /* it began after the look */
	if (request_is_stream(r->stream)) {
		o->streams++;
		o->stream = r->stream;
		return;
	}
	if (!o->count++ || r->start_ns < o->start_ns) {
		o->start_ns = r->start_ns;
		o->oldest = r->number;
	}
}

void request_send_open(struct channel_io *io, uint64_t now_ns)
{
	for (size_t i = 0; i <= SHAPE_TABLE_MOST; i++)
		open[i] = (struct open_shape){0};
	request_table_each(&requests_open, note_open, &now_ns);
	send_shapes(io);
	struct wire_writer *w = channel_io_begin(io, CHANNEL_REQUESTS_OPEN); /* all shapes fit a frame */
	wire_put_u64(w, now_ns);
	for (uint32_t i = 0; i <= SHAPE_TABLE_MOST; i++) {
		const struct channel_request_open o = {.shape = i, .count = open[i].count, .oldest = open[i].oldest, .start_ns = open[i].start_ns,
							.streams = open[i].streams, .stream = open[i].stream};
		if (o.count || o.streams)
			channel_put_request_open(w, &o);
	}
	channel_io_end(io);
}
