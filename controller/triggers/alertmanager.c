#include "controller/triggers/alertmanager.h"

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SUMMARY_MAX_BYTES 200
#define NAME_MAX_BYTES 128

static void alert_fini(struct alert *a)
{
	for (size_t i = 0; i < a->label_count; i++) {
		free(a->labels[i].name);
		free(a->labels[i].value);
	}
	free(a->labels);
	free(a->fingerprint);
	free(a->starts_at);
	free(a->problem);
}

void alertmanager_fini(struct alert_notification *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++)
		alert_fini(&n->alerts[i]);
	free(n->alerts);
	*n = (struct alert_notification){0};
}

const char *alert_label(const struct alert *a, const char *name)
{
	for (size_t i = 0; i < a->label_count; i++) {
		if (strcmp(a->labels[i].name, name) == 0)
			return a->labels[i].value;
	}
	return "";
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

/* A value that is cut would match what the whole one does not. */
static int read_labels(const json_t *labels, struct alert *a, struct err *e)
{
	const char *name;
	json_t *value;
	if (json_object_size(labels) > ALERTMANAGER_MAX_LABELS)
		return err_set(e, ERR_INVALID, 0, "labels: more than %d", ALERTMANAGER_MAX_LABELS);
	a->labels = mem_calloc(json_object_size(labels) + 1, sizeof *a->labels);
	json_object_foreach((json_t *)labels, name, value) {
		const char *text = json_string_value(value);
		if (!text)
			return err_set(e, ERR_INVALID, 0, "labels: expected texts");
		if (strlen(text) > ALERTMANAGER_MAX_VALUE || strlen(name) > ALERTMANAGER_MAX_VALUE)
			return err_set(e, ERR_INVALID, 0, "labels: a name or value is longer than %d bytes", ALERTMANAGER_MAX_VALUE);
		a->labels[a->label_count++] = (struct alert_label){mem_strdup(name), mem_strdup(text)};
	}
	return 0;
}

/* Fingerprint and start name the occurrence: Alertmanager repeats both with each notification of it. */
static int read_occurrence(const json_t *obj, const char *key, char **out, struct err *e)
{
	const char *text = NULL;
	if (jsonx_string(obj, "alerts[]", key, true, &text, e) < 0)
		return -1;
	if (!text[0] || strlen(text) > NAME_MAX_BYTES)
		return err_set(e, ERR_INVALID, 0, "alerts[].%s: expected 1 to %d bytes", key, NAME_MAX_BYTES);
	*out = mem_strdup(text);
	return 0;
}

static int read_alert(const json_t *obj, struct alert *a, struct err *e)
{
	const char *status = NULL;
	const json_t *labels = NULL;
	if (!json_is_object(obj))
		return err_set(e, ERR_INVALID, 0, "alerts[]: expected an object");
	if (jsonx_string(obj, "alerts[]", "status", true, &status, e) < 0)
		return -1;
	a->firing = strcmp(status, "firing") == 0;
	if (!a->firing && strcmp(status, "resolved") != 0)
		return err_set(e, ERR_INVALID, 0, "alerts[].status: expected firing or resolved");
	if (read_occurrence(obj, "fingerprint", &a->fingerprint, e) < 0 || read_occurrence(obj, "startsAt", &a->starts_at, e) < 0 ||
	    jsonx_object(obj, "alerts[]", "labels", true, &labels, e) < 0)
		return -1;
	return read_labels(labels, a, e);
}

static int read_notification(const json_t *doc, struct alert_notification *out, struct err *e)
{
	const json_t *alerts = NULL;
	const char *version = NULL;
	if (!json_is_object(doc))
		return err_set(e, ERR_INVALID, 0, "expected an object, as Alertmanager's webhook sends it");
	if (jsonx_string(doc, "", "version", true, &version, e) < 0)
		return -1;
	if (strcmp(version, "4") != 0)
		return err_set(e, ERR_INVALID, 0, "version: expected \"4\", which Alertmanager 0.16 and newer send");
	if (jsonx_array(doc, "", "alerts", true, &alerts, e) < 0 ||
	    jsonx_int(doc, "", "truncatedAlerts", false, 0, INT64_MAX, &out->truncated, e) < 0)
		return -1;
	if (json_array_size(alerts) > ALERTMANAGER_MAX_ALERTS)
		return err_set(e, ERR_INVALID, 0, "alerts: more than %d; set max_alerts in the receiver's webhook_configs", ALERTMANAGER_MAX_ALERTS);
	out->alerts = mem_calloc(json_array_size(alerts) + 1, sizeof *out->alerts);
	for (size_t i = 0; i < json_array_size(alerts); i++) {
		struct alert *a = &out->alerts[out->count++];
		struct err why = ERR_INIT;
		if (read_alert(json_array_get(alerts, i), a, &why) < 0)
			a->problem = mem_strdup(why.message);
	}
	return 0;
}

int alertmanager_parse(const char *text, size_t len, struct alert_notification *out, struct err *e)
{
	*out = (struct alert_notification){0};
	struct err why = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(text, len, "notification", &why);
	if (doc && read_notification(doc, out, &why) == 0)
		return 0;
	alertmanager_fini(out);
	return err_set(e, ERR_INVALID, 0, "%s", why.message);
}

/* The target ------------------------------------------------------------------------------------------------------- */

/* A DNS subdomain name, as names of objects are; of containers it is a label. */
static bool is_object_name(const char *s, size_t most)
{
	size_t len = strlen(s);
	if (len == 0 || len > most || !isalnum((unsigned char)s[0]) || !isalnum((unsigned char)s[len - 1]))
		return false;
	for (; *s; s++) {
		if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && *s != '-' && *s != '.')
			return false;
	}
	return true;
}

