/* Frames of the SlowRequests profiler (docs/channel-protocol.md). No allocation, no I/O, no state. */
#ifndef DRDOTNET_CHANNEL_REQUESTS_H
#define DRDOTNET_CHANNEL_REQUESTS_H

#include "common/proto/channel.h"

enum channel_requests_type {
	CHANNEL_REQUESTS_START = 0x0180,
	CHANNEL_REQUESTS_STOP = 0x0181,
	CHANNEL_REQUESTS_STATE = 0x0280,
	CHANNEL_REQUESTS_SHAPES = 0x0281,
	CHANNEL_REQUESTS_DONE = 0x0282,
	CHANNEL_REQUESTS_OPEN = 0x0283,
	CHANNEL_REQUESTS_SWITCHES = 0x0284,
	CHANNEL_REQUESTS_CALLS = 0x0285,
	CHANNEL_REQUESTS_WINDOWS = 0x0286,
	CHANNEL_REQUESTS_ROUNDS = 0x0287,
	CHANNEL_REQUESTS_TEMPLATES = 0x0288,
	CHANNEL_REQUESTS_UNANSWERED = 0x0289,
	CHANNEL_REQUESTS_ANSWERS = 0x028a,
	CHANNEL_REQUESTS_STALLS = 0x028b,
	CHANNEL_REQUESTS_PEERS = 0x028c,
	CHANNEL_REQUESTS_AWAITS = 0x028d,
};

#define CHANNEL_AWAITS_MOST 16384u
#define CHANNEL_PEER_ADDRESS 16
#define CHANNEL_REQUESTS_SHAPES_MOST 4000 /* numbers of shapes are below */

/* REQUESTS_START, REQUESTS_STOP: empty. Both are answered by REQUESTS_STATE (after the last of the others, when stopping) or ERROR: u32 running, then u64
 * each, as below. */
struct channel_requests_state {
	uint32_t running;
	uint64_t started, ended;   /* requests that began, that ended, as the runtime told */
	uint64_t untracked;        /* began, and could not be followed: no activity, or no room */
	uint64_t older;            /* ended, and had begun before the session, or were not followed */
	uint64_t dropped;          /* records that found no room on their way to the library's thread */
	uint64_t malformed;        /* events that could not be read */
	uint64_t open_unfollowed;  /* in flight at the end, and not followed, beside those that began before the session; CHANNEL_REQUESTS_NOT_COUNTED */
};
#define CHANNEL_REQUESTS_NOT_COUNTED UINT64_MAX

/* REQUESTS_SHAPES: records up to the payload's end: u32 number, text. Numbers from 1; 0 are all that had no room. A number may come again. */
struct channel_request_shape {
	uint32_t number;
	struct channel_text text;
};

/* REQUESTS_DONE: records up to the payload's end: u64 start, u64 end (CLOCK_MONOTONIC), u32 number of the request, u32 shape, u32 inner tid that it began
 * on, u32 inner tid that it ended on, u16 status (0: not told), u8 kind of stream (0: none, 1: web socket, 2: event stream, 3: a call of gRPC that is none,
 * or not known to be one, 4: gRPC, of the client, 5: of the server, 6: of both), u8 1: switches were told
 * from its start to its end. */
struct channel_request_done {
	uint64_t start_ns, end_ns;
	uint32_t number, shape, start_tid, end_tid;
	uint16_t status;
	uint8_t stream;
	bool told;
};
#define CHANNEL_REQUEST_DONE_SIZE 36

/* REQUESTS_OPEN, about each second and at the end: u64 time (CLOCK_MONOTONIC), then records up to the payload's end, one for each shape that has requests in
 * flight: u32 shape, u32 requests, u32 number and u64 start of the oldest, u32 streams (which are not among the requests), u32 kind of these. A frame
 * without records: there are none; more frames of one time belong together. */
struct channel_request_open {
	uint32_t shape, count, oldest;
	uint64_t start_ns;
	uint32_t streams, stream;
};
#define CHANNEL_REQUEST_OPEN_SIZE 28

/* REQUESTS_SWITCHES: records up to the payload's end: u64 time, u32 inner tid, u32 number of the request that the thread works for from then on; 0: none. */
struct channel_request_switch {
	uint64_t time_ns;
	uint32_t tid, number;
};
#define CHANNEL_REQUEST_SWITCH_SIZE 16

/* REQUESTS_CALLS: records up to the payload's end: u64 start, u64 end, u32 number of the request, u32 shape, u16 failed, u16 0. What a request asked of
 * others; of the number 0: what is done for whoever needs it, such as a connection. */
struct channel_request_call {
	uint64_t start_ns, end_ns;
	uint32_t number, shape;
	uint16_t failed;
};
#define CHANNEL_REQUEST_CALL_SIZE 28

/* REQUESTS_WINDOWS: records up to the payload's end: u64 start, u64 end of a time in which switches were told. */
struct channel_request_window {
	uint64_t start_ns, end_ns;
};

