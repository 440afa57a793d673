/* Context: CLR callback (event, command, end) and own thread. */
#include "profiler/requests/request_calls.h"

#include "common/proto/difference.h"
#include "profiler/requests/request_send.h"
#include "profiler/requests/request_table.h"
#include "profiler/requests/shape_table.h"

#define COMMANDS_AT_ONCE 8 /* of one request; more are not followed */
#define OF_COMMAND 0xfeu   /* begins no activity's path */
#define OF_LISTENER 1      /* calls that are told of in windows only */

static _Atomic bool has_commands; /* Npgsql's */

/* Npgsql's ends of commands do not have the activities of their beginnings, but those of their requests: the last one that began is taken to end. */
static struct activity_path command_key(uint32_t number, uint32_t i)
{
	return (struct activity_path){(uint64_t)number << 8 | OF_COMMAND, i};
}

static void put_command(const struct request *call)
{
	uint32_t i = 0;

	atomic_store_explicit(&has_commands, true, memory_order_relaxed);
	while (i < COMMANDS_AT_ONCE && !request_table_put(&calls_open, command_key(call->number, i), call))
		i++;
}

static bool take_command(uint32_t number, struct request *out)
{
	uint32_t i = COMMANDS_AT_ONCE;

	while (i && !request_table_take(&calls_open, command_key(number, i - 1), out))
		i--;
	return i;
}

static bool on_call_start(enum call_kind kind, const struct event_pipe_event *e, struct activity_path p)
{
	struct path_shape shape;
	struct request call = {.start_ns = e->time_ns, .number = request_table_find(&requests_open, p)};

	if (!call.number)
		return true;
	if (!call_event_start(kind, e->data, e->len, &shape))
		return false;
	call.shape = shape_table_intern_call(&shape);
	if (kind == CALL_NPGSQL)
		put_command(&call);
	else
		request_table_put(&calls_open, p, &call);
	return true;
}

static bool take_call(enum call_kind kind, struct activity_path p, struct request *out)
{
	if (kind != CALL_NPGSQL)
		return request_table_take(&calls_open, p, out);
	uint32_t number = request_table_find(&requests_open, p);
	return number && take_command(number, out);
}

/* Of no request: it is for whichever needs one first. */
static void on_connection_opened(const struct event_pipe_event *e)
{
	struct path_shape shape;
	struct request call = {.start_ns = e->time_ns};

	if (!call_event_opened(e->data, e->len, &shape)) /* .NET 7 tells no host */
		return;
	call.shape = shape_table_intern_call(&shape);
	request_send_call(&call, e->time_ns);
}

/* The call goes on; that it waited is a call in it. */
static void on_call_queued(const struct event_pipe_event *e, struct activity_path p)
{
	uint64_t ns;
	uint16_t len;
	struct path_shape shape;
	struct request call;

	if (!request_table_peek(&calls_open, p, &call) || !call.number)
		return;
	const char *text = shape_table_text(call.shape, &len);
	if (!call_event_queued(e->data, e->len, &ns) || !call_event_queue_shape(text, len, &shape))
		return;
	if (call.start_ns < difference(e->time_ns, ns))
		call.start_ns = difference(e->time_ns, ns);
	call.shape = shape_table_intern_call(&shape);
	request_send_call(&call, e->time_ns);
}

bool request_calls_event(enum call_kind kind, const struct event_pipe_event *e)
{
	enum call_moment moment = call_event_moment(kind, e->id, e->metadata, e->metadata_len);
	struct activity_path p = activity_path_of(e->activity);
	struct request call;

	if (moment == CALL_START)
		return on_call_start(kind, e, p);
	if (moment == CALL_STOP && take_call(kind, p, &call))
		request_send_call(&call, e->time_ns);
	else if (moment == CALL_FAILED)
		request_table_end(&calls_open, p, 1, 0);
	else if (moment == CALL_OPENED)
		on_connection_opened(e);
	else if (moment == CALL_QUEUED)
		on_call_queued(e, p);
	return true;
}

/* The command has a number of its own; the activity is the request's, or of what it began. */
void request_calls_command(const struct event_pipe_event *e, const struct listener_call *c)
{
	struct request call = {.start_ns = e->time_ns, .stream = OF_LISTENER};

	if (c->moment == CALL_START) {
		call.number = request_table_find(&requests_open, activity_path_of(e->activity));
		call.shape = call.number ? shape_table_intern_call(&c->shape) : 0;
		if (call.number)
			request_table_put(&calls_open, c->id, &call);
	} else if (request_table_take(&calls_open, c->id, &call)) {
		call.status = c->moment == CALL_FAILED;
		request_send_call(&call, e->time_ns);
	}
}

/* Those that failed have had no end. */
void request_calls_end(uint32_t number)
{
	struct request call;

	if (atomic_load_explicit(&has_commands, memory_order_relaxed))
		while (take_command(number, &call))
			;
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */

void request_calls_end_window(void)
{
	request_table_drop(&calls_open, OF_LISTENER);
}

void request_calls_reset(void)
{
	request_table_reset(&calls_open);
	atomic_store(&has_commands, false);
}