static int name_from(const struct alert *a, const char *label, size_t most, const char **out, struct err *e)
{
	const char *value = alert_label(a, label);
	*out = value[0] ? value : NULL;
	if (!*out || is_object_name(value, most))
		return 0;
	return err_set(e, ERR_INVALID, 0, "label %s: no name of a pod or container; correct the rule, or spec.source.alertmanager.targetLabels", label);
}

/* "alert HighCPU: checkout uses 95%" is for people; it stands in annotations and events, so it is cut and has no control characters. */
static char *alert_summary(const struct alert *a)
{
	AUTO_BUF struct buf out;
	buf_init(&out, 4 * SUMMARY_MAX_BYTES + 64);
	const char *name = alert_label(a, "alertname"), *severity = alert_label(a, "severity");
	buf_puts(&out, "alert ");
	text_append_printable(&out, name[0] ? name : "without a name", text_cut_utf8(name[0] ? name : "without a name", SUMMARY_MAX_BYTES));
	if (severity[0]) {
		buf_puts(&out, ", severity ");
		text_append_printable(&out, severity, text_cut_utf8(severity, 40));
	}
	buf_puts(&out, ", since ");
	text_append_printable(&out, a->starts_at, text_cut_utf8(a->starts_at, 40));
	return buf_steal(&out);
}

int alertmanager_target(const struct alert *a, const struct profiling_trigger *t, struct alert_target *out, struct err *e)
{
	*out = (struct alert_target){0};
	const struct trigger_alertmanager *from = &t->spec.alertmanager;
	if (name_from(a, from->pod_label, 253, &out->pod_name, e) < 0 || name_from(a, from->container_label, 63, &out->container, e) < 0)
		return -1;
	out->dedup = mem_printf("%s/%s", a->fingerprint, a->starts_at);
	out->message = alert_summary(a);
	return 0;
}

void alert_target_fini(struct alert_target *t)
{
	if (!t)
		return;
	free(t->dedup);
	free(t->message);
	*t = (struct alert_target){0};
}
