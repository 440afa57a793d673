/* Wakers: how another thread says that a stream of events has something new, while the stream may end at any time. */
#include "common/web/web_events.h"

#include "common/base/mem.h"
#include "common/web/web_private.h"

#include <stdlib.h>
#include <string.h>

void web_events_append(struct buf *out, const char *name, const char *data)
{
	buf_printf(out, "event: %s\n", name);
	do {
		size_t len = strcspn(data, "\r\n");
		buf_puts(out, "data: ");
		buf_append(out, data, len);
		buf_putc(out, '\n');
		data += len;
		data += *data == '\r' && data[1] == '\n' ? 2 : *data != '\0';
	} while (*data);
	buf_putc(out, '\n');
}

/* Two references: the exchange's and the handler's. */
struct web_waker *web_waker_new(struct web_exchange *x)
{
	struct web_waker *w = mem_alloc(sizeof *w);
	pthread_mutex_init(&w->lock, NULL);
	w->refs = 2;
	w->server = x->server;
	w->exchange = x;
	x->waker = w;
	return w;
}

void web_waker_unref(struct web_waker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	bool last = --w->refs == 0;
	pthread_mutex_unlock(&w->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* The list has a reference of its own. Locks: the waker's, then the server's. */
void web_waker_wake(struct web_waker *w)
{
	pthread_mutex_lock(&w->lock);
	struct web_server *s = w->waiting ? NULL : w->server;
	if (s) {
		w->waiting = true;
		w->refs++;
		pthread_mutex_lock(&s->lock);
		w->next = s->woken;
		s->woken = w;
		pthread_mutex_unlock(&s->lock);
		lws_cancel_service(s->context);
	}
	pthread_mutex_unlock(&w->lock);
}

void web_waker_end(struct web_waker *w)
{
	pthread_mutex_lock(&w->lock);
	w->server = NULL;
	pthread_mutex_unlock(&w->lock);
	w->exchange = NULL;
	web_waker_unref(w);
}

void web_waker_deliver(struct web_server *s)
{
	pthread_mutex_lock(&s->lock);
	struct web_waker *w = s->woken;
	s->woken = NULL;
	pthread_mutex_unlock(&s->lock);
	while (w) {
		struct web_waker *next = w->next;
		pthread_mutex_lock(&w->lock);
		w->waiting = false;
		pthread_mutex_unlock(&w->lock);
		if (w->exchange)
			web_conn_woken(w->exchange);
		web_waker_unref(w);
		w = next;
	}
}
