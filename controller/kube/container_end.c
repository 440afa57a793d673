#include "controller/kube/container_end.h"

#include "common/base/text.h"

#include <stdio.h>
#include <string.h>

#define HEAD "Unhandled exception. "
#define INNER "\n ---> "
#define FRAME "\n   at "

static bool is_of_container(const json_t *terminated, const char *container_id)
{
	const char *id = jsonx_str_at(terminated, "containerID", ""), *scheme = strstr(id, "://");
	return scheme && strcmp(scheme + 3, container_id) == 0;
}

/* "Error" and "Completed" say whether the code is 0. */
static void copy_reason(const json_t *terminated, struct container_end *out)
{
	const char *reason = jsonx_str_at(terminated, "reason", "");
	if (strcmp(reason, "Error") != 0 && strcmp(reason, "Completed") != 0)
		snprintf(out->reason, sizeof out->reason, "%s", reason);
}

static bool take_end(const json_t *entry, const char *state, const char *container_id, struct container_end *out)
{
	const json_t *terminated = jsonx_at(entry, state);
	const json_t *code = terminated ? json_object_get(terminated, "exitCode") : NULL;
	if (!json_is_integer(code) || !is_of_container(terminated, container_id))
		return false;
	*out = (struct container_end){.exit = exit_status_of_code(json_integer_value(code), jsonx_int_at(terminated, "signal", 0))};
	jsonx_copy_at(entry, "name", out->container, sizeof out->container);
	copy_reason(terminated, out);
	container_end_exception(jsonx_str_at(terminated, "message", ""), out);
	return true;
}

bool container_end_of_pod(const json_t *pod, const char *container_id, struct container_end *out)
{
	static const char *const lists[] = {"status.containerStatuses", "status.initContainerStatuses", "status.ephemeralContainerStatuses"};
	size_t i;
	json_t *entry;
	for (size_t k = 0; container_id[0] && k < 3; k++)
		json_array_foreach(jsonx_at(pod, lists[k]), i, entry)
			if (take_end(entry, "state.terminated", container_id, out) || take_end(entry, "lastState.terminated", container_id, out))
				return true;
	return false;
}

/* A name of .NET's: what it writes of types and methods, up to what follows them. Cut where it is long; "": it is none. */
static void copy_name(const char *from, const char *stops, char *out, size_t size)
{
	size_t n = strcspn(from, stops);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)from[i] <= ' ' || from[i] == 0x7f)
			n = 0;
	n = n < size ? n : text_cut_utf8(from, size - 1);
	snprintf(out, size, "%.*s", (int)n, from);
}

bool container_end_exception(const char *words, struct container_end *out)
{
	const char *type = NULL, *frame;
	for (const char *p = words; (p = strstr(p, HEAD)); p += strlen(HEAD))
		type = p + strlen(HEAD); /* the last one: the words may be of earlier ones, too */
	if (!type)
		return false;
	frame = strstr(type, FRAME);
	for (const char *p = type; (p = strstr(p, INNER)) && (!frame || p < frame);)
		type = p += strlen(INNER);
	copy_name(type, ":\n ", out->exception, sizeof out->exception);
	if (frame && out->exception[0])
		copy_name(frame + strlen(FRAME), "(\n", out->thrown_in, sizeof out->thrown_in);
	return out->exception[0] != '\0';
}

void container_end_text(const struct container_end *e, struct buf *out)
{
	buf_printf(out, "%s ended: %s%s", e->container, e->reason, e->reason[0] ? ", " : "");
	exit_status_text(&e->exit, out);
	if (e->exception[0])
		buf_printf(out, "; unhandled %s%s%s", e->exception, e->thrown_in[0] ? ", thrown in " : "", e->thrown_in);
}