/* REQUESTS_ROUNDS: records up to the payload's end: u64 length of the time just before it in which no requests were told, u64 CPU time that the process took
 * then, u64 start, u64 end of a time in which all requests were told (the same: none was), u64 CPU time that the process took for them, u64 how many requests
 * began in the time before it; CHANNEL_REQUESTS_NOT_COUNTED: not known. After what was told in it. */
struct channel_request_round {
	uint64_t rest_ns, rest_cpu_ns, start_ns, end_ns, own_cpu_ns, rest_requests;
};

/* REQUESTS_TEMPLATES: records up to the payload's end: u32 shape, u32 shape of the route that requests of the first one are of (itself: its route has no
 * parameters); 0: they are of several. A shape may come again. */
struct channel_request_template {
	uint32_t shape, template;
};

/* REQUESTS_UNANSWERED, at the end: u32 connections to the process's ports on which its client has spoken last, before the session began; u64 age of the
 * oldest, in nanoseconds. */
struct channel_requests_unanswered {
	uint32_t connections;
	uint64_t oldest_ns;
};

/* REQUESTS_ANSWERS: records up to the payload's end: u64 start, u64 end of a request whose response was told, u32 its number, u32 number of the client's
 * address (a keyed hash of this session; 0: not told), u16 port of the client's end of the connection (0: not told), u16 0. */
struct channel_request_answer {
	uint64_t start_ns, end_ns;
	uint32_t number, client;
	uint16_t port;
};

/* REQUESTS_STALLS: a look at the connections to the process's ports: u64 time, then records up to the payload's end, one for each whose send buffer is full:
 * u16 port of the client's end, u16 0, u64 bytes that the client has acknowledged, u64 microseconds in which its receive window let nothing more be sent,
 * both since the connection was made. A frame without records: there are none any more. */
struct channel_request_stall {
	uint16_t port;
	uint64_t acked_bytes, window_us;
};

/* REQUESTS_PEERS: a look at the connections that the process has made: u64 time, then records up to the payload's end, one for each address and port at
 * their other ends that owes an answer, or did at the look before: 16 bytes address (IPv6, or IPv4 mapped into it), u16 port, u16 flags, u32 milliseconds
 * since something was last sent on a connection that has no answer (without one: on any), u32 since something last came on any, u64 segments with data that
 * were sent on those that there are, since they were made. */
struct channel_request_peer {
	uint8_t address[CHANNEL_PEER_ADDRESS];
	uint16_t port, flags;
	uint32_t sent_ms, received_ms;
	uint64_t asked;
};
enum {
	CHANNEL_PEER_OWES = 1,  /* what was sent last on a connection has no answer, neither one that the process has not read yet */
	CHANNEL_PEER_RARELY = 2, /* much less came on those connections than was sent: it answers rarely, or never */
};

/* REQUESTS_AWAITS: a buffer of the runtime's async profiler, as the runtime has made it (agent/attach/await_buffer.h), of at most
 * CHANNEL_AWAITS_MOST bytes. */

void channel_put_requests_state(struct wire_writer *w, const struct channel_requests_state *v);
bool channel_get_requests_state(const struct channel_frame *f, struct channel_requests_state *v);
void channel_put_request_shape(struct wire_writer *w, const struct channel_request_shape *v);
void channel_put_request_done(struct wire_writer *w, const struct channel_request_done *v);
void channel_put_request_open(struct wire_writer *w, const struct channel_request_open *v);
void channel_put_request_switch(struct wire_writer *w, const struct channel_request_switch *v);
void channel_put_request_call(struct wire_writer *w, const struct channel_request_call *v);
void channel_put_request_window(struct wire_writer *w, const struct channel_request_window *v);
void channel_put_request_round(struct wire_writer *w, const struct channel_request_round *v);
void channel_put_request_template(struct wire_writer *w, const struct channel_request_template *v);
void channel_put_requests_unanswered(struct wire_writer *w, const struct channel_requests_unanswered *v);
void channel_put_request_answer(struct wire_writer *w, const struct channel_request_answer *v);
void channel_put_request_stall(struct wire_writer *w, const struct channel_request_stall *v);
void channel_put_request_peer(struct wire_writer *w, const struct channel_request_peer *v);
/* The next one; false at a bad one. */
bool channel_get_request_shape(struct wire_reader *r, struct channel_request_shape *v);
bool channel_get_request_done(struct wire_reader *r, struct channel_request_done *v);
bool channel_get_request_open(struct wire_reader *r, struct channel_request_open *v);
bool channel_get_request_switch(struct wire_reader *r, struct channel_request_switch *v);
bool channel_get_request_call(struct wire_reader *r, struct channel_request_call *v);
bool channel_get_request_window(struct wire_reader *r, struct channel_request_window *v);
bool channel_get_request_round(struct wire_reader *r, struct channel_request_round *v);
bool channel_get_request_template(struct wire_reader *r, struct channel_request_template *v);
bool channel_get_request_answer(struct wire_reader *r, struct channel_request_answer *v);
bool channel_get_request_stall(struct wire_reader *r, struct channel_request_stall *v);
bool channel_get_request_peer(struct wire_reader *r, struct channel_request_peer *v);
bool channel_get_requests_unanswered(const struct channel_frame *f, struct channel_requests_unanswered *v);

#endif
