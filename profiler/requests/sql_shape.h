/* The shape of an SQL command: names and keywords stay, each literal becomes ?, comments go, a list of values becomes one. What cannot be told from a literal
 * is left out, or the shape ends there, so that no value leaves the process. Pure; any context; bounded work. */
#ifndef DRDOTNET_SQL_SHAPE_H
#define DRDOTNET_SQL_SHAPE_H

#include "profiler/requests/request_event.h"

#define SQL_SHAPE_BYTES 120 /* with no NUL; printable ASCII */

/* Whose rules tell where a literal begins and ends. */
enum sql_dialect {
	SQL_OF_ANY, /* not known: where the servers' rules differ, the shape ends */
	SQL_OF_POSTGRES,
	SQL_OF_SQL_SERVER,
	SQL_OF_SQLITE,
	SQL_OF_MYSQL, /* in any sql_mode: text in double quotes is a literal, a backslash may hide a quote or not */
};

/* By the type of the client's command: "Microsoft.Data.Sqlite.SqliteCommand". */
enum sql_dialect sql_dialect_of(const struct event_text *client);
/* Returns the bytes written. */
uint16_t sql_shape_make(const struct event_text *sql, enum sql_dialect dialect, char out[SQL_SHAPE_BYTES]);

#endif
