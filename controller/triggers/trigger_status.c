#include "controller/triggers/trigger_status.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/text.h"

#include <string.h>

#define MESSAGE_MAX_BYTES 1024
#define RECORD_MESSAGE_MAX_BYTES 256

static void put_trigger_text(json_t *obj, const char *key, const char *text, size_t max_bytes)
{
	if (!text || !text[0])
		return;
	AUTO_BUF struct buf out;
	buf_init(&out, max_bytes * 8 + 8);
	text_append_printable(&out, text, text_cut_utf8(text, max_bytes));
	json_object_set_new(obj, key, json_stringn(buf_str(&out), text_cut_utf8(buf_str(&out), max_bytes)));
}

static void put_trigger_int(json_t *obj, const char *key, int64_t n)
{
	json_object_set_new(obj, key, json_integer(n));
}

static void put_trigger_time(json_t *obj, const char *key, int64_t wall_ms)
{
	char text[CLOCK_RFC3339_SIZE];
	if (wall_ms > 0)
		json_object_set_new(obj, key, json_string(clock_rfc3339(wall_ms, text)));
}

static json_t *trigger_conditions_json(const struct trigger_status *st)
{
	json_t *list = json_array();
	for (int i = 0; i < TRIGGER_CONDITION_COUNT; i++) {
		const struct condition *c = &st->conditions[i];
		if (c->status == CONDITION_ABSENT)
			continue;
		json_t *entry = json_object();
		put_trigger_text(entry, "type", trigger_condition_name((enum trigger_condition)i), 63);
		put_trigger_text(entry, "status", c->status == CONDITION_TRUE ? "True" : c->status == CONDITION_FALSE ? "False" : "Unknown", 63);
		put_trigger_text(entry, "reason", c->reason, 63);
		json_object_set_new(entry, "message", json_string(""));
		put_trigger_text(entry, "message", c->message, MESSAGE_MAX_BYTES);
		put_trigger_time(entry, "lastTransitionTime", c->since_wall_ms);
		put_trigger_int(entry, "observedGeneration", c->observed_generation);
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *records_json(const struct trigger_status *st)
{
	json_t *list = json_array();
	for (size_t i = 0; i < st->record_count; i++) {
		const struct trigger_record *r = &st->records[i];
		json_t *entry = json_object();
		put_trigger_text(entry, "session", r->session, 253);
		put_trigger_time(entry, "time", r->wall_ms);
		put_trigger_text(entry, "phase", trigger_phase_name(r->phase), 63);
		put_trigger_text(entry, "podName", r->pod_name, 253);
		put_trigger_text(entry, "container", r->container, 63);
		put_trigger_text(entry, "message", r->message, RECORD_MESSAGE_MAX_BYTES);
		json_array_append_new(list, entry);
	}
	return list;
}

json_t *trigger_status_to_json(const struct profiling_trigger *t, const struct trigger_status *st)
{
	json_t *status = json_object();
	put_trigger_int(status, "observedGeneration", st->observed_generation);
	if (t->spec_valid) {
		AUTO_FREE char *source = trigger_spec_source_text(&t->spec);
		put_trigger_text(status, "source", source, 253);
	}
	put_trigger_text(status, "message", st->message, MESSAGE_MAX_BYTES);
	json_object_set_new(status, "conditions", trigger_conditions_json(st));
	put_trigger_time(status, "lastFiredTime", st->last_fired_wall_ms);
	put_trigger_time(status, "lastScheduleTime", st->last_schedule_wall_ms);
	put_trigger_time(status, "nextScheduleTime", st->next_schedule_wall_ms);
	put_trigger_time(status, "lastSuppressedTime", st->last_suppressed_wall_ms);
	put_trigger_text(status, "lastSuppressedReason", st->last_suppressed_reason, 63);
	put_trigger_text(status, "lastSession", st->last_session, 253);
	put_trigger_int(status, "activeSessions", st->active_sessions);
	put_trigger_int(status, "firedCount", st->fired_count);
	put_trigger_int(status, "suppressedCount", st->suppressed_count);
	if (st->record_count)
		json_object_set_new(status, "firings", records_json(st));
	return status;
}

json_t *trigger_status_apply(const struct profiling_trigger *t, json_t *status_take)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:o}", "apiVersion", API_GROUP_VERSION, "kind", TRIGGER_KIND, "metadata", "name",
			 t->name, "namespace", t->namespace, "uid", t->uid, "resourceVersion", t->resource_version, "status", status_take);
}

/* the session ---------------------------------------------------------------------------------------------------------- */

/* The pod that the source named takes the place of the template's choice of pods; container and process stay, unless it named one. */
static void aim(json_t *spec, const struct trigger_record *r)
{
	json_t *target = json_object_get(spec, "target");
	if (!r->pod_name)
		return;
	if (!target) {
		target = json_object();
		json_object_set_new(spec, "target", target);
	}
	json_object_del(target, "selector");
	json_object_del(target, "maxPods");
	json_object_set_new(target, "podName", json_string(r->pod_name));
	if (r->container)
		json_object_set_new(target, "container", json_string(r->container));
}

static json_t *part_of(const json_t *metadata, const char *key)
{
	json_t *part = json_object_get(metadata, key);
	return part ? json_copy(part) : json_object();
}

/* Not blockOwnerDeletion: a session ends by its own finalizer, and the right to block a trigger's deletion is not needed for it. The finalizer is there
 * from the beginning: who has to add it writes once more before the order. */
static json_t *metadata_json(const struct profiling_trigger *t, const struct trigger_record *r)
{
	AUTO_JSON json_t *template = t->spec.template_metadata ? json_loads(t->spec.template_metadata, 0, NULL) : NULL;
	json_t *labels = part_of(template, "labels"), *annotations = part_of(template, "annotations");
	json_object_set_new(labels, TRIGGER_LABEL, json_string(t->name));
	put_trigger_text(annotations, TRIGGER_ANNOTATION, r->message, RECORD_MESSAGE_MAX_BYTES);
	return json_pack("{s:s, s:s, s:[s], s:o, s:o, s:[{s:s, s:s, s:s, s:s, s:b}]}", "name", r->session, "namespace", t->namespace, "finalizers",
			 SESSION_FINALIZER, "labels", labels, "annotations", annotations, "ownerReferences", "apiVersion", API_GROUP_VERSION, "kind",
			 TRIGGER_KIND, "name", t->name, "uid", t->uid, "controller", 1);
}

json_t *trigger_status_session(const struct profiling_trigger *t, const struct trigger_record *r)
{
	json_t *spec = json_loads(t->spec.template_spec, 0, NULL);
	if (!spec)
		return NULL;
	aim(spec, r);
	return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", API_GROUP_VERSION, "kind", SESSION_KIND, "metadata", metadata_json(t, r), "spec", spec);
}
