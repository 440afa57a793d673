/* Exchanges: what workers do for them, and their end. */
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/web/web_private.h"

#include <stdlib.h>
#include <utlist.h>

/* Worker ---------------------------------------------------------------------------------------------------------- */

static void handle_exchange(struct web_exchange *x)
{
	struct web_response *r = &x->response;
	web_response_init(r, x);
	if (atomic_load(&x->server->stopping))
		web_respond_problem(r, 503, NULL, NULL, "The server stops; try again.");
	else
		x->route->handler(x->route->ctx, &x->request, r);
	if (!r->status)
		web_respond_problem(r, 500, NULL, NULL, "The server has no answer to this request.");
}

static void read_response_stream(struct web_exchange *x)
{
	struct web_stream *stream = &x->response.stream;
	struct err e = ERR_INIT;
	char *bytes = mem_realloc(NULL, WEB_CHUNK_BYTES, 1);
	ssize_t n = stream->read(stream->ctx, bytes, WEB_CHUNK_BYTES, &e);
	if (n < 0)
		LOG_WARN("web", "an answer is cut: its source failed", LOG_S("path", x->request.path), LOG_S("error", e.message));
	x->failed = n < 0;
	x->finished = n <= 0;
	if (n > 0)
		buf_append(&x->chunk, bytes, (size_t)n);
	free(bytes);
}

static void read_next_events(struct web_exchange *x)
{
	x->finished = x->response.events.next(x->response.events.ctx, &x->chunk);
	x->failed = x->chunk.full; /* half an event is none */
}

static void do_task(void *arg)
{
	struct web_exchange *x = arg;
	struct web_server *s = x->server;
	if (x->task == WEB_TASK_HANDLE)
		handle_exchange(x);
	else if (x->task == WEB_TASK_READ)
		read_response_stream(x);
	else
		read_next_events(x);
	pthread_mutex_lock(&s->lock);
	x->done_next = NULL;
	if (s->done_last)
		s->done_last->done_next = x;
	else
		s->done_first = x;
	s->done_last = x;
	pthread_mutex_unlock(&s->lock);
	lws_cancel_service(s->context);
}

/* Network thread -------------------------------------------------------------------------------------------------- */

struct web_exchange *web_exchange_new(struct web_server *s, struct web_conn *c)
{
	struct web_exchange *x = mem_alloc(sizeof *x);
	x->server = s;
	x->conn = c;
	buf_init(&x->request.body, s->config.max_body_bytes + 1);
	DL_APPEND(s->exchanges, x);
	return x;
}

int web_exchange_submit(struct web_exchange *x, enum web_task task)
{
	buf_fini(&x->chunk);
	if (task != WEB_TASK_HANDLE)
		buf_init(&x->chunk, task == WEB_TASK_READ ? WEB_CHUNK_BYTES : WEB_EVENT_MAX_BYTES);
	x->task = task;
	x->busy = web_pool_submit(x->server->pool, do_task, x, task == WEB_TASK_HANDLE ? x->server->config.max_queued : 0);
	return x->busy ? 0 : -1;
}

static void close_source(struct web_response *r)
{
	if (r->kind == WEB_BODY_STREAM)
		r->stream.close(r->stream.ctx);
	if (r->kind == WEB_BODY_EVENTS)
		r->events.close(r->events.ctx);
}

static void close_and_free(void *arg)
{
	struct web_exchange *x = arg;
	close_source(&x->response);
	web_response_fini(&x->response);
	web_request_fini(&x->request);
	buf_fini(&x->chunk);
	free(x);
}

static void end_exchange(struct web_exchange *x)
{
	struct web_server *s = x->server;
	DL_DELETE(s->exchanges, x);
	if (x->response.kind == WEB_BODY_EVENTS) {
		pthread_mutex_lock(&s->lock);
		s->event_streams--;
		pthread_mutex_unlock(&s->lock);
	}
	if (x->waker)
		web_waker_end(x->waker);
	bool may_block = x->response.kind == WEB_BODY_STREAM || x->response.kind == WEB_BODY_EVENTS;
	if (!may_block || !s->pool || !web_pool_submit(s->pool, close_and_free, x, 0))
		close_and_free(x);
}

void web_exchange_drop(struct web_exchange *x)
{
	x->conn = NULL;
	if (!x->busy)
		end_exchange(x); /* else when its task is done: web_conn_done */
}

void web_exchange_end_all(struct web_server *s)
{
	struct web_exchange *x, *next;
	DL_FOREACH_SAFE(s->exchanges, x, next)
		web_exchange_drop(x);
}
