#include "common/link/link_starts.h"

#include "common/base/mem.h"
#include "common/link/link_msg_private.h"

#define AT "awaitStarts.pods[]"

static int read_awaited_pod(const json_t *item, struct link_awaited_pod *p, struct err *e)
{
	if (!json_is_object(item))
		return err_set(e, ERR_PROTOCOL, 0, AT ": expected an object");
	if (link_msg_read_name(item, AT, "uid", true, p->uid, sizeof p->uid, e) < 0 ||
	    link_msg_read_name(item, AT, "namespace", true, p->namespace, sizeof p->namespace, e) < 0)
		return -1;
	return jsonx_int(item, AT, "frequencyHertz", true, 1, 999, &p->frequency_hertz, e);
}

int link_await_starts_read(const json_t *doc, struct link_await_starts *out, struct err *e)
{
	const json_t *pods = NULL;
	if (jsonx_int(doc, "awaitStarts", "validSeconds", true, 0, LINK_AWAIT_MAX_VALID_SECONDS, &out->valid_seconds, e) < 0 ||
	    jsonx_array(doc, "awaitStarts", "pods", true, &pods, e) < 0)
		return -1;
	if (json_array_size(pods) > LINK_MAX_AWAITED_PODS)
		return err_set(e, ERR_PROTOCOL, 0, "awaitStarts.pods: more than %d", LINK_MAX_AWAITED_PODS);
	out->count = json_array_size(pods);
	out->pods = mem_calloc(out->count ? out->count : 1, sizeof *out->pods);
	for (size_t i = 0; i < out->count; i++) {
		if (read_awaited_pod(json_array_get(pods, i), &out->pods[i], e) < 0)
			return -1;
	}
	return 0;
}

void link_await_starts_write(json_t *doc, const struct link_await_starts *a)
{
	json_t *pods = json_array();
	for (size_t i = 0; i < a->count; i++) {
		const struct link_awaited_pod *p = &a->pods[i];
		json_array_append_new(pods, json_pack("{s:s, s:s, s:I}", "uid", p->uid, "namespace", p->namespace, "frequencyHertz",
						      (json_int_t)p->frequency_hertz));
	}
	json_object_set_new(doc, "validSeconds", json_integer(a->valid_seconds));
	json_object_set_new(doc, "pods", pods);
}
