#include "controller/triggers/trigger_spec.h"

#include "common/api/label_selector.h"
#include "common/base/mem.h"
#include "controller/triggers/alert_match.h"
#include "controller/triggers/alertmanager.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEMPLATE_MAX_BYTES 65536
#define METADATA_MAX_ENTRIES 16

static const char *const source_names[] = {"alertmanager", "threshold", "schedule"};

const char *trigger_source_name(enum trigger_source source)
{
	return source_names[source];
}

static bool is_alert_label(const char *s)
{
	size_t len = strlen(s);
	if (len == 0 || len > 128 || !(isalpha((unsigned char)s[0]) || s[0] == '_'))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)s[i]) && s[i] != '_')
			return false;
	}
	return true;
}

static bool is_container(const char *s)
{
	size_t len = strlen(s);
	return len > 0 && len <= 63 && s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0' && s[0] != '-' && s[len - 1] != '-';
}

static int read_label_name(const json_t *obj, const char *path, const char *key, bool required, const char *otherwise, char **out, struct err *e)
{
	const char *s = otherwise;
	if (jsonx_string(obj, path, key, required, &s, e) < 0)
		return -1;
	if (!is_alert_label(s))
		return err_set(e, ERR_INVALID, 0, "%s.%s: not a label of an alert: \"%.80s\"; expected letters, digits and '_', the first no digit",
			       path, key, s);
	*out = mem_strdup(s);
	return 0;
}

