/* What a session is doing, from its object, in words for a terminal. Pure, but for what prints. */
#ifndef DRDOTNET_PLUGIN_PROGRESS_H
#define DRDOTNET_PLUGIN_PROGRESS_H

#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/terminal/term_text.h"

struct plugin_progress {
	bool completed;         /* at its end, in whatever way */
	bool succeeded;
	bool delivering;        /* the diagnosis is there, reports are under way */
	const char *reason;     /* of Succeeded; "" before the controller saw it; borrowed from the object, like the others */
	const char *message;
	const char *diagnosis;  /* "" when there is none */
};

/* The session's condition of this type; borrowed. NULL: none. */
const json_t *plugin_progress_condition(const json_t *session, const char *type);

void plugin_progress_read(const json_t *session, struct plugin_progress *out);

/* The line of a moment, without newline: phase, queue place, seconds left. */
int plugin_progress_line(const json_t *session, int64_t now_wall_ms, struct buf *out);

/* The end: the diagnosis, and per pod what became of it and where its reports are. */
int plugin_progress_result(const json_t *session, const struct term_page *page, struct buf *out);
void plugin_progress_print(const json_t *session); /* the same to standard output, as wide as its terminal */

#endif
