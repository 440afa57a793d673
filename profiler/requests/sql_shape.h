/* The shape of an SQL command: names and keywords stay, each literal becomes ?, comments go, a list of values becomes one. What cannot be told apart is left
 * out, so that no value leaves the process. Pure; any context; bounded work. */
#ifndef DRDOTNET_SQL_SHAPE_H
#define DRDOTNET_SQL_SHAPE_H

#include "profiler/requests/request_event.h"

#define SQL_SHAPE_BYTES 120 /* with no NUL; printable ASCII */

/* Returns the bytes written. */
uint16_t sql_shape_make(const struct event_text *sql, char out[SQL_SHAPE_BYTES]);

#endif
