#include "controller/triggers/trigger_plan.h"

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/size_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_under_way(const struct trigger_record *r)
{
	return r->phase == TRIGGER_PENDING || r->phase == TRIGGER_ACTIVE;
}

/* Younger than `span_ms`. A time ahead of ours is as good as now, but not one far ahead: nobody's clock wrote that. */
static bool is_within(int64_t wall_ms, int64_t span_ms, int64_t now_wall_ms)
{
	return now_wall_ms - wall_ms < span_ms && wall_ms - now_wall_ms < TRIGGER_HOUR_MS;
}

static int64_t memory_ms(const struct profiling_trigger *t)
{
	int64_t cooldown = t->spec_valid ? t->spec.cooldown_seconds * 1000 : 0;
	return cooldown > TRIGGER_HOUR_MS ? cooldown : TRIGGER_HOUR_MS;
}

static bool is_needed(const struct profiling_trigger *t, const struct trigger_record *r, int64_t now_wall_ms)
{
	return is_under_way(r) || is_within(r->wall_ms, memory_ms(t), now_wall_ms);
}

static struct trigger_record *find_trigger_record(const struct trigger_status *st, const char *session)
{
	for (size_t i = 0; i < st->record_count; i++) {
		if (strcmp(st->records[i].session, session) == 0)
			return &st->records[i];
	}
	return NULL;
}

static void drop_trigger_record(struct trigger_status *st, size_t i)
{
	trigger_record_fini(&st->records[i]);
	st->record_count--;
	memmove(&st->records[i], &st->records[i + 1], (st->record_count - i) * sizeof *st->records);
}

static size_t oldest_unneeded(const struct profiling_trigger *t, const struct trigger_status *st, int64_t now_wall_ms)
{
	size_t i = 0;
	while (i < st->record_count && is_needed(t, &st->records[i], now_wall_ms))
		i++;
	return i;
}

/* Places a new record by its time; false: there is no room. */
static bool insert(const struct profiling_trigger *t, struct trigger_status *st, struct trigger_record *take, int64_t now_wall_ms)
{
	if (st->record_count == TRIGGER_MAX_FIRINGS) {
		size_t old = oldest_unneeded(t, st, now_wall_ms);
		if (old == st->record_count) {
			trigger_record_fini(take);
			return false;
		}
		drop_trigger_record(st, old);
	}
	size_t at = st->record_count;
	while (at > 0 && st->records[at - 1].wall_ms > take->wall_ms)
		at--;
	memmove(&st->records[at + 1], &st->records[at], (st->record_count - at) * sizeof *st->records);
	st->records[at] = *take;
	st->record_count++;
	return true;
}

/* settling ------------------------------------------------------------------------------------------------------------ */

/* A session that was never made is none that was started. */
static void take_back_firing(struct trigger_status *st)
{
	size_t i = st->record_count;
	while (i > 0 && st->records[i - 1].phase == TRIGGER_REJECTED)
		i--;
	st->fired_count -= st->fired_count > 0;
	st->last_fired_wall_ms = i ? st->records[i - 1].wall_ms : 0;
	free(st->last_session);
	st->last_session = i ? mem_strdup(st->records[i - 1].session) : NULL;
}

static void obey_note(struct trigger_status *st, const struct trigger_note *n)
{
	struct trigger_record *r = find_trigger_record(st, n->session);
	if (!r || !is_under_way(r))
		return;
	switch (n->what) {
	case TRIGGER_NOTE_CREATED:
		r->phase = TRIGGER_ACTIVE;
		return;
	case TRIGGER_NOTE_GONE:
		r->phase = TRIGGER_GONE;
		return;
	case TRIGGER_NOTE_REJECTED:
		r->phase = TRIGGER_REJECTED;
		free(r->message);
		r->message = mem_strdup(n->message);
		take_back_firing(st);
	}
}

static const struct trigger_session_view *find_session(const struct trigger_session_view *sessions, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(sessions[i].name, name) == 0)
			return &sessions[i];
	}
	return NULL;
}

