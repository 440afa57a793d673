/* Context: CLR callback (put) and own thread. */
#include "profiler/requests/answers.h"

#include "common/proto/channel_requests.h"
#include "common/proto/difference.h"
#include "profiler/base/now.h"
#include "profiler/requests/peers.h"
#include "profiler/requests/server_sockets.h"
#include "profiler/stacks/sample_ring.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANSWER_WORDS 4
#define FRAME_RECORDS 1500 /* below a frame's payload */
/* Times the CPU time that each of them takes: a 500th of one CPU all together. */
#define LIST_REST 3000u    /* a list of the connections */
#define LOOK_REST 1000u    /* a look at those to own ports */
#define PEERS_REST 1500u   /* a look at those that the process has made */
#define STALLED_REST 250u  /* where the last look at those to own ports found some that are stalled */
#define LOOKS_APART_NS 20000000u
#define LISTS_APART_NS 100000000u
#define STALLED_MOST 256   /* of one look */

static struct sample_ring ring;
static uint64_t secret, next_list_ns, next_look_ns, next_peers_ns;

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

WRAPS uint32_t answers_number_of(const struct event_text *address, uint64_t key)
{
	uint64_t h = key;

	for (size_t i = 0; i < 2 * address->units; i++) {
		h = (h ^ address->data[i]) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	h *= 0xc4ceb9fe1a85ec53u;
	return (uint32_t)(h >> 32) | 1;
}

void answers_put(const struct request *r, uint64_t end_ns, const struct request_end *end)
{
	uint32_t client = end->client.units ? answers_number_of(&end->client, secret) : 0;
	const uint64_t record[ANSWER_WORDS] = {r->start_ns, end_ns, r->number | (uint64_t)client << 32, end->port};

	sample_ring_put(&ring, record, ANSWER_WORDS, NULL, 0);
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */

void answers_reset(void)
{
	uint64_t discard[ANSWER_WORDS];

	while (sample_ring_take(&ring, discard, ANSWER_WORDS))
		;
	next_list_ns = next_look_ns = next_peers_ns = 0;
	peers_reset();
	if (syscall(SYS_getrandom, &secret, sizeof secret, 1 /* GRND_NONBLOCK */) != sizeof secret)
		secret = now_ns() ^ (uint64_t)(uintptr_t)&secret << 20;
}

static unsigned send_answers_frame(struct channel_io *io)
{
	uint64_t x[ANSWER_WORDS];
	unsigned n = 0;

	if (!sample_ring_take(&ring, x, ANSWER_WORDS))
		return 0;
	struct wire_writer *w = channel_io_begin(io, CHANNEL_REQUESTS_ANSWERS);
	do {
		const struct channel_request_answer a = {
			.start_ns = x[0], .end_ns = x[1], .number = (uint32_t)x[2], .client = (uint32_t)(x[2] >> 32), .port = (uint16_t)x[3]};
		channel_put_request_answer(w, &a);
	} while (++n < FRAME_RECORDS && sample_ring_take(&ring, x, ANSWER_WORDS));
	channel_io_end(io);
	return n;
}

void answers_send(struct channel_io *io)
{
	while (send_answers_frame(io) == FRAME_RECORDS)
		;
}

static struct stalled { /* connections that a look found */
	struct channel_request_stall list[STALLED_MOST];
	unsigned count;
} stalled;

static bool is_full(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 0;
}

/* The kernel has all that it takes of what is sent, and its other end or the network takes no more. */
static void note_stalled(const struct server_socket *s, void *unused)
{
	(void)unused;
	if (s->is_port_shared || !s->facts->notsent_bytes || stalled.count == STALLED_MOST || !is_full(s->fd) || !server_sockets_is(s))
		return;
	stalled.list[stalled.count++] = (struct channel_request_stall){
		.port = s->peer_port, .acked_bytes = s->facts->bytes_acked, .window_us = s->facts->window_limited_us};
}

static void send_stalled(struct channel_io *io, uint64_t at_ns)
{
	struct wire_writer *w = channel_io_begin(io, CHANNEL_REQUESTS_STALLS);

	wire_put_u64(w, at_ns);
	for (unsigned i = 0; i < stalled.count; i++)
		channel_put_request_stall(w, &stalled.list[i]);
	channel_io_end(io);
}

/* When it may be done again, so that it takes little CPU time. */
static uint64_t next_after(uint64_t at_ns, uint64_t cpu_ns, uint64_t rest, uint64_t apart_ns)
{
	uint64_t rest_ns = difference(now_of(CLOCK_THREAD_CPUTIME_ID), cpu_ns) * rest;

	return at_ns + (rest_ns > apart_ns ? rest_ns : apart_ns);
}

static void look_at_own(struct channel_io *io, uint64_t at_ns)
{
	bool before = stalled.count > 0;
	uint64_t cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID);

	stalled.count = 0;
	server_sockets_each(note_stalled, NULL);
	if (stalled.count || before) /* that there are none any more ends what was told */
		send_stalled(io, at_ns);
	next_look_ns = next_after(at_ns, cpu_ns, stalled.count ? STALLED_REST : LOOK_REST, LOOKS_APART_NS);
}

/* They are few as a rule, where those to own ports are many: each has its own time. */
static void look_at_made(struct channel_io *io, uint64_t at_ns)
{
	uint64_t cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID);

	peers_look(io, at_ns);
	next_peers_ns = next_after(at_ns, cpu_ns, PEERS_REST, LOOKS_APART_NS);
}

void answers_look(struct channel_io *io, uint64_t at_ns)
{
	uint64_t cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID);

	if (at_ns >= next_list_ns) {
		server_sockets_list();
		next_list_ns = next_after(at_ns, cpu_ns, LIST_REST, LISTS_APART_NS);
		return;
	}
	if (at_ns >= next_look_ns)
		look_at_own(io, at_ns);
	if (at_ns >= next_peers_ns)
		look_at_made(io, at_ns);
}
