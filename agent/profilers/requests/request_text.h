/* What SlowRequests says in words. Pure; any thread. */
#ifndef DRDOTNET_REQUEST_TEXT_H
#define DRDOTNET_REQUEST_TEXT_H

#include "agent/profilers/requests/request_numbers.h"

/* The lines of the diagnosis; the first is the headline. Into an empty buffer. */
void request_text_put(const struct request_analysis *a, const struct request_numbers *n, const struct findings *f, struct buf *out);

/* "310 us", "84 ms", "2.3 s" */
void request_text_length(struct buf *out, double ns);

/* An endpoint's name, cut to so many characters. */
/* The end of a method's name, which says most: "Warehouse.Reserve" of "Shop.Warehouse.Reserve". Behind `before`; nothing at all
 * where none of it has room. */
void request_text_method(struct buf *out, const char *before, const char *name, size_t max_chars);
void request_text_endpoint(struct buf *out, const char *name, size_t max_chars);

#endif
