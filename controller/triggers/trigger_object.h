/* A ProfilingTrigger as the controller knows it: metadata, typed spec, and the status that it wrote itself. Read from the API
 * server's JSON; the status is written back by trigger_status.h. Pure.
 *
 * An object that others share (triggers.h) is never changed and is counted by trigger_ref and trigger_unref, any thread. */
#ifndef DRDOTNET_TRIGGER_OBJECT_H
#define DRDOTNET_TRIGGER_OBJECT_H

#include "controller/sessions/session_object.h"
#include "controller/triggers/trigger_spec.h"

#include <stdatomic.h>

#define TRIGGER_KIND "ProfilingTrigger"
#define TRIGGER_PLURAL "profilingtriggers"
#define TRIGGER_LABEL "drdotnet.dev/trigger"        /* of a session: the name of its trigger */
#define TRIGGER_ANNOTATION "drdotnet.dev/fired-by"  /* of a session: what fired, for people */
#define TRIGGER_NAME_MAX 63
#define TRIGGER_KEY_SIZE SESSION_KEY_SIZE           /* "<namespace>/<name>" */
#define TRIGGER_SESSION_NAME_SIZE (TRIGGER_NAME_MAX + 1 + 16 + 1)
#define TRIGGER_MAX_FIRINGS 64

/* One firing that started a session. The list of the last ones stands in the status: limits, cool-down and the recognition of
 * repetitions are counted from it, by any replica and after any restart. */
enum trigger_phase { TRIGGER_PENDING, TRIGGER_ACTIVE, TRIGGER_SUCCEEDED, TRIGGER_FAILED, TRIGGER_GONE, TRIGGER_REJECTED };
const char *trigger_phase_name(enum trigger_phase phase);

struct trigger_record {
	char session[TRIGGER_SESSION_NAME_SIZE];
	enum trigger_phase phase; /* PENDING: decided and written; the session is made now. REJECTED: the API server would not have it */
	int64_t wall_ms;
	char *pod_name, *container; /* NULL: the template's target */
	char *message;              /* what fired; of a rejected one: why */
};

enum trigger_condition { TRIGGER_READY, TRIGGER_LIMITED, TRIGGER_CONDITION_COUNT };

struct trigger_status {
	int64_t observed_generation;
	struct condition conditions[TRIGGER_CONDITION_COUNT];
	char *message;
	int64_t last_fired_wall_ms, last_schedule_wall_ms, next_schedule_wall_ms, last_suppressed_wall_ms; /* 0: never */
	char *last_session, *last_suppressed_reason;
	int64_t active_sessions, fired_count, suppressed_count;
	struct trigger_record *records; /* oldest first */
	size_t record_count;
	uint64_t hash; /* of the status as the API server has it */
};

const char *trigger_condition_name(enum trigger_condition type);
void trigger_record_fini(struct trigger_record *r);
void trigger_status_copy(struct trigger_status *out, const struct trigger_status *from); /* has room for TRIGGER_MAX_FIRINGS records */
void trigger_status_fini(struct trigger_status *s); /* takes zeroed structs */

struct profiling_trigger {
	char namespace[64], name[254], uid[40], resource_version[64];
	int64_t generation;
	int64_t created_wall_ms;
	bool deleting;
	bool spec_valid;
	struct trigger_spec spec; /* when valid */
	char *spec_error;         /* otherwise: names the field */
	struct trigger_status status;
	atomic_uint refs;
};

/* A new object with one reference. ERR_PROTOCOL as session_object_from_json(); an invalid spec is no error but spec_valid false. */
struct profiling_trigger *trigger_object_from_json(const json_t *object, struct err *e);

struct profiling_trigger *trigger_ref(const struct profiling_trigger *t);
void trigger_unref(struct profiling_trigger *t); /* NULL is taken */

void trigger_object_key(const struct profiling_trigger *t, char out[TRIGGER_KEY_SIZE]);

/* "<trigger>-<16 hex digits of the SHA-256 of its uid and the firing's dedup key>": the same for all replicas and repetitions. */
void trigger_session_name(const struct profiling_trigger *t, const char *dedup, char out[TRIGGER_SESSION_NAME_SIZE]);

#endif