/* A word of a list; its place there goes to *out. */
static int read_choice(const json_t *obj, const char *path, const char *key, const char *const *words, size_t count, size_t *out, struct err *e)
{
	const char *s = words[0];
	if (jsonx_string(obj, path, key, false, &s, e) < 0)
		return -1;
	for (*out = 0; *out < count; ++*out) {
		if (strcmp(words[*out], s) == 0)
			return 0;
	}
	AUTO_BUF struct buf choices;
	buf_init(&choices, 200);
	for (size_t i = 0; i < count; i++)
		buf_printf(&choices, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", words[i]);
	return err_set(e, ERR_INVALID, 0, "%s.%s: must be %s, found \"%.40s\"", path, key, buf_str(&choices), s);
}

static int read_matcher(const json_t *item, size_t index, struct trigger_matcher *m, struct err *e)
{
	static const char *const known[] = {"name", "value", "matchType", NULL};
	static const char *const types[] = {"Equal", "NotEqual", "Regex", "NotRegex"};
	char path[64];
	const char *value = NULL;
	size_t type;
	snprintf(path, sizeof path, "spec.source.alertmanager.matchers[%zu]", index);
	if (!json_is_object(item))
		return err_set(e, ERR_INVALID, 0, "%s: expected an object", path);
	if (jsonx_only_keys(item, path, known, e) < 0 || jsonx_string(item, path, "value", true, &value, e) < 0 ||
	    read_choice(item, path, "matchType", types, 4, &type, e) < 0 || read_label_name(item, path, "name", true, "", &m->name, e) < 0)
		return -1;
	if (strlen(value) > 256)
		return err_set(e, ERR_INVALID, 0, "%s.value: longer than 256 bytes", path);
	m->value = mem_strdup(value);
	m->type = (enum trigger_match)type;
	bool pattern = m->type == TRIGGER_MATCH_REGEX || m->type == TRIGGER_MATCH_NOT_REGEX;
	return pattern && alertmanager_check_pattern(value, e) < 0 ? err_prefix(e, "%s.value", path) : 0;
}

static int read_alertmanager(const json_t *source, struct trigger_alertmanager *a, struct err *e)
{
	static const char path[] = "spec.source.alertmanager";
	static const char *const known[] = {"matchers", "targetLabels", NULL}, *const known_labels[] = {"pod", "container", NULL};
	const json_t *matchers = NULL, *labels = NULL;
	if (jsonx_only_keys(source, path, known, e) < 0 || jsonx_array(source, path, "matchers", true, &matchers, e) < 0 ||
	    jsonx_object(source, path, "targetLabels", false, &labels, e) < 0 ||
	    jsonx_only_keys(labels, "spec.source.alertmanager.targetLabels", known_labels, e) < 0 ||
	    read_label_name(labels, "spec.source.alertmanager.targetLabels", "pod", false, "pod", &a->pod_label, e) < 0 ||
	    read_label_name(labels, "spec.source.alertmanager.targetLabels", "container", false, "container", &a->container_label, e) < 0)
		return -1;
	size_t count = json_array_size(matchers);
	if (count < 1 || count > TRIGGER_MAX_MATCHERS)
		return err_set(e, ERR_INVALID, 0, "%s.matchers: give 1 to %d", path, TRIGGER_MAX_MATCHERS);
	a->matchers = mem_calloc(count, sizeof *a->matchers);
	a->matcher_count = count;
	for (size_t i = 0; i < count; i++) {
		if (read_matcher(json_array_get(matchers, i), i, &a->matchers[i], e) < 0)
			return -1;
	}
	return 0;
}

static int read_above(const json_t *obj, const char *path, int64_t most, struct trigger_threshold *t, struct err *e)
{
	t->for_seconds = 60;
	if (jsonx_int(obj, path, "above", true, 1, most, &t->above_percent, e) < 0)
		return -1;
	return jsonx_int(obj, path, "forSeconds", false, 5, 3600, &t->for_seconds, e);
}

static int read_threshold_resource(const json_t *source, struct trigger_threshold *t, struct err *e)
{
	static const char *const known[] = {"percentOf", "above", "forSeconds", NULL}, *const of[] = {"Limit", "Request"};
	const json_t *cpu = NULL, *memory = NULL;
	size_t choice;
	if (jsonx_object(source, "spec.source.threshold", "cpu", false, &cpu, e) < 0 ||
	    jsonx_object(source, "spec.source.threshold", "memory", false, &memory, e) < 0)
		return -1;
	if (!cpu == !memory)
		return err_set(e, ERR_INVALID, 0, "spec.source.threshold: give either cpu or memory");
	const json_t *obj = cpu ? cpu : memory;
	const char *path = cpu ? "spec.source.threshold.cpu" : "spec.source.threshold.memory";
	if (jsonx_only_keys(obj, path, known, e) < 0 || read_choice(obj, path, "percentOf", of, cpu ? 2 : 1, &choice, e) < 0)
		return -1;
	t->resource = memory ? TRIGGER_MEMORY_OF_LIMIT : choice ? TRIGGER_CPU_OF_REQUEST : TRIGGER_CPU_OF_LIMIT;
	return read_above(obj, path, cpu ? 10000 : 100, t, e);
}

static int read_threshold(const json_t *source, struct trigger_threshold *t, struct err *e)
{
	static const char *const known[] = {"target", "cpu", "memory", NULL}, *const known_target[] = {"selector", "container", NULL};
	static const char path[] = "spec.source.threshold.target";
	const json_t *target = NULL, *selector = NULL;
	const char *container = NULL;
	if (jsonx_only_keys(source, "spec.source.threshold", known, e) < 0 ||
	    jsonx_object(source, "spec.source.threshold", "target", true, &target, e) < 0 || jsonx_only_keys(target, path, known_target, e) < 0 ||
	    jsonx_object(target, path, "selector", true, &selector, e) < 0 || jsonx_string(target, path, "container", false, &container, e) < 0 ||
	    label_selector_from_json(selector, "spec.source.threshold.target.selector", &t->selector, &t->selector_count, e) < 0)
		return -1;
	if (container && !is_container(container))
		return err_set(e, ERR_INVALID, 0, "%s.container: not a valid name: \"%.80s\"; expected at most 63 lower-case letters, digits and '-'", path,
			       container);
	t->container = mem_strdup(container);
	return read_threshold_resource(source, t, e);
}

static int read_schedule(const json_t *source, struct trigger_schedule *s, struct err *e)
{
	static const char path[] = "spec.source.schedule";
	static const char *const known[] = {"cron", "timeZone", "startingDeadlineSeconds", NULL};
	const char *text = NULL, *zone = NULL;
	s->starting_deadline_seconds = 300;
	if (jsonx_only_keys(source, path, known, e) < 0 || jsonx_string(source, path, "cron", true, &text, e) < 0 ||
	    jsonx_string(source, path, "timeZone", false, &zone, e) < 0 ||
	    jsonx_int(source, path, "startingDeadlineSeconds", false, 10, 86400, &s->starting_deadline_seconds, e) < 0)
		return -1;
	if (trigger_cron_parse(text, &s->cron, e) < 0)
		return err_prefix(e, "%s.cron", path);
	if (zone && !(s->zone = trigger_zone_open(zone, e)))
		return err_prefix(e, "%s.timeZone", path);
	s->text = mem_strdup(text);
	s->time_zone = mem_strdup(zone);
	return 0;
}

static int read_source(const json_t *spec, struct trigger_spec *s, struct err *e)
{
	static const char *const known[] = {"alertmanager", "threshold", "schedule", NULL};
	const json_t *source = NULL, *given[3] = {NULL, NULL, NULL};
	int count = 0;
	if (jsonx_object(spec, "spec", "source", true, &source, e) < 0 || jsonx_only_keys(source, "spec.source", known, e) < 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		if (jsonx_object(source, "spec.source", source_names[i], false, &given[i], e) < 0)
			return -1;
		if (given[i]) {
			s->source = (enum trigger_source)i;
			count++;
		}
	}
	if (count != 1)
		return err_set(e, ERR_INVALID, 0, "spec.source: give exactly one of alertmanager, threshold and schedule");
	switch (s->source) {
	case TRIGGER_ALERTMANAGER:
		return read_alertmanager(given[0], &s->alertmanager, e);
	case TRIGGER_THRESHOLD:
		return read_threshold(given[1], &s->threshold, e);
	case TRIGGER_SCHEDULE:
		return read_schedule(given[2], &s->schedule, e);
	}
	return 0;
}

static int check_texts(const json_t *map, const char *path, struct err *e)
{
	const char *key;
	json_t *value;
	if (json_object_size(map) > METADATA_MAX_ENTRIES)
		return err_set(e, ERR_INVALID, 0, "%s: more than %d", path, METADATA_MAX_ENTRIES);
	json_object_foreach((json_t *)map, key, value) {
		if (!json_is_string(value))
			return err_set(e, ERR_INVALID, 0, "%s.%.80s: expected a string", path, key);
	}
	return 0;
}

static int read_template_metadata(const json_t *template, struct trigger_spec *s, struct err *e)
{
	static const char path[] = "spec.sessionTemplate.metadata";
	static const char *const known[] = {"labels", "annotations", NULL};
	const json_t *metadata = NULL, *labels = NULL, *annotations = NULL;
	if (jsonx_object(template, "spec.sessionTemplate", "metadata", false, &metadata, e) < 0 || jsonx_only_keys(metadata, path, known, e) < 0 ||
	    jsonx_object(metadata, path, "labels", false, &labels, e) < 0 || jsonx_object(metadata, path, "annotations", false, &annotations, e) < 0 ||
	    check_texts(labels, "spec.sessionTemplate.metadata.labels", e) < 0 ||
	    check_texts(annotations, "spec.sessionTemplate.metadata.annotations", e) < 0)
		return -1;
	s->template_metadata = metadata ? jsonx_dump(metadata, TEMPLATE_MAX_BYTES, e) : NULL;
	return metadata && !s->template_metadata ? -1 : 0;
}

static int read_template(const json_t *spec, struct trigger_spec *s, struct err *e)
{
	static const char *const known[] = {"metadata", "spec", NULL};
	const json_t *template = NULL, *of_session = NULL;
	struct session_spec parsed;
	struct err why = ERR_INIT;
	if (jsonx_object(spec, "spec", "sessionTemplate", true, &template, e) < 0 || jsonx_only_keys(template, "spec.sessionTemplate", known, e) < 0 ||
	    jsonx_object(template, "spec.sessionTemplate", "spec", true, &of_session, e) < 0 || read_template_metadata(template, s, e) < 0)
		return -1;
	if (json_object_get(of_session, "cancel"))
		return err_set(e, ERR_INVALID, 0, "spec.sessionTemplate.spec.cancel: a template has none; leave it out");
	if (json_object_get(of_session, "reveal")) /* the session is the controller's: nobody would ask whether the author may */
		return err_set(e, ERR_INVALID, 0, "spec.sessionTemplate.spec.reveal: only a person can ask for it, in a session; leave it out");
	if (json_object_get(of_session, "start"))
		return err_set(e, ERR_INVALID, 0, "spec.sessionTemplate.spec.start: what a source tells of runs already; leave it out");
	if (session_spec_from_json(of_session, false, &parsed, &why) < 0)
		return err_set(e, why.kind, why.code, "spec.sessionTemplate.%s", why.message);
	s->template_target = parsed.target.pod_name || parsed.target.selector;
	session_spec_fini(&parsed);
	if (s->source == TRIGGER_SCHEDULE && !s->template_target)
		return err_set(e, ERR_INVALID, 0, "spec.sessionTemplate.spec.target: a schedule names no pod: give a selector or a podName");
	s->template_spec = jsonx_dump(of_session, TEMPLATE_MAX_BYTES, e);
	return s->template_spec ? 0 : -1;
}

static int read_limits(const json_t *spec, struct trigger_spec *s, struct err *e)
{
	static const char *const known[] = {"maxActive", "perHour", NULL}, *const known_history[] = {"successful", "failed", NULL};
	const json_t *limits = NULL, *history = NULL;
	s->cooldown_seconds = s->source == TRIGGER_SCHEDULE ? 0 : TRIGGER_COOLDOWN_SECONDS;
	s->max_active = 3;
	s->per_hour = 10;
	s->keep_successful = 10;
	s->keep_failed = 3;
	if (jsonx_object(spec, "spec", "limits", false, &limits, e) < 0 || jsonx_object(spec, "spec", "historyLimits", false, &history, e) < 0 ||
	    jsonx_only_keys(limits, "spec.limits", known, e) < 0 || jsonx_only_keys(history, "spec.historyLimits", known_history, e) < 0 ||
	    jsonx_int(limits, "spec.limits", "maxActive", false, 1, 20, &s->max_active, e) < 0 ||
	    jsonx_int(limits, "spec.limits", "perHour", false, 1, 60, &s->per_hour, e) < 0 ||
	    jsonx_int(history, "spec.historyLimits", "successful", false, 0, 1000, &s->keep_successful, e) < 0 ||
	    jsonx_int(history, "spec.historyLimits", "failed", false, 0, 1000, &s->keep_failed, e) < 0)
		return -1;
	return jsonx_int(spec, "spec", "cooldownSeconds", false, 0, 86400, &s->cooldown_seconds, e);
}

static int read_trigger_spec(const json_t *spec, struct trigger_spec *s, struct err *e)
{
	static const char *const known[] = {"suspend", "source", "sessionTemplate", "cooldownSeconds", "limits", "historyLimits", NULL};
	if (!spec || !json_is_object(spec))
		return err_set(e, ERR_INVALID, 0, "spec: required, expected an object");
	if (jsonx_only_keys(spec, "spec", known, e) < 0 || jsonx_bool(spec, "spec", "suspend", false, &s->suspend, e) < 0 ||
	    read_source(spec, s, e) < 0 || read_template(spec, s, e) < 0)
		return -1;
	return read_limits(spec, s, e);
}

int trigger_spec_from_json(const json_t *spec, struct trigger_spec *out, struct err *e)
{
	struct trigger_spec s = {0};
	if (read_trigger_spec(spec, &s, e) < 0) {
		trigger_spec_fini(&s);
		return -1;
	}
	*out = s;
	return 0;
}

void trigger_spec_fini(struct trigger_spec *s)
{
	for (size_t i = 0; i < s->alertmanager.matcher_count; i++) {
		free(s->alertmanager.matchers[i].name);
		free(s->alertmanager.matchers[i].value);
	}
	free(s->alertmanager.matchers);
	free(s->alertmanager.pod_label);
	free(s->alertmanager.container_label);
	label_requirements_free(s->threshold.selector, s->threshold.selector_count);
	free(s->threshold.container);
	free(s->schedule.text);
	free(s->schedule.time_zone);
	trigger_zone_close(s->schedule.zone);
	free(s->template_metadata);
	free(s->template_spec);
	*s = (struct trigger_spec){0};
}

char *trigger_spec_source_text(const struct trigger_spec *s)
{
	static const char *const resources[] = {"cpu > %" PRId64 "%% of limit", "cpu > %" PRId64 "%% of request", "memory > %" PRId64 "%% of limit"};
	switch (s->source) {
	case TRIGGER_THRESHOLD:
		return mem_printf(resources[s->threshold.resource], s->threshold.above_percent);
	case TRIGGER_SCHEDULE:
		return mem_printf("%s%s%s", s->schedule.text, s->schedule.time_zone ? " " : "", s->schedule.time_zone ? s->schedule.time_zone : "");
	case TRIGGER_ALERTMANAGER:
		break;
	}
	return mem_strdup(source_names[s->source]);
}
