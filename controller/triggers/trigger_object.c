#include "controller/triggers/trigger_object.h"

#include "common/base/mem.h"
#include "common/base/text.h"
#include "controller/triggers/trigger_reason.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const phase_names[] = {"Pending", "Active", "Succeeded", "Failed", "Gone", "Rejected"};
#define PHASE_COUNT (sizeof phase_names / sizeof phase_names[0])
static const char *const condition_names[TRIGGER_CONDITION_COUNT] = {"Ready", "Limited"};

const char *trigger_phase_name(enum trigger_phase phase)
{
	return phase_names[phase];
}

const char *trigger_condition_name(enum trigger_condition type)
{
	return condition_names[type];
}

void trigger_object_key(const struct profiling_trigger *t, char out[TRIGGER_KEY_SIZE])
{
	snprintf(out, TRIGGER_KEY_SIZE, "%s/%s", t->namespace, t->name);
}

void trigger_session_name(const struct profiling_trigger *t, const char *dedup, char out[TRIGGER_SESSION_NAME_SIZE])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	char *text = mem_printf("%s\n%s", t->uid, dedup);
	EVP_Digest(text, strlen(text), digest, NULL, EVP_sha256(), NULL);
	free(text);
	int len = snprintf(out, TRIGGER_SESSION_NAME_SIZE, "%.*s-", TRIGGER_NAME_MAX, t->name);
	text_hex(digest, 8, out + len);
}

/* reading ------------------------------------------------------------------------------------------------------------ */

static int64_t read_trigger_count(const json_t *obj, const char *key)
{
	int64_t n = jsonx_int_at(obj, key, 0);
	return n > 0 ? n : 0;
}

static void read_trigger_condition(const json_t *entry, struct trigger_status *s)
{
	const char *type = jsonx_str_at(entry, "type", ""), *status = jsonx_str_at(entry, "status", "");
	for (int i = 0; i < TRIGGER_CONDITION_COUNT; i++) {
		if (strcmp(type, condition_names[i]) != 0)
			continue;
		struct condition *c = &s->conditions[i];
		const char *reason = trigger_reason_intern(jsonx_str_at(entry, "reason", ""));
		c->status = strcmp(status, "True") == 0 ? CONDITION_TRUE : strcmp(status, "False") == 0 ? CONDITION_FALSE : CONDITION_UNKNOWN;
		c->reason = reason ? reason : TRIGGER_REASON_Ready;
		free(c->message);
		c->message = jsonx_dup_at(entry, "message");
		c->since_wall_ms = jsonx_time_at(entry, "lastTransitionTime");
		c->observed_generation = jsonx_int_at(entry, "observedGeneration", 0);
	}
}

/* A record that makes no sense is left out: its session still speaks for itself. */
static bool read_trigger_record(const json_t *entry, struct trigger_record *r)
{
	const char *session = jsonx_str_at(entry, "session", ""), *phase = jsonx_str_at(entry, "phase", "");
	size_t i = 0;
	while (i < PHASE_COUNT && strcmp(phase_names[i], phase) != 0)
		i++;
	int64_t wall_ms = jsonx_time_at(entry, "time");
	if (i == PHASE_COUNT || !session[0] || strlen(session) >= sizeof r->session || !wall_ms)
		return false;
	*r = (struct trigger_record){.phase = (enum trigger_phase)i, .wall_ms = wall_ms};
	memcpy(r->session, session, strlen(session) + 1);
	r->pod_name = jsonx_dup_at(entry, "podName");
	r->container = jsonx_dup_at(entry, "container");
	r->message = jsonx_dup_at(entry, "message");
	return true;
}

static void read_records(const json_t *list, struct trigger_status *s)
{
	size_t count = json_array_size(list), first = count > TRIGGER_MAX_FIRINGS ? count - TRIGGER_MAX_FIRINGS : 0;
	s->records = mem_calloc(count - first, sizeof *s->records);
	for (size_t i = first; i < count; i++)
		s->record_count += read_trigger_record(json_array_get(list, i), &s->records[s->record_count]);
}

static void read_trigger_status(const json_t *status, struct trigger_status *s)
{
	size_t i;
	json_t *entry;
	json_array_foreach(jsonx_at(status, "conditions"), i, entry)
		read_trigger_condition(entry, s);
	s->observed_generation = read_trigger_count(status, "observedGeneration");
	s->message = jsonx_dup_at(status, "message");
	s->last_fired_wall_ms = jsonx_time_at(status, "lastFiredTime");
	s->last_schedule_wall_ms = jsonx_time_at(status, "lastScheduleTime");
	s->next_schedule_wall_ms = jsonx_time_at(status, "nextScheduleTime");
	s->last_suppressed_wall_ms = jsonx_time_at(status, "lastSuppressedTime");
	s->last_session = jsonx_dup_at(status, "lastSession");
	s->last_suppressed_reason = jsonx_dup_at(status, "lastSuppressedReason");
	s->active_sessions = read_trigger_count(status, "activeSessions");
	s->fired_count = read_trigger_count(status, "firedCount");
	s->suppressed_count = read_trigger_count(status, "suppressedCount");
	if (json_array_size(jsonx_at(status, "firings")))
		read_records(jsonx_at(status, "firings"), s);
}

