#include "agent/jobs/spool_state.h"

#include "common/base/cleanup.h"
#include "common/base/jsonx.h"

#include <string.h>

static int put_message(json_t *doc, const char *key, const struct link_msg *m, struct err *e)
{
	AUTO_FREE char *text = link_msg_encode(m, e);
	json_t *part = text ? jsonx_parse(text, strlen(text), key, e) : NULL;
	if (!part)
		return -1;
	json_object_set_new(doc, key, part);
	return 0;
}

char *spool_state_encode(const struct link_order *order, const struct link_job *job, size_t max_bytes, struct err *e)
{
	/* Borrowed shallow copies: encoding only reads them. */
	struct link_msg with_order = {.type = LINK_MSG_ORDER, .u.order = *order};
	struct link_msg with_job = {.type = LINK_MSG_JOB, .u.job = *job};
	AUTO_JSON json_t *doc = json_object();
	if (put_message(doc, "order", &with_order, e) < 0 || put_message(doc, "job", &with_job, e) < 0)
		return NULL;
	return jsonx_dump(doc, max_bytes, e);
}

static int get_message(const json_t *doc, const char *key, enum link_msg_type type, struct link_msg *m, struct err *e)
{
	const json_t *part = NULL;
	if (jsonx_object(doc, "", key, true, &part, e) < 0)
		return -1;
	AUTO_FREE char *text = jsonx_dump(part, LINK_MESSAGE_MAX, e);
	if (!text || link_msg_decode(text, strlen(text), m, e) < 0)
		return -1;
	if (m->type == type)
		return 0;
	link_msg_fini(m);
	return err_set(e, ERR_PROTOCOL, 0, "%s: not what was saved", key);
}

int spool_state_decode(const char *text, size_t len, struct link_order *order, struct link_job *job, struct err *e)
{
	AUTO_JSON json_t *doc = jsonx_parse(text, len, "job state", e);
	struct link_msg with_order, with_job;
	if (!doc || get_message(doc, "order", LINK_MSG_ORDER, &with_order, e) < 0)
		return -1;
	const char *wrong = with_order.u.order.spec_error;
	if (wrong[0])
		err_set(e, ERR_PROTOCOL, 0, "order: %s", wrong);
	if (wrong[0] || get_message(doc, "job", LINK_MSG_JOB, &with_job, e) < 0) {
		link_msg_fini(&with_order);
		return -1;
	}
	*order = with_order.u.order; /* ownership moves with the bytes */
	*job = with_job.u.job;
	return 0;
}
