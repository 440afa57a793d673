/* Server-sent events of an answer (web_respond_events). */
#ifndef DRDOTNET_WEB_EVENTS_H
#define DRDOTNET_WEB_EVENTS_H

#include "common/base/buf.h"

struct web_waker;

/* "event: NAME", "data: ..." for each line of data, a blank line. */
void web_events_append(struct buf *out, const char *name, const char *data);

/* Any thread, never blocks: there is something new. Many wakes may become one next(); after the stream's end nothing happens. */
void web_waker_wake(struct web_waker *w);
void web_waker_unref(struct web_waker *w);

#endif