static int read_trigger_metadata(const json_t *object, struct profiling_trigger *t, struct err *e)
{
	jsonx_copy_at(object, "metadata.namespace", t->namespace, sizeof t->namespace);
	jsonx_copy_at(object, "metadata.name", t->name, sizeof t->name);
	jsonx_copy_at(object, "metadata.uid", t->uid, sizeof t->uid);
	jsonx_copy_at(object, "metadata.resourceVersion", t->resource_version, sizeof t->resource_version);
	if (!t->namespace[0] || !t->name[0] || !t->uid[0] || !t->resource_version[0])
		return err_set(e, ERR_PROTOCOL, 0, "ProfilingTrigger: metadata lacks namespace, name, uid or resourceVersion");
	t->generation = jsonx_int_at(object, "metadata.generation", 0);
	t->created_wall_ms = jsonx_time_at(object, "metadata.creationTimestamp");
	t->deleting = jsonx_at(object, "metadata.deletionTimestamp") != NULL;
	return 0;
}

struct profiling_trigger *trigger_object_from_json(const json_t *object, struct err *e)
{
	struct profiling_trigger *t = mem_alloc(sizeof *t);
	atomic_init(&t->refs, 1);
	if (read_trigger_metadata(object, t, e) < 0) {
		trigger_unref(t);
		return NULL;
	}
	const json_t *status = jsonx_at(object, "status");
	if (status && json_is_object(status)) {
		read_trigger_status(status, &t->status);
		t->status.hash = session_json_hash(status);
	}
	struct err why = ERR_INIT;
	t->spec_valid = trigger_spec_from_json(jsonx_at(object, "spec"), &t->spec, &why) == 0;
	if (t->spec_valid && strlen(t->name) > TRIGGER_NAME_MAX) {
		t->spec_valid = false;
		err_set(&why, ERR_INVALID, 0, "metadata.name: longer than %d characters: it is a label of the sessions", TRIGGER_NAME_MAX);
		trigger_spec_fini(&t->spec);
	}
	if (!t->spec_valid)
		t->spec_error = mem_strdup(why.message);
	return t;
}

struct profiling_trigger *trigger_ref(const struct profiling_trigger *t)
{
	struct profiling_trigger *shared = (struct profiling_trigger *)t;
	atomic_fetch_add(&shared->refs, 1);
	return shared;
}

void trigger_unref(struct profiling_trigger *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
		return;
	trigger_spec_fini(&t->spec);
	trigger_status_fini(&t->status);
	free(t->spec_error);
	free(t);
}

/* the status as a value ------------------------------------------------------------------------------------------------ */

void trigger_record_fini(struct trigger_record *r)
{
	free(r->pod_name);
	free(r->container);
	free(r->message);
	*r = (struct trigger_record){0};
}

void trigger_status_fini(struct trigger_status *s)
{
	for (int i = 0; i < TRIGGER_CONDITION_COUNT; i++)
		free(s->conditions[i].message);
	for (size_t i = 0; i < s->record_count; i++)
		trigger_record_fini(&s->records[i]);
	free(s->records);
	free(s->message);
	free(s->last_session);
	free(s->last_suppressed_reason);
	*s = (struct trigger_status){0};
}

void trigger_status_copy(struct trigger_status *out, const struct trigger_status *from)
{
	*out = *from;
	for (int i = 0; i < TRIGGER_CONDITION_COUNT; i++)
		out->conditions[i].message = mem_strdup(from->conditions[i].message);
	out->message = mem_strdup(from->message);
	out->last_session = mem_strdup(from->last_session);
	out->last_suppressed_reason = mem_strdup(from->last_suppressed_reason);
	out->records = mem_calloc(TRIGGER_MAX_FIRINGS, sizeof *out->records);
	for (size_t i = 0; i < from->record_count; i++) {
		out->records[i] = from->records[i];
		out->records[i].pod_name = mem_strdup(from->records[i].pod_name);
		out->records[i].container = mem_strdup(from->records[i].container);
		out->records[i].message = mem_strdup(from->records[i].message);
	}
}