static void add_unrecorded_session(const struct profiling_trigger *t, struct trigger_status *st, const struct trigger_session_view *v, int64_t now_wall_ms)
{
	struct trigger_record r = {.phase = v->phase, .wall_ms = v->created_wall_ms};
	if (strlen(v->name) >= sizeof r.session || !v->created_wall_ms)
		return;
	memcpy(r.session, v->name, strlen(v->name) + 1);
	if (!is_needed(t, &r, now_wall_ms))
		return;
	r.pod_name = mem_strdup(v->pod_name);
	insert(t, st, &r, now_wall_ms);
}

void trigger_plan_settle(const struct profiling_trigger *t, struct trigger_status *st, const struct trigger_session_view *sessions, size_t count,
			 const struct trigger_note *notes, int64_t now_wall_ms)
{
	for (; notes; notes = notes->next)
		obey_note(st, notes);
	for (size_t i = st->record_count; i-- > 0;) {
		struct trigger_record *r = &st->records[i];
		const struct trigger_session_view *v = find_session(sessions, count, r->session);
		if (v)
			r->phase = v->phase;
		else if (r->phase == TRIGGER_ACTIVE && now_wall_ms - r->wall_ms >= TRIGGER_UNSEEN_MS)
			r->phase = TRIGGER_GONE;
		else if (r->phase == TRIGGER_REJECTED && t->generation != st->observed_generation)
			drop_trigger_record(st, i); /* what was rejected was another template's */
	}
	for (size_t i = 0; i < count; i++) {
		if (!find_trigger_record(st, sessions[i].name))
			add_unrecorded_session(t, st, &sessions[i], now_wall_ms);
	}
}

/* deciding ------------------------------------------------------------------------------------------------------------ */

bool trigger_plan_is_limit(const char *reason)
{
	return reason == TRIGGER_REASON_TooManyActive || reason == TRIGGER_REASON_HourlyLimit || reason == TRIGGER_REASON_HistoryFull;
}

static int64_t count_active(const struct trigger_status *st)
{
	int64_t n = 0;
	for (size_t i = 0; i < st->record_count; i++)
		n += is_under_way(&st->records[i]);
	return n;
}

static int64_t count_hour(const struct trigger_status *st, int64_t now_wall_ms)
{
	int64_t n = 0;
	for (size_t i = 0; i < st->record_count; i++)
		n += is_within(st->records[i].wall_ms, TRIGGER_HOUR_MS, now_wall_ms);
	return n;
}

static const struct trigger_record *last_of_pod(const struct trigger_status *st, const char *pod)
{
	for (size_t i = st->record_count; i-- > 0;) {
		const struct trigger_record *r = &st->records[i];
		if (r->phase != TRIGGER_REJECTED && strcmp(r->pod_name ? r->pod_name : "", pod ? pod : "") == 0)
			return r;
	}
	return NULL;
}

static bool was_just_rejected(const struct profiling_trigger *t, const struct trigger_status *st, int64_t now_wall_ms)
{
	const struct trigger_record *last = st->record_count ? &st->records[st->record_count - 1] : NULL;
	return last && last->phase == TRIGGER_REJECTED && t->generation == st->observed_generation &&
	       is_within(last->wall_ms, TRIGGER_REJECTED_MS, now_wall_ms);
}

