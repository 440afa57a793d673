/* What this replica knows of the triggers, and what waits to be done for each: filled by the watch and by the sources, emptied by
 * the one worker. Any thread; no callback runs with the lock held. */
#ifndef DRDOTNET_TRIGGER_TABLE_H
#define DRDOTNET_TRIGGER_TABLE_H

#include "controller/triggers/trigger_plan.h"

#define TRIGGER_MAX_WAITING 1024 /* firings of all triggers */

enum trigger_verdict {
	TRIGGER_FIRED,           /* the session is there */
	TRIGGER_SUPPRESSED,      /* none was started, and that is right: `reason` */
	TRIGGER_REFUSED,         /* none could be made: `reason`, `message`. The same again would meet the same */
	TRIGGER_TRY_AGAIN,       /* the API server is not reachable, or too much waits: the source should repeat it later */
};

struct trigger_outcome {
	enum trigger_verdict verdict;
	const char *reason; /* static storage (trigger_reason.h) */
	char session[TRIGGER_SESSION_NAME_SIZE]; /* of FIRED, and of a Duplicate */
	char message[ERR_MESSAGE_SIZE];
};

/* Called once per firing that was taken: in the caller's thread when nothing has to be written, else in the worker's. */
typedef void trigger_outcome_fn(void *ctx, const struct trigger_outcome *o);

/* A firing that waits for its decision to be written. */
struct trigger_wait {
	struct trigger_firing firing; /* its strings are owned */
	char session[TRIGGER_SESSION_NAME_SIZE];
	int64_t since_mono_ms;
	trigger_outcome_fn *done; /* may be NULL */
	void *ctx;
	struct trigger_outcome outcome; /* the worker's */
	struct trigger_wait *next;
};

/* Firings that started nothing, until they are counted in the status. */
struct trigger_suppressed {
	int64_t count, wall_ms;
	const char *reason; /* of the last one */
	char message[ERR_MESSAGE_SIZE];
};

struct trigger_table;

struct trigger_table *trigger_table_new(void);
void trigger_table_free(struct trigger_table *t); /* NULL is taken; closes it first */

/* Nobody will work any more: what waits, and what comes, gets TRY_AGAIN. */
void trigger_table_close(struct trigger_table *t);

/* Takes the reference. An older version than the known one is dropped; returns whether it was news. */
bool trigger_table_put_take(struct trigger_table *t, struct profiling_trigger *object);
void trigger_table_remove(struct trigger_table *t, const char *key, const char *uid); /* uid NULL: any; what waits gets TriggerDeleted */
void trigger_table_list_begin(struct trigger_table *t, const char *namespace);
void trigger_table_list_end(struct trigger_table *t, const char *namespace);

/* Decides by what is known, or lets it wait: then true is returned and the worker is to be woken. Else *out is the outcome; of one
 * that was counted as suppressed, out->verdict is SUPPRESSED and *wake tells whether the count is the first that waits.
 * ERR_NOT_FOUND: no such trigger, or of another source. */
int trigger_table_fire(struct trigger_table *t, const struct trigger_firing *f, trigger_outcome_fn *done, void *ctx, int64_t now_wall_ms,
		       struct trigger_outcome *out, bool *wake, struct err *e);

/* For the worker: everything of one trigger. The waits stay in the table's eyes (their repetitions are Duplicates) until trigger_table_done. */
struct trigger_load {
	struct profiling_trigger *object; /* a reference */
	struct trigger_wait *waits;
	struct trigger_note *notes;
	struct trigger_suppressed suppressed;
	int64_t flushed_mono_ms; /* when suppressed ones were last written; 0: never */
	const char *told_reason; /* of the last event about suppressed ones */
	int64_t told_mono_ms;
};
bool trigger_table_take(struct trigger_table *t, const char *key, struct trigger_load *out); /* false: there is no such trigger */

/* Gives back what is left (notes, suppressed, when they were told of), takes the waits out, and then calls back for each with its outcome. */
void trigger_table_done(struct trigger_table *t, const char *key, struct trigger_load *load);

void trigger_table_note(struct trigger_table *t, const char *key, int what, const char *session, const char *message);
void trigger_notes_free(struct trigger_note *notes);

/* References to those that are valid, not suspended and of a source, in a new array. */
struct profiling_trigger **trigger_table_of_source(struct trigger_table *t, enum trigger_source source, const char *namespace, size_t *count);
uint64_t trigger_table_revision(struct trigger_table *t);
void trigger_table_each(struct trigger_table *t, void (*fn)(void *ctx, const char *key), void *ctx);
size_t trigger_table_count(struct trigger_table *t);

#endif
