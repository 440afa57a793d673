#include "controller/link/store_call.h"

#include "common/base/mem.h"
#include "common/web/web_pool.h"
#include "controller/kube/kube_clock.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static void free_store_call(struct store_call *c)
{
	c->server->store_calls--;
	buf_fini(&c->piece);
	free(c->key);
	free(c->query);
	free(c);
}

static void close_store_call(struct store_call *c)
{
	report_upload_abort(c->upload);
	c->upload = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static void deliver_store_call(struct link_server *s, struct link_event *ev)
{
	struct store_call *c = (struct store_call *)ev;
	(void)s;
	c->at_work = false;
	if (c->conn)
		c->done(c->conn, c);
	else if (c->upload || c->fd >= 0)
		store_call_start(c, close_store_call, NULL);
	else
		free_store_call(c);
}

static void run_store_call(void *arg)
{
	struct store_call *c = arg;
	c->step(c);
	link_server_post(c->server, &c->ev);
}

struct store_call *store_call_new(struct link_server *s, struct http_conn *conn, const char *key, const char *query)
{
	if (s->store_calls >= s->config.max_store_calls)
		return NULL;
	s->store_calls++;
	struct store_call *c = mem_alloc(sizeof *c);
	c->ev.deliver = deliver_store_call;
	c->server = s;
	c->conn = conn;
	c->key = mem_strdup(key);
	c->query = mem_strdup(query);
	c->fd = -1;
	buf_init(&c->piece, LWS_PRE + 2 * STORE_CALL_PIECE_BYTES);
	return c;
}

void store_call_start(struct store_call *c, void (*step)(struct store_call *c), store_call_done *done)
{
	c->at_work = true;
	c->step = step;
	c->done = done;
	c->error = (struct err)ERR_INIT;
	if (c->server->store_pool && web_pool_submit(c->server->store_pool, run_store_call, c, 0))
		return;
	step(c); /* the server has ended, and its threads with it */
	deliver_store_call(c->server, &c->ev);
}

void store_call_drop(struct store_call *c)
{
	if (!c)
		return;
	c->conn = NULL;
	if (!c->at_work)
		deliver_store_call(c->server, &c->ev);
}

/* Steps, in the store's threads ------------------------------------------------------------------------------------ */

void store_call_begin_upload(struct store_call *c)
{
	c->upload = report_upload_begin(c->server->config.reports, c->key, c->query, kube_clock_wall_ms(), &c->error);
}

void store_call_write(struct store_call *c)
{
	report_upload_write(c->upload, buf_str(&c->piece), c->piece.len, &c->error);
	buf_reset(&c->piece);
}

void store_call_commit(struct store_call *c)
{
	report_upload_commit(c->upload, &c->error);
	c->upload = NULL;
}

void store_call_next_piece(struct store_call *c)
{
	static const char room[LWS_PRE + STORE_CALL_PIECE_BYTES];
	size_t wanted = c->left < STORE_CALL_PIECE_BYTES ? (size_t)c->left : STORE_CALL_PIECE_BYTES;
	buf_reset(&c->piece);
	buf_append(&c->piece, room, LWS_PRE + wanted);
	ssize_t n = wanted ? read(c->fd, c->piece.data + LWS_PRE, wanted) : 0;
	if (n < 0 || (n == 0 && wanted))
		err_set(&c->error, ERR_RETRY, n < 0 ? errno : 0, "the report cannot be read to its end");
	else
		c->piece.len = LWS_PRE + (size_t)n;
	c->left -= n > 0 ? n : 0;
}

void store_call_open(struct store_call *c)
{
	c->fd = report_store_open(c->server->config.reports, c->key, &c->left, &c->error);
	if (c->fd >= 0)
		store_call_next_piece(c);
}