static void refuse_firing(struct trigger_decision *d, const char *reason, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void refuse_firing(struct trigger_decision *d, const char *reason, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(d->message, sizeof d->message, fmt, args);
	va_end(args);
	d->reason = reason;
}

/* Does one of the trigger's limits hold now? */
static bool check_limits(const struct profiling_trigger *t, const struct trigger_status *st, int64_t now_wall_ms, struct trigger_decision *d)
{
	int64_t active = count_active(st), hour = count_hour(st, now_wall_ms);
	if (active >= t->spec.max_active)
		refuse_firing(d, TRIGGER_REASON_TooManyActive, "%" PRId64 " %s under way; limits.maxActive is %" PRId64, active,
			      size_text_plural((double)active, "session is", "sessions are"), t->spec.max_active);
	else if (hour >= t->spec.per_hour)
		refuse_firing(d, TRIGGER_REASON_HourlyLimit, "%" PRId64 " %s started within 60 minutes; limits.perHour is %" PRId64, hour,
			      size_text_plural((double)hour, "session was", "sessions were"), t->spec.per_hour);
	else if (st->record_count == TRIGGER_MAX_FIRINGS && oldest_unneeded(t, st, now_wall_ms) == st->record_count)
		refuse_firing(d, TRIGGER_REASON_HistoryFull, "%d sessions were started within the cool-down", TRIGGER_MAX_FIRINGS);
	else
		return false;
	return true;
}

static bool check_pod_cooldown(const struct profiling_trigger *t, const struct trigger_status *st, const struct trigger_firing *f, int64_t now_wall_ms,
			       struct trigger_decision *d)
{
	const struct trigger_record *last = last_of_pod(st, f->pod_name);
	if (!last)
		return false;
	if (f->pod_name && is_under_way(last)) {
		refuse_firing(d, TRIGGER_REASON_SessionRunningOnPod, "session %s is under way on pod %.253s", last->session, f->pod_name);
		return true;
	}
	int64_t cooldown_ms = t->spec.cooldown_seconds * 1000;
	if (!is_within(last->wall_ms, cooldown_ms, now_wall_ms))
		return false;
	refuse_firing(d, TRIGGER_REASON_CoolingDown, "session %s was started less than %" PRId64 " s ago%s%.253s", last->session, t->spec.cooldown_seconds,
		      f->pod_name ? " on pod " : "", f->pod_name ? f->pod_name : "");
	return true;
}

void trigger_plan_fire(const struct profiling_trigger *t, const struct trigger_status *st, const struct trigger_firing *f, int64_t now_wall_ms,
		       struct trigger_decision *d)
{
	*d = (struct trigger_decision){.reason = TRIGGER_REASON_Fired};
	trigger_session_name(t, f->dedup, d->session);
	const struct trigger_record *same = find_trigger_record(st, d->session);
	if (t->deleting)
		refuse_firing(d, TRIGGER_REASON_TriggerDeleted, "the trigger is being deleted");
	else if (!t->spec_valid)
		refuse_firing(d, TRIGGER_REASON_InvalidSpec, "%s", t->spec_error);
	else if (same && same->phase != TRIGGER_REJECTED)
		refuse_firing(d, TRIGGER_REASON_Duplicate, "session %s was started for it", d->session);
	else if (t->spec.suspend)
		refuse_firing(d, TRIGGER_REASON_Suspended, "the trigger is suspended");
	else if (was_just_rejected(t, st, now_wall_ms))
		refuse_firing(d, TRIGGER_REASON_SessionRejected, "the last session could not be made: %s",
			      st->records[st->record_count - 1].message ? st->records[st->record_count - 1].message : "");
	else if (!f->pod_name && !t->spec.template_target)
		refuse_firing(d, TRIGGER_REASON_NoTarget, "the source names no pod, and the template's target has neither selector nor podName");
	else if (!check_pod_cooldown(t, st, f, now_wall_ms, d) && !check_limits(t, st, now_wall_ms, d))
		d->fire = true;
}

void trigger_plan_enter(const struct profiling_trigger *t, struct trigger_status *st, const struct trigger_firing *f, const struct trigger_decision *d,
			int64_t now_wall_ms)
{
	struct trigger_record *same = find_trigger_record(st, d->session);
	if (same)
		drop_trigger_record(st, (size_t)(same - st->records));
	struct trigger_record r = {
		.phase = TRIGGER_PENDING,
		.wall_ms = now_wall_ms,
		.pod_name = mem_strdup(f->pod_name),
		.container = mem_strdup(f->container),
		.message = mem_strdup(f->message),
	};
	memcpy(r.session, d->session, sizeof r.session);
	insert(t, st, &r, now_wall_ms);
	st->fired_count++;
	st->last_fired_wall_ms = now_wall_ms;
	free(st->last_session);
	st->last_session = mem_strdup(d->session);
}

void trigger_plan_suppressed(struct trigger_status *st, const char *reason, int64_t count, int64_t wall_ms)
{
	st->suppressed_count += count;
	if (wall_ms < st->last_suppressed_wall_ms)
		return;
	st->last_suppressed_wall_ms = wall_ms;
	free(st->last_suppressed_reason);
	st->last_suppressed_reason = mem_strdup(reason);
}

/* the schedule --------------------------------------------------------------------------------------------------------- */

static int64_t next_time(const struct trigger_schedule *s, int64_t after_wall_ms)
{
	return trigger_cron_next(&s->cron, s->zone ? trigger_zone_offset : NULL, s->zone, after_wall_ms);
}

/* Since when are missed times made up for? Not over a time when it was suspended or said something else. */
static int64_t armed_since(const struct profiling_trigger *t, const struct trigger_status *st, int64_t now_wall_ms)
{
	const struct condition *ready = &st->conditions[TRIGGER_READY];
	if (t->generation != st->observed_generation || ready->status == CONDITION_ABSENT || ready->reason == TRIGGER_REASON_Suspended ||
	    ready->reason == TRIGGER_REASON_InvalidSpec)
		return now_wall_ms;
	int64_t since = ready->status == CONDITION_TRUE ? ready->since_wall_ms : 0;
	return since > st->last_schedule_wall_ms ? since : st->last_schedule_wall_ms;
}

int64_t trigger_plan_due(const struct profiling_trigger *t, struct trigger_status *st, int64_t now_wall_ms)
{
	st->next_schedule_wall_ms = 0;
	if (!t->spec_valid || t->spec.source != TRIGGER_SCHEDULE || t->spec.suspend || t->deleting)
		return 0;
	const struct trigger_schedule *s = &t->spec.schedule;
	int64_t from = armed_since(t, st, now_wall_ms), least = now_wall_ms - s->starting_deadline_seconds * 1000, due = 0;
	for (int64_t at = next_time(s, from > least ? from : least); at <= now_wall_ms; at = next_time(s, at))
		due = at;
	int64_t next = next_time(s, now_wall_ms);
	st->next_schedule_wall_ms = next == TRIGGER_CRON_NEVER ? 0 : next;
	if (due)
		st->last_schedule_wall_ms = due;
	return due;
}

/* concluding ----------------------------------------------------------------------------------------------------------- */

static void set_trigger_condition(const struct profiling_trigger *t, struct trigger_status *st, enum trigger_condition type, bool holds, const char *reason,
				  const char *message, int64_t now_wall_ms)
{
	struct condition *c = &st->conditions[type];
	enum condition_status status = holds ? CONDITION_TRUE : CONDITION_FALSE;
	if (c->status != status)
		c->since_wall_ms = now_wall_ms;
	c->status = status;
	c->reason = reason;
	c->observed_generation = t->generation;
	const char *remedy = trigger_reason_remedy(reason);
	bool told = holds == (type == TRIGGER_READY) || !remedy;
	char *text = told ? mem_strdup(message) : mem_printf("%s. %s", message, remedy);
	free(c->message);
	c->message = text;
}

static void conclude_ready(const struct profiling_trigger *t, struct trigger_status *st, int64_t now_wall_ms)
{
	static const char *const waits[] = {"Waits for alerts.", "Waits for a pod to pass the threshold.", "Waits for the schedule's next time."};
	const struct trigger_record *last = st->record_count ? &st->records[st->record_count - 1] : NULL;
	if (!t->spec_valid)
		set_trigger_condition(t, st, TRIGGER_READY, false, TRIGGER_REASON_InvalidSpec, t->spec_error, now_wall_ms);
	else if (t->spec.suspend)
		set_trigger_condition(t, st, TRIGGER_READY, false, TRIGGER_REASON_Suspended, "The trigger is suspended", now_wall_ms);
	else if (last && last->phase == TRIGGER_REJECTED)
		set_trigger_condition(t, st, TRIGGER_READY, false, TRIGGER_REASON_SessionRejected, last->message ? last->message : "", now_wall_ms);
	else
		set_trigger_condition(t, st, TRIGGER_READY, true, TRIGGER_REASON_Ready, waits[t->spec.source], now_wall_ms);
}

static int64_t conclude_limited(const struct profiling_trigger *t, struct trigger_status *st, int64_t now_wall_ms)
{
	struct trigger_decision d;
	const char *last = st->last_suppressed_reason ? trigger_reason_intern(st->last_suppressed_reason) : NULL;
	bool met = st->conditions[TRIGGER_LIMITED].status == CONDITION_TRUE || (last && trigger_plan_is_limit(last));
	bool holds = t->spec_valid && met && check_limits(t, st, now_wall_ms, &d);
	if (!holds) {
		set_trigger_condition(t, st, TRIGGER_LIMITED, false, TRIGGER_REASON_WithinLimits, "No firing is kept from starting a session.", now_wall_ms);
		return INT64_MAX;
	}
	set_trigger_condition(t, st, TRIGGER_LIMITED, true, d.reason, d.message, now_wall_ms);
	int64_t span = d.reason == TRIGGER_REASON_HistoryFull ? memory_ms(t) : TRIGGER_HOUR_MS;
	for (size_t i = 0; i < st->record_count; i++) {
		if (is_within(st->records[i].wall_ms, span, now_wall_ms))
			return st->records[i].wall_ms + span;
	}
	return INT64_MAX;
}

int64_t trigger_plan_conclude(const struct profiling_trigger *t, struct trigger_status *st, int64_t now_wall_ms)
{
	st->observed_generation = t->generation;
	st->active_sessions = count_active(st);
	conclude_ready(t, st, now_wall_ms);
	int64_t wake = conclude_limited(t, st, now_wall_ms);
	const struct condition *tells = &st->conditions[st->conditions[TRIGGER_LIMITED].status == CONDITION_TRUE ? TRIGGER_LIMITED : TRIGGER_READY];
	free(st->message);
	st->message = mem_strdup(tells->message);
	for (size_t i = 0; i < st->record_count; i++) {
		int64_t unseen = st->records[i].wall_ms + TRIGGER_UNSEEN_MS;
		if (st->records[i].phase == TRIGGER_ACTIVE && unseen > now_wall_ms && unseen < wake)
			wake = unseen;
	}
	return st->next_schedule_wall_ms && st->next_schedule_wall_ms < wake ? st->next_schedule_wall_ms : wake;
}

/* history ---------------------------------------------------------------------------------------------------------------- */

static bool is_older(const struct trigger_session_view *a, const struct trigger_session_view *b)
{
	return a->completed_wall_ms != b->completed_wall_ms ? a->completed_wall_ms < b->completed_wall_ms : strcmp(a->name, b->name) < 0;
}

/* How many sessions of the same end are newer? */
static int64_t count_newer(const struct trigger_session_view *sessions, size_t count, size_t of)
{
	int64_t n = 0;
	for (size_t i = 0; i < count; i++)
		n += sessions[i].phase == sessions[of].phase && is_older(&sessions[of], &sessions[i]);
	return n;
}

size_t trigger_plan_history(const struct profiling_trigger *t, const struct trigger_session_view *sessions, size_t count, size_t *out)
{
	size_t n = 0;
	for (size_t i = 0; t->spec_valid && i < count; i++) {
		int64_t kept = sessions[i].phase == TRIGGER_SUCCEEDED ? t->spec.keep_successful : t->spec.keep_failed;
		if (sessions[i].phase != TRIGGER_ACTIVE && count_newer(sessions, count, i) >= kept)
			out[n++] = i;
	}
	return n;
}
