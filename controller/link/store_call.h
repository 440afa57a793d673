/* One HTTP request's business with the report store. What touches the disk is done by threads of its own, one step at a time for each request, and told
 * in the link's thread: a disk that hangs holds up who waits for it, and no link. Bounded: so many requests at once, each with one step in the queue.
 * Private to http_api.c, but for link_server.c, which has the threads. */
#ifndef DRDOTNET_STORE_CALL_H
#define DRDOTNET_STORE_CALL_H

#include "common/base/buf.h"
#include "controller/link/link_server_private.h"
#include "controller/store/report_store.h"

#define STORE_CALL_THREADS 2
#define STORE_CALL_PIECE_BYTES 32768

struct store_call;
typedef void store_call_done(struct http_conn *conn, struct store_call *c);

struct store_call {
	struct link_event ev;
	struct link_server *server;
	struct http_conn *conn;      /* NULL: nobody waits for it any more */
	bool at_work;                /* all below but `done` is the threads' then, else the link thread's */
	void (*step)(struct store_call *c);
	store_call_done *done;
	struct err error;            /* of the last step */
	char *key, *query;
	struct report_upload *upload;
	int fd;                      /* of a report that is read; -1: none */
	int64_t left;                /* of it, after `piece` */
	struct buf piece;            /* to be written, or what was read, after LWS_PRE bytes */
};

/* NULL: as many are under way as may be. Strings are copied; query may be NULL. */
struct store_call *store_call_new(struct link_server *s, struct http_conn *conn, const char *key, const char *query);

/* Takes the next step; `done` is called in the link's thread, unless the call was dropped meanwhile. */
void store_call_start(struct store_call *c, void (*step)(struct store_call *c), store_call_done *done);

/* Closes what is open, after the step under way. NULL is taken. */
void store_call_drop(struct store_call *c);

/* Steps. */
void store_call_begin_upload(struct store_call *c); /* makes the upload */
void store_call_write(struct store_call *c);        /* `piece` */
void store_call_commit(struct store_call *c);
void store_call_open(struct store_call *c);         /* opens the report and reads its first piece */
void store_call_next_piece(struct store_call *c);         /* the next one */

#endif
