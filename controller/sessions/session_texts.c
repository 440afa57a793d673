#include "controller/sessions/session_texts.h"

#include "controller/sessions/session_findings.h"
#include "controller/sessions/session_object.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const size_t session_text_max[SESSION_TEXTS] = {63, 253, 253, 63, 320, 253, 39, 63, 253, WORKLOAD_TEXT_SIZE - 1, SESSION_FINDINGS_TEXT};

/* The trigger that made it: its owner. */
static const char *trigger_of(const json_t *object)
{
	const json_t *list = jsonx_at(object, "metadata.ownerReferences");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *owner = json_array_get(list, i);
		if (strcmp(jsonx_str_at(owner, "kind", ""), "ProfilingTrigger") == 0)
			return jsonx_str_at(owner, "name", "");
	}
	return "";
}

static const char *session_annotation(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(jsonx_at(object, "metadata.annotations"), key));
	return value ? value : "";
}

/* "MemoryLeak:87 NoMemoryLimit?40": those that lead; the mark says what is only possible. */
static const char *finding_words(const json_t *object, char out[SESSION_FINDINGS_TEXT])
{
	const json_t *list = jsonx_at(object, "status.findings");
	size_t n = 0;
	out[0] = '\0';
	for (size_t i = 0; i < json_array_size(list) && i < SESSION_FINDINGS_MAX; i++) {
		const json_t *f = json_array_get(list, i);
		const char *id = jsonx_str_at(f, "id", "");
		bool found = strcmp(jsonx_str_at(f, "state", ""), "Found") == 0;
		int rest = snprintf(out + n, SESSION_FINDINGS_TEXT - n, "%s%.47s%c%" PRId64, n ? " " : "", id, found ? ':' : '?', jsonx_int_at(f, "score", 0));
		if (rest < 0 || n + (size_t)rest >= SESSION_FINDINGS_TEXT) {
			out[n] = '\0';
			break;
		}
		n += (size_t)rest;
	}
	return out;
}

void session_texts_read(const json_t *object, const char *out[SESSION_TEXTS], char findings[SESSION_FINDINGS_TEXT])
{
	out[SESSION_NAMESPACE] = jsonx_str_at(object, "metadata.namespace", "");
	out[SESSION_NAME] = jsonx_str_at(object, "metadata.name", "");
	out[SESSION_UID] = jsonx_str_at(object, "metadata.uid", "");
	out[SESSION_PROFILER] = jsonx_str_at(object, "spec.profiler", "");
	out[SESSION_TARGET] = jsonx_str_at(object, "status.targetSummary", jsonx_str_at(object, "spec.target.podName", ""));
	out[SESSION_STATE] = jsonx_str_at(object, "status.state", "Pending");
	out[SESSION_HEADLINE] = jsonx_str_at(object, "status.headline", "");
	out[SESSION_REQUESTER] = session_annotation(object, SESSION_REQUESTED_BY);
	out[SESSION_TRIGGER] = trigger_of(object);
	out[SESSION_WORKLOAD] = jsonx_str_at(json_array_get(jsonx_at(object, "status.targets"), 0), "workload", "");
	out[SESSION_FINDINGS] = finding_words(object, findings);
}
