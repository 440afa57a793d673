#include "agent/heap/heap_client.h"

#include "common/base/clock.h"
#include "common/proto/heap_stream.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static int malformed_heap_frame(const char *what, struct err *e)
{
	return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed %s", what);
}

static int on_type(struct heap_client *c, const struct channel_frame *f, struct err *e)
{
	struct heap_type_frame t;
	struct wire_reader fields;

	if (!heap_get_type_frame(f, &fields, &t))
		return malformed_heap_frame("type", e);
	if (c->on_type && c->waiting_for == HEAP_FRAME_NAMED)
		c->on_type(c->ctx, &t, &fields);
	return 0;
}

static int handle_static(struct heap_client *c, const struct channel_frame *f, struct err *e)
{
	struct heap_static_frame s;

	if (!heap_get_static_frame(f, &s))
		return malformed_heap_frame("static field", e);
	if (c->on_static && c->waiting_for == HEAP_FRAME_NAMED)
		c->on_static(c->ctx, &s);
	return 0;
}

static int on_refusal(struct heap_client *c, const struct channel_frame *f, struct err *e)
{
	struct channel_error error;

	if (!channel_get_error(f, &error))
		return malformed_heap_frame("error", e);
	if (c->waiting_for && !c->answered) {
		c->refusal = *profiler_channel_last_error(c->channel);
		c->refusal.kind = c->refusal.kind ? c->refusal.kind : ERR_INTERNAL;
		c->answered = true;
	}
	return 0;
}

int heap_client_frame(void *ctx, const struct channel_frame *f, struct err *e)
{
	struct heap_client *c = ctx;

	switch (f->type) {
	case HEAP_FRAME_TYPE:
		return on_type(c, f, e);
	case HEAP_FRAME_STATIC:
		return handle_static(c, f, e);
	case CHANNEL_ERROR:
		return on_refusal(c, f, e);
	case HEAP_FRAME_PREDICTION:
		if (!heap_get_prediction(f, &c->prediction))
			return malformed_heap_frame("prediction", e);
		break;
	case HEAP_FRAME_WALKED:
		if (!heap_get_walked(f, &c->walked))
			return malformed_heap_frame("end of a walk", e);
		break;
	default:
		break;
	}
	c->answered |= f->type == c->waiting_for;
	return 0;
}

void heap_client_init(struct heap_client *c, struct profiler_channel *ch)
{
	*c = (struct heap_client){.channel = ch};
	profiler_channel_on_frames(ch, heap_client_frame, c);
}

void heap_client_fini(struct heap_client *c)
{
	profiler_channel_on_frames(c->channel, NULL, NULL);
}

static int await_heap_answer(struct heap_client *c, uint16_t answer, const char *what, int64_t deadline_ms, struct err *e)
{
	int r = 0;

	c->waiting_for = answer;
	c->answered = false;
	c->refusal = (struct err)ERR_INIT;
	while (!c->answered && r == 0)
		r = profiler_channel_await(c->channel, what, deadline_ms, e);
	c->waiting_for = 0;
	if (r < 0)
		return -1;
	if (c->refusal.kind && e)
		*e = c->refusal;
	return c->refusal.kind ? -1 : 0;
}

/* The same for what stops the application: the runtime does that when no collection is under way, and a forced collection waits for one in the background. */
static int await_heap_stop(struct heap_client *c, uint16_t answer, const char *what, int64_t deadline_ms, struct err *e)
{
	struct err why = ERR_INIT;

	if (await_heap_answer(c, answer, what, deadline_ms, &why) == 0)
		return 0;
	if (e)
		*e = why;
	if (why.kind == ERR_TIMEOUT)
		err_set(e, ERR_TIMEOUT, why.code, "%.300s (a garbage collection may be under way)", why.message);
	return -1;
}

/* The request goes out with its descriptor, past the queue, which is empty between requests. */
static int send_with_fd(int channel_fd, int fd, struct err *e)
{
	uint8_t frame[CHANNEL_HEADER_SIZE];
	struct wire_writer w;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof fd)];
	} control = {0};
	struct iovec v = {frame, sizeof frame};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	channel_begin(&w, frame, sizeof frame, HEAP_FRAME_RING);
	channel_end(&w);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	if (sendmsg(channel_fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof frame)
		return err_set_errno(e, errno, "pass the heap walk's memory to the profiler library");
	return 0;
}

int heap_client_pass_ring(struct heap_client *c, int fd, int64_t deadline_ms, struct err *e)
{
	if (!profiler_channel_idle(c->channel))
		return err_set(e, ERR_INTERNAL, 0, "the channel is in use");
	if (send_with_fd(profiler_channel_fd(c->channel), fd, e) < 0)
		return -1;
	return await_heap_answer(c, HEAP_FRAME_RING_READY, "map the heap walk's memory", deadline_ms, e);
}

int heap_client_predict(struct heap_client *c, const struct heap_predict_request *q, struct heap_prediction *out, int64_t deadline_ms, struct err *e)
{
	uint8_t payload[16];
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	heap_put_predict_request(&w, q);
	if (profiler_channel_request(c->channel, HEAP_FRAME_PREDICT, payload, w.pos, e) < 0 ||
	    await_heap_stop(c, HEAP_FRAME_PREDICTION, "look at the heap", deadline_ms, e) < 0)
		return -1;
	*out = c->prediction;
	return 0;
}

int heap_client_walk(struct heap_client *c, const struct heap_walk_request *q, struct heap_walked *out, int64_t deadline_ms, struct err *e)
{
	uint8_t payload[64];
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	heap_put_walk_request(&w, q);
	if (profiler_channel_request(c->channel, HEAP_FRAME_WALK, payload, w.pos, e) < 0 ||
	    await_heap_stop(c, HEAP_FRAME_WALKED, "walk the heap", deadline_ms, e) < 0)
		return -1;
	*out = c->walked;
	return 0;
}

static int name(struct heap_client *c, uint16_t type, const struct wire_writer *w, int64_t deadline_ms, struct err *e)
{
	if (w->bad)
		return err_set(e, ERR_INTERNAL, 0, "too many names in a request");
	if (profiler_channel_request(c->channel, type, w->data, w->pos, e) < 0)
		return -1;
	return await_heap_answer(c, HEAP_FRAME_NAMED, "name what the heap walk met", deadline_ms, e);
}

static int name_ids(struct heap_client *c, uint16_t type, const uint64_t *ids, size_t count, int64_t deadline_ms, struct err *e)
{
	uint8_t payload[4 + HEAP_FRAME_MAX_IDS * 8];
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u32(&w, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		wire_put_u64(&w, ids[i]);
	return name(c, type, &w, deadline_ms, e);
}

int heap_client_name_types(struct heap_client *c, const uint64_t *class_ids, size_t count, int64_t deadline_ms, struct err *e)
{
	return name_ids(c, HEAP_FRAME_NAME_TYPES, class_ids, count, deadline_ms, e);
}

int heap_client_name_functions(struct heap_client *c, const uint64_t *ids, size_t count, int64_t deadline_ms, struct err *e)
{
	return name_ids(c, HEAP_FRAME_NAME_FUNCTIONS, ids, count, deadline_ms, e);
}

int heap_client_name_statics(struct heap_client *c, const struct heap_static_record *statics, size_t count, int64_t deadline_ms,
			     struct err *e)
{
	uint8_t payload[4 + HEAP_FRAME_MAX_IDS * 12];
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u32(&w, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		wire_put_u64(&w, statics[i].class_id);
		wire_put_u32(&w, statics[i].token);
	}
	return name(c, HEAP_FRAME_NAME_STATICS, &w, deadline_ms, e);
}
