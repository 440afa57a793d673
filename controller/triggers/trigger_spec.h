/* The typed `spec` of a ProfilingTrigger: read from JSON with full validation (the bounds of the CRD's schema, for API servers that
 * ignore CEL, and what no schema can say: the schedule, the time zone) and with every default filled in. Pure but for the look
 * at the time zone database. */
#ifndef DRDOTNET_TRIGGER_SPEC_H
#define DRDOTNET_TRIGGER_SPEC_H

#include "common/api/session_spec.h"
#include "controller/triggers/trigger_cron.h"
#include "controller/triggers/trigger_zone.h"

#define TRIGGER_MAX_MATCHERS 16
#define TRIGGER_COOLDOWN_SECONDS 900

enum trigger_source { TRIGGER_ALERTMANAGER, TRIGGER_THRESHOLD, TRIGGER_SCHEDULE };
const char *trigger_source_name(enum trigger_source source); /* "alertmanager" */

enum trigger_match { TRIGGER_MATCH_EQUAL, TRIGGER_MATCH_NOT_EQUAL, TRIGGER_MATCH_REGEX, TRIGGER_MATCH_NOT_REGEX };

struct trigger_matcher {
	char *name, *value;
	enum trigger_match type;
};

struct trigger_alertmanager {
	struct trigger_matcher *matchers; /* at least one */
	size_t matcher_count;
	char *pod_label, *container_label;
};

enum trigger_resource { TRIGGER_CPU_OF_LIMIT, TRIGGER_CPU_OF_REQUEST, TRIGGER_MEMORY_OF_LIMIT };

struct trigger_threshold {
	struct label_requirement *selector;
	size_t selector_count;
	char *container;          /* NULL: any */
	enum trigger_resource resource;
	int64_t above_percent;    /* CPU 1..10000, memory 1..100 */
	int64_t for_seconds;      /* 5..3600 */
};

struct trigger_schedule {
	char *text, *time_zone;   /* as they were written; time_zone NULL: UTC */
	struct trigger_cron cron;
	struct trigger_zone *zone; /* NULL: UTC */
	int64_t starting_deadline_seconds;
};

struct trigger_spec {
	bool suspend;
	enum trigger_source source;
	struct trigger_alertmanager alertmanager; /* of the source only */
	struct trigger_threshold threshold;
	struct trigger_schedule schedule;
	char *template_metadata; /* JSON: {labels, annotations}; NULL: none */
	char *template_spec;     /* JSON, as it was written */
	bool template_target;    /* it names pods by a selector or a podName */
	int64_t cooldown_seconds;
	int64_t max_active, per_hour;
	int64_t keep_successful, keep_failed;
};

/* `spec` is the object under "spec". ERR_INVALID names the path and what was expected. *out is set only on success. */
int trigger_spec_from_json(const json_t *spec, struct trigger_spec *out, struct err *e);
void trigger_spec_fini(struct trigger_spec *s); /* takes zeroed structs */

/* The source in short, for the printer column: "alertmanager", "cpu > 80% of Limit", "30 2 * * * Europe/Berlin". A new string. */
char *trigger_spec_source_text(const struct trigger_spec *s);

#endif
