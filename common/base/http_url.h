/* URLs whose parts are encoded. */
#ifndef DRDOTNET_HTTP_URL_H
#define DRDOTNET_HTTP_URL_H

#include "common/base/buf.h"

/* Builds "base/path?key=value&..." in *out (initialised by the caller). Path segments and values are percent-encoded here. */
int http_url_begin(struct buf *out, const char *base);
int http_url_segment(struct buf *out, const char *segment);          /* adds "/segment" encoded */
int http_url_query(struct buf *out, const char *key, const char *value); /* adds ?key=value or &key=value */

#endif
