#include "agent/observe/observe_step.h"

#include <string.h>

static bool change_state(struct observe_state *s, enum link_observed_state state, int64_t since_wall_ms)
{
	if (s->state == state)
		return false;
	s->state = state;
	s->since_wall_ms = since_wall_ms;
	return true;
}

static void forget_past(struct observe_state *s)
{
	s->past_count = 0;
	s->above_mono_ms = s->below_mono_ms = 0;
}

/* Millicores over the window; -1: not known yet. */
static int64_t cpu_value(struct observe_state *s, const struct observe_sample *now)
{
	int64_t last_ms = s->past_count ? s->past[s->past_count - 1].mono_ms : now->mono_ms;
	/* A smaller amount is another group: the container was started anew. */
	if (now->mono_ms - last_ms > OBSERVE_GAP_MS || (s->past_count && now->amount < s->past[s->past_count - 1].amount))
		forget_past(s);
	/* One that is older than the window stays, so that the window is whole. */
	while (s->past_count > 1 && (now->mono_ms - s->past[1].mono_ms >= OBSERVE_WINDOW_MS || s->past_count == OBSERVE_SAMPLES))
		memmove(&s->past[0], &s->past[1], (size_t)--s->past_count * sizeof s->past[0]);
	int64_t value = -1;
	if (s->past_count && now->mono_ms > s->past[0].mono_ms)
		value = (now->amount - s->past[0].amount) / 1000 / (now->mono_ms - s->past[0].mono_ms);
	s->past[s->past_count].mono_ms = now->mono_ms;
	s->past[s->past_count++].amount = now->amount;
	return value;
}

/* As floating point, because what a group says is not bounded. */
static bool is_above(double value, double whole, int64_t percent)
{
	return value * 100 > whole * (double)percent;
}

static bool judge_sample(const struct link_observation *o, struct observe_state *s, const struct observe_sample *now)
{
	int64_t for_ms = o->for_seconds * 1000, calm_ms = for_ms < OBSERVE_NORMAL_MOST_MS ? for_ms : OBSERVE_NORMAL_MOST_MS;
	bool above = is_above((double)s->value, (double)s->whole, o->above_percent);
	bool below = !is_above((double)s->value, (double)s->whole * 0.9, o->above_percent);
	if (!above)
		s->above_mono_ms = 0;
	else if (!s->above_mono_ms) {
		s->above_mono_ms = now->mono_ms;
		s->above_wall_ms = now->wall_ms;
	}
	if (!below)
		s->below_mono_ms = 0;
	else if (!s->below_mono_ms)
		s->below_mono_ms = now->mono_ms;
	if (above && now->mono_ms - s->above_mono_ms >= for_ms)
		return change_state(s, LINK_OBSERVED_ABOVE, s->above_wall_ms);
	if (s->state == LINK_OBSERVED_ABOVE && (!below || now->mono_ms - s->below_mono_ms < calm_ms))
		return false;
	return change_state(s, LINK_OBSERVED_NORMAL, now->wall_ms);
}

bool observe_step(const struct link_observation *o, struct observe_state *s, const struct observe_sample *sample)
{
	if (!sample->found || sample->whole <= 0) {
		forget_past(s);
		s->value = s->whole = 0;
		return change_state(s, sample->found ? LINK_OBSERVED_NO_LIMIT : LINK_OBSERVED_NOT_FOUND, sample->wall_ms);
	}
	int64_t value = o->resource == LINK_RESOURCE_CPU ? cpu_value(s, sample) : sample->amount;
	s->whole = sample->whole;
	if (value < 0) /* the first one: nothing to compare with */
		return false;
	s->value = value;
	return judge_sample(o, s, sample);
}
