#include "controller/triggers/trigger_table.h"

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	char key[TRIGGER_KEY_SIZE];
	struct profiling_trigger *object;
	bool listed;
	struct trigger_wait *waits, *in_work;
	struct trigger_note *notes;
	struct trigger_suppressed suppressed;
	int64_t flushed_mono_ms, told_mono_ms;
	const char *told_reason;
	UT_hash_handle hh;
};

struct trigger_table {
	pthread_mutex_t lock;
	struct entry *entries;
	size_t waiting;
	uint64_t revision;
	bool closed;
};

struct trigger_table *trigger_table_new(void)
{
	struct trigger_table *t = mem_alloc(sizeof *t);
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

static struct entry *find_trigger_entry(struct trigger_table *t, const char *key)
{
	struct entry *e;
	HASH_FIND_STR(t->entries, key, e);
	return e;
}

void trigger_notes_free(struct trigger_note *notes)
{
	for (struct trigger_note *next; notes; notes = next) {
		next = notes->next;
		free(notes->message);
		free(notes);
	}
}

/* waits -------------------------------------------------------------------------------------------------------------- */

static struct trigger_wait *wait_new(const struct trigger_firing *f, const char *session, trigger_outcome_fn *done, void *ctx)
{
	struct trigger_wait *w = mem_alloc(sizeof *w);
	w->firing = *f;
	w->firing.namespace = mem_strdup(f->namespace);
	w->firing.trigger = mem_strdup(f->trigger);
	w->firing.dedup = mem_strdup(f->dedup);
	w->firing.pod_name = mem_strdup(f->pod_name);
	w->firing.container = mem_strdup(f->container);
	w->firing.message = mem_strdup(f->message);
	memcpy(w->session, session, sizeof w->session);
	w->since_mono_ms = clock_mono_ms();
	w->done = done;
	w->ctx = ctx;
	return w;
}

static void wait_free(struct trigger_wait *w)
{
	free((char *)w->firing.namespace);
	free((char *)w->firing.trigger);
	free((char *)w->firing.dedup);
	free((char *)w->firing.pod_name);
	free((char *)w->firing.container);
	free((char *)w->firing.message);
	free(w);
}

static void answer_waits(struct trigger_wait *w)
{
	for (struct trigger_wait *next; w; w = next) {
		next = w->next;
		if (w->done)
			w->done(w->ctx, &w->outcome);
		wait_free(w);
	}
}

static void set_waits_outcome(struct trigger_wait *w, enum trigger_verdict verdict, const char *reason)
{
	for (; w; w = w->next) {
		w->outcome = (struct trigger_outcome){.verdict = verdict, .reason = reason};
		snprintf(w->outcome.message, sizeof w->outcome.message, "%s", trigger_reason_remedy(reason));
	}
}

static bool is_waiting(const struct trigger_wait *w, const char *session)
{
	while (w && strcmp(w->session, session) != 0)
		w = w->next;
	return w != NULL;
}

/* objects ------------------------------------------------------------------------------------------------------------ */

static void entry_free(struct trigger_table *t, struct entry *e)
{
	HASH_DEL(t->entries, e);
	trigger_unref(e->object);
	trigger_notes_free(e->notes);
	free(e);
}

void trigger_table_close(struct trigger_table *t)
{
	struct trigger_wait *all = NULL;
	pthread_mutex_lock(&t->lock);
	t->closed = true;
	t->waiting = 0;
	for (struct entry *e = t->entries; e; e = e->hh.next) {
		struct trigger_wait **end = &e->waits;
		while (*end)
			end = &(*end)->next;
		*end = all;
		all = e->waits;
		e->waits = NULL;
	}
	pthread_mutex_unlock(&t->lock);
	set_waits_outcome(all, TRIGGER_TRY_AGAIN, TRIGGER_REASON_Unreachable);
	answer_waits(all);
}

void trigger_table_free(struct trigger_table *t)
{
	if (!t)
		return;
	trigger_table_close(t);
	for (struct entry *next, *e = t->entries; e; e = next) {
		next = e->hh.next;
		entry_free(t, e);
	}
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static unsigned long long version_of(const struct profiling_trigger *o)
{
	return strtoull(o->resource_version, NULL, 10);
}

bool trigger_table_put_take(struct trigger_table *t, struct profiling_trigger *object)
{
	char key[TRIGGER_KEY_SIZE];
	trigger_object_key(object, key);
	pthread_mutex_lock(&t->lock);
	struct entry *e = find_trigger_entry(t, key);
	if (!e) {
		e = mem_alloc(sizeof *e);
		memcpy(e->key, key, sizeof key);
		HASH_ADD_STR(t->entries, key, e);
	}
	e->listed = true;
	struct profiling_trigger *old = e->object;
	bool stale = old && strcmp(old->uid, object->uid) == 0 && version_of(old) >= version_of(object);
	if (!stale) {
		t->revision += !old || strcmp(old->uid, object->uid) != 0 || old->generation != object->generation || old->deleting != object->deleting;
		e->object = object;
	}
	pthread_mutex_unlock(&t->lock);
	trigger_unref(stale ? object : old);
	return !stale;
}

/* Takes an entry out; what waits there is returned, and is to be answered without the lock. */
static struct trigger_wait *take_out(struct trigger_table *t, struct entry *e)
{
	struct trigger_wait *waits = e->waits;
	set_waits_outcome(waits, TRIGGER_REFUSED, TRIGGER_REASON_TriggerDeleted);
	for (struct trigger_wait *w = waits; w; w = w->next)
		t->waiting--;
	t->revision++;
	entry_free(t, e);
	return waits;
}

void trigger_table_remove(struct trigger_table *t, const char *key, const char *uid)
{
	pthread_mutex_lock(&t->lock);
	struct entry *e = find_trigger_entry(t, key);
	struct trigger_wait *waits = e && (!uid || strcmp(e->object->uid, uid) == 0) ? take_out(t, e) : NULL;
	pthread_mutex_unlock(&t->lock);
	answer_waits(waits);
}

static bool entry_is_in(const struct entry *e, const char *namespace)
{
	return !namespace || strcmp(e->object->namespace, namespace) == 0;
}

void trigger_table_list_begin(struct trigger_table *t, const char *namespace)
{
	pthread_mutex_lock(&t->lock);
	for (struct entry *e = t->entries; e; e = e->hh.next)
		e->listed = e->listed && !entry_is_in(e, namespace);
	pthread_mutex_unlock(&t->lock);
}

void trigger_table_list_end(struct trigger_table *t, const char *namespace)
{
	struct trigger_wait *waits = NULL;
	pthread_mutex_lock(&t->lock);
	for (struct entry *next, *e = t->entries; e; e = next) {
		next = e->hh.next;
		if (e->listed || !entry_is_in(e, namespace))
			continue;
		struct trigger_wait *more = take_out(t, e), **end = &more;
		while (*end)
			end = &(*end)->next;
		*end = waits;
		waits = more;
	}
	pthread_mutex_unlock(&t->lock);
	answer_waits(waits);
}

/* firing ------------------------------------------------------------------------------------------------------------- */

/* What sessions' ends do not change can be decided without a look at them. */
static bool is_settled(const char *reason)
{
	return reason == TRIGGER_REASON_Duplicate || reason == TRIGGER_REASON_Suspended || reason == TRIGGER_REASON_InvalidSpec ||
	       reason == TRIGGER_REASON_CoolingDown || reason == TRIGGER_REASON_NoTarget || reason == TRIGGER_REASON_TriggerDeleted;
}

static void set_suppressed_outcome(const struct trigger_decision *d, struct trigger_outcome *out)
{
	*out = (struct trigger_outcome){.verdict = TRIGGER_SUPPRESSED, .reason = d->reason};
	memcpy(out->message, d->message, sizeof out->message);
	if (d->reason == TRIGGER_REASON_Duplicate)
		memcpy(out->session, d->session, sizeof out->session);
}

static void decide_firing(struct trigger_table *t, struct entry *e, const struct trigger_firing *f, trigger_outcome_fn *done, void *ctx, int64_t now_wall_ms,
			  struct trigger_outcome *out, bool *wake)
{
	struct trigger_decision d;
	trigger_plan_fire(e->object, &e->object->status, f, now_wall_ms, &d);
	if (is_waiting(e->waits, d.session) || is_waiting(e->in_work, d.session)) {
		d.reason = TRIGGER_REASON_Duplicate;
		snprintf(d.message, sizeof d.message, "session %s is being made for it", d.session);
	} else if (d.fire || !is_settled(d.reason)) {
		struct trigger_wait *w = wait_new(f, d.session, done, ctx), **end = &e->waits;
		while (*end)
			end = &(*end)->next;
		*end = w;
		t->waiting++;
		out->reason = NULL; /* it waits */
		*wake = true;
		return;
	}
	set_suppressed_outcome(&d, out);
	if (d.reason == TRIGGER_REASON_Duplicate)
		return;
	*wake = e->suppressed.count == 0;
	e->suppressed.count++;
	e->suppressed.wall_ms = now_wall_ms;
	e->suppressed.reason = d.reason;
	memcpy(e->suppressed.message, d.message, sizeof d.message);
}

int trigger_table_fire(struct trigger_table *t, const struct trigger_firing *f, trigger_outcome_fn *done, void *ctx, int64_t now_wall_ms,
		       struct trigger_outcome *out, bool *wake, struct err *err)
{
	char key[TRIGGER_KEY_SIZE];
	int rc = 0;
	snprintf(key, sizeof key, "%.63s/%.253s", f->namespace, f->trigger);
	*wake = false;
	pthread_mutex_lock(&t->lock);
	struct entry *e = find_trigger_entry(t, key);
	if (!e || (e->object->spec_valid && e->object->spec.source != f->source)) {
		rc = err_set(err, ERR_NOT_FOUND, 0, "there is no trigger %s with the source %s", key, trigger_source_name(f->source));
	} else if (t->waiting >= TRIGGER_MAX_WAITING || t->closed) {
		*out = (struct trigger_outcome){.verdict = TRIGGER_TRY_AGAIN,
						.reason = t->closed ? TRIGGER_REASON_Unreachable : TRIGGER_REASON_TooManyWaiting};
		snprintf(out->message, sizeof out->message, "%s", trigger_reason_remedy(out->reason));
	} else {
		decide_firing(t, e, f, done, ctx, now_wall_ms, out, wake);
	}
	pthread_mutex_unlock(&t->lock);
	return rc;
}

/* the worker --------------------------------------------------------------------------------------------------------- */

bool trigger_table_take(struct trigger_table *t, const char *key, struct trigger_load *out)
{
	*out = (struct trigger_load){0};
	pthread_mutex_lock(&t->lock);
	struct entry *e = find_trigger_entry(t, key);
	if (e) {
		*out = (struct trigger_load){
			.object = trigger_ref(e->object),
			.waits = e->waits,
			.notes = e->notes,
			.suppressed = e->suppressed,
			.flushed_mono_ms = e->flushed_mono_ms,
			.told_reason = e->told_reason,
			.told_mono_ms = e->told_mono_ms,
		};
		e->in_work = e->waits;
		e->waits = NULL;
		e->notes = NULL;
		e->suppressed = (struct trigger_suppressed){0};
	}
	pthread_mutex_unlock(&t->lock);
	return e != NULL;
}

static void return_load(struct entry *e, struct trigger_load *load)
{
	struct trigger_note **end = &e->notes;
	while (*end)
		end = &(*end)->next;
	*end = load->notes;
	load->notes = NULL;
	int64_t more = e->suppressed.count;
	if (!more)
		e->suppressed = load->suppressed;
	else
		e->suppressed.count = more + load->suppressed.count;
	e->flushed_mono_ms = load->flushed_mono_ms;
	e->told_reason = load->told_reason;
	e->told_mono_ms = load->told_mono_ms;
	e->in_work = NULL;
}

void trigger_table_done(struct trigger_table *t, const char *key, struct trigger_load *load)
{
	pthread_mutex_lock(&t->lock);
	struct entry *e = find_trigger_entry(t, key);
	if (e && strcmp(e->object->uid, load->object->uid) == 0)
		return_load(e, load);
	else if (e)
		e->in_work = NULL;
	for (struct trigger_wait *w = load->waits; w; w = w->next)
		t->waiting--;
	pthread_mutex_unlock(&t->lock);
	answer_waits(load->waits);
	trigger_notes_free(load->notes);
	trigger_unref(load->object);
	*load = (struct trigger_load){0};
}

void trigger_table_note(struct trigger_table *t, const char *key, int what, const char *session, const char *message)
{
	pthread_mutex_lock(&t->lock);
	struct entry *e = find_trigger_entry(t, key);
	if (e && strlen(session) < TRIGGER_SESSION_NAME_SIZE) {
		struct trigger_note *n = mem_alloc(sizeof *n);
		n->what = what;
		memcpy(n->session, session, strlen(session) + 1);
		n->message = mem_strdup(message);
		n->next = e->notes;
		e->notes = n;
	}
	pthread_mutex_unlock(&t->lock);
}

/* looking ------------------------------------------------------------------------------------------------------------ */

struct profiling_trigger **trigger_table_of_source(struct trigger_table *t, enum trigger_source source, const char *namespace, size_t *count)
{
	*count = 0;
	pthread_mutex_lock(&t->lock);
	struct profiling_trigger **list = mem_calloc(HASH_COUNT(t->entries) + 1, sizeof(struct profiling_trigger *));
	for (struct entry *e = t->entries; e; e = e->hh.next) {
		const struct profiling_trigger *o = e->object;
		if (o->spec_valid && !o->spec.suspend && !o->deleting && o->spec.source == source && entry_is_in(e, namespace))
			list[(*count)++] = trigger_ref(o);
	}
	pthread_mutex_unlock(&t->lock);
	return list;
}

uint64_t trigger_table_revision(struct trigger_table *t)
{
	pthread_mutex_lock(&t->lock);
	uint64_t revision = t->revision;
	pthread_mutex_unlock(&t->lock);
	return revision;
}

void trigger_table_each(struct trigger_table *t, void (*fn)(void *ctx, const char *key), void *ctx)
{
	pthread_mutex_lock(&t->lock);
	size_t count = HASH_COUNT(t->entries), n = 0;
	char (*keys)[TRIGGER_KEY_SIZE] = mem_calloc(count ? count : 1, sizeof *keys);
	for (struct entry *e = t->entries; e; e = e->hh.next)
		memcpy(keys[n++], e->key, TRIGGER_KEY_SIZE);
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < n; i++)
		fn(ctx, keys[i]);
	free(keys);
}

size_t trigger_table_count(struct trigger_table *t)
{
	pthread_mutex_lock(&t->lock);
	size_t count = HASH_COUNT(t->entries);
	pthread_mutex_unlock(&t->lock);
	return count;
}
