/* The JSON that a trigger becomes: its status, and the sessions that it makes. Pure. */
#ifndef DRDOTNET_TRIGGER_STATUS_H
#define DRDOTNET_TRIGGER_STATUS_H

#include "controller/triggers/trigger_object.h"

/* The whole status, within the schema's bounds. */
json_t *trigger_status_to_json(const struct profiling_trigger *t, const struct trigger_status *st);

/* The server-side apply document that carries it; it fails with a conflict when the object has changed since *t was read. */
json_t *trigger_status_apply(const struct profiling_trigger *t, json_t *status_take);

/* The session of a record: the template, aimed at the pod that the source named, labelled, and owned by the trigger. NULL when the
 * template is no JSON (it is: it was read from some). */
json_t *trigger_status_session(const struct profiling_trigger *t, const struct trigger_record *r);

#endif
