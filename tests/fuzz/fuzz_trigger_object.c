/* A ProfilingTrigger as an API server might give it. What is understood can be settled, fired, concluded and written; limits hold from
 * whatever status it began; what is written stays within the resource's bounds and is read again as the same; and its sessions are
 * sessions. */
#include "controller/triggers/trigger_plan.h"
#include "controller/triggers/trigger_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_MS INT64_C(1790000000000)

static void check_status(const struct profiling_trigger *t, const struct trigger_status *st)
{
	size_t i;
	json_t *entry;
	json_t *status = trigger_status_to_json(t, st);
	if (json_array_size(jsonx_at(status, "firings")) > TRIGGER_MAX_FIRINGS || strlen(jsonx_str_at(status, "message", "")) > 1024)
		abort();
	json_array_foreach(jsonx_at(status, "firings"), i, entry) {
		if (strlen(jsonx_str_at(entry, "message", "")) > 256 || strlen(jsonx_str_at(entry, "container", "")) > 63)
			abort();
	}
	AUTO_JSON json_t *object = json_pack("{s:{s:s, s:s, s:s, s:s}, s:O}", "metadata", "namespace", "n", "name", "t", "uid", "u", "resourceVersion", "1",
					     "status", status);
	struct profiling_trigger *again = object ? trigger_object_from_json(object, NULL) : NULL;
	if (!again || again->status.record_count != st->record_count)
		abort();
	trigger_unref(again);
	AUTO_JSON json_t *apply = trigger_status_apply(t, status);
	if (!apply)
		abort();
}

static void check_session(const struct profiling_trigger *t, const struct trigger_record *r)
{
	struct session_spec spec;
	AUTO_JSON json_t *s = trigger_status_session(t, r);
	if (!s || session_spec_from_json(jsonx_at(s, "spec"), true, &spec, NULL) < 0)
		abort();
	session_spec_fini(&spec);
}

static void check_entered(const struct profiling_trigger *t, const struct trigger_status *st, const char *session)
{
	size_t i = 0;
	while (i < st->record_count && strcmp(st->records[i].session, session) != 0)
		i++;
	if (i == st->record_count || st->records[i].phase != TRIGGER_PENDING)
		abort();
	check_session(t, &st->records[i]);
}

static void fire(const struct profiling_trigger *t, struct trigger_status *st)
{
	int64_t fired = 0, before = st->fired_count;
	for (int i = 0; i < 30; i++) {
		char dedup[16], pod[16];
		snprintf(dedup, sizeof dedup, "d%d", i / 2);
		snprintf(pod, sizeof pod, "pod-%d", i);
		struct trigger_firing f = {.source = t->spec.source, .dedup = dedup, .pod_name = i % 5 ? pod : NULL, .message = "fuzz"};
		struct trigger_decision d;
		trigger_plan_fire(t, st, &f, NOW_MS + i, &d);
		if (!d.fire)
			continue;
		trigger_plan_enter(t, st, &f, &d, NOW_MS + i);
		check_entered(t, st, d.session);
		fired++;
	}
	if (fired && (!t->spec_valid || t->spec.suspend || fired > t->spec.max_active || fired > t->spec.per_hour || st->fired_count != before + fired))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse((const char *)data, size, "fuzz", &e);
	struct profiling_trigger *t = doc ? trigger_object_from_json(doc, &e) : NULL;
	if (!t)
		return 0;
	struct trigger_status st;
	trigger_status_copy(&st, &t->status);
	char pod[] = "pod-1";
	struct trigger_session_view view = {.name = "elsewhere", .pod_name = pod, .phase = TRIGGER_SUCCEEDED, .created_wall_ms = NOW_MS - 1000,
					    .completed_wall_ms = NOW_MS};
	trigger_plan_settle(t, &st, &view, 1, NULL, NOW_MS);
	trigger_plan_due(t, &st, NOW_MS);
	fire(t, &st);
	trigger_plan_conclude(t, &st, NOW_MS);
	if (t->spec_valid) {
		char *text = trigger_spec_source_text(&t->spec);
		if (!text)
			abort();
		free(text);
	}
	check_status(t, &st);
	trigger_status_fini(&st);
	trigger_unref(t);
	return 0;
}
