/* Notifications of Alertmanager's webhook, version 4 (prometheus.io/docs/alerting/latest/configuration, <webhook_config>): what is read of
 * them. Whether an alert is a trigger's: alert_match.h. Pure; any thread. */
#ifndef DRDOTNET_ALERTMANAGER_H
#define DRDOTNET_ALERTMANAGER_H

#include "controller/triggers/trigger_object.h"

#define ALERTMANAGER_MAX_ALERTS 1000
#define ALERTMANAGER_MAX_LABELS 128
#define ALERTMANAGER_MAX_VALUE 4096

struct alert_label {
	char *name, *value;
};

/* One alert of a notification. An alert that cannot be used says why in `problem`; the others are not held up by it. */
struct alert {
	bool firing;
	char *fingerprint, *starts_at;
	struct alert_label *labels;
	size_t label_count;
	char *problem; /* NULL: none */
};

struct alert_notification {
	struct alert *alerts;
	size_t count;
	int64_t truncated; /* alerts that Alertmanager left out (max_alerts) */
};

/* ERR_INVALID names the field: it is no notification of version 4, or it has too many alerts. */
int alertmanager_parse(const char *text, size_t len, struct alert_notification *out, struct err *e);
void alertmanager_fini(struct alert_notification *n);

/* The label's value; "" when there is none, as Prometheus has it. */
const char *alert_label(const struct alert *a, const char *name);

/* What an alert asks of a trigger. */
struct alert_target {
	const char *pod_name, *container; /* borrowed from the alert; NULL: as the trigger's template says */
	char *dedup, *message;            /* owned */
};

/* ERR_INVALID: a label that names the target is no such name. */
int alertmanager_target(const struct alert *a, const struct profiling_trigger *t, struct alert_target *out, struct err *e);
void alert_target_fini(struct alert_target *t);

#define AUTO_ALERT_NOTIFICATION __attribute__((cleanup(alertmanager_fini)))
#define AUTO_ALERT_TARGET __attribute__((cleanup(alert_target_fini)))

#endif
