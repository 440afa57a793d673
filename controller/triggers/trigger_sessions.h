/* The sessions that triggers have made, as the sessions' watch tells of them: a few hundred bytes each, by the uid of their
 * trigger. Any thread. */
#ifndef DRDOTNET_TRIGGER_SESSIONS_H
#define DRDOTNET_TRIGGER_SESSIONS_H

#include "controller/triggers/trigger_plan.h"

struct trigger_sessions;

struct trigger_sessions *trigger_sessions_new(void);
void trigger_sessions_free(struct trigger_sessions *s); /* NULL is taken */

/* What a change means to the trigger. */
struct trigger_sessions_change {
	char trigger_key[TRIGGER_KEY_SIZE];
	char session[254];
	bool gone;
};

/* Returns whether it is of a trigger and something that matters to it has changed. */
bool trigger_sessions_put(struct trigger_sessions *s, bool deleted, const json_t *object, struct trigger_sessions_change *out);

/* A list of a namespace (NULL: all): what is not put again until its end is removed then; `changed` is called for its triggers. */
void trigger_sessions_list_begin(struct trigger_sessions *s, const char *namespace);
void trigger_sessions_list_end(struct trigger_sessions *s, const char *namespace, void (*changed)(void *ctx, const char *trigger_key), void *ctx);

/* A copy of all sessions of a trigger, in a new array. */
struct trigger_session_view *trigger_sessions_of(struct trigger_sessions *s, const char *trigger_uid, size_t *count);
void trigger_sessions_views_free(struct trigger_session_view *views, size_t count);

#endif
