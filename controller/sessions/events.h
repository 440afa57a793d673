/* Kubernetes Events about sessions and triggers. Recording only queues (a bounded mailbox; when it is full the event is dropped and
 * counted); a thread of its own writes them. Repeats of the same reason and message for the same session are one Event whose
 * count grows, also over restarts: its name is made of them. Any thread. */
#ifndef DRDOTNET_EVENTS_H
#define DRDOTNET_EVENTS_H

#include "controller/kube/kube_client.h"
#include "controller/sessions/session_object.h"

#define EVENTS_MAILBOX_MAX 256

struct events;

struct events *events_start(const struct kube_config *config, const char *instance, struct err *e);

/* `warning`: type Warning instead of Normal. `reason` has static storage. */
void events_record(struct events *ev, const struct profiling_session *s, bool warning, const char *reason, const char *message);

/* The same about another object of ours. */
struct event_subject {
	const char *kind, *namespace, *name, *uid;
};
void events_record_about(struct events *ev, const struct event_subject *s, bool warning, const char *reason, const char *message);

/* Writes what is queued for at most two seconds, then ends the thread. NULL is taken. */
void events_stop(struct events *ev);

/* The Event as first written; `name` is its name. Pure. */
#define EVENT_NAME_SIZE 288
json_t *events_build(const struct profiling_session *s, bool warning, const char *reason, const char *message, const char *instance,
		     int64_t now_wall_ms, char name[EVENT_NAME_SIZE]);

#endif
