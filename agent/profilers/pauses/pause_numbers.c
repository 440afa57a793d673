#include "agent/profilers/pauses/pause_numbers.h"

#include "agent/profilers/pauses/pause_advice.h"
#include "agent/symbols/method_name.h"

#include <math.h>

RULE_FIELDS(pause_numbers, PAUSE_NUMBERS);

#define MEGABYTE 1e6

static double pause_known(int64_t value, double unit)
{
	return value >= 0 ? (double)value / unit : NAN;
}

void pause_numbers_method(const struct pause_analysis *a, uint32_t stack, struct rule_text *out)
{
	struct method_name name;
	uint32_t frame = pause_stack_method(&a->capture->stacks, stack);
	if (frame == PAUSE_NONE)
		return;
	method_name_make(&a->capture->stacks.frames[frame], &name);
	rules_set_text(out, name.text);
}

/* What the runtime did while all threads stood. */
static void share_stopped_time(const struct pause_analysis *a, struct pause_numbers *n)
{
	const struct pause_capture *c = a->capture;
	int64_t induced = 0, young = 0, gen2 = 0, background = 0, other = 0;
	for (size_t i = 0; i < c->pause_count; i++) {
		const struct pause_kind *k = &c->kinds[c->pauses[i].kind];
		int64_t *sum = k->induced		       ? &induced
			       : k->reason == PAUSE_BACKGROUND ? &background
			       : k->reason != PAUSE_COLLECTION || k->generation < 0 ? &other
			       : k->generation == 2	       ? &gen2
							       : &young;
		*sum += c->pauses[i].stopped_ns;
	}
	n->suspending_percent = pause_analysis_percent(a, a->suspending.total_ns);
	n->induced_percent = pause_analysis_percent(a, induced);
	n->young_percent = pause_analysis_percent(a, young);
	n->gen2_percent = pause_analysis_percent(a, gen2);
	n->background_percent = pause_analysis_percent(a, background);
	n->other_percent = pause_analysis_percent(a, other);
}

/* The reason of most of that time that is for no collection. */
static const char *other_reason(const struct pause_analysis *a)
{
	for (size_t i = 0; i < a->reason_count; i++)
		if (a->by_reason[i].index != PAUSE_COLLECTION && a->by_reason[i].index != PAUSE_BACKGROUND)
			return pause_reason_title(a->by_reason[i].index);
	return NULL;
}

static void count_pauses(const struct pause_analysis *a, struct pause_numbers *n)
{
	const struct pause_capture *c = a->capture;
	n->seconds = (double)c->facts.duration_ns / 1e9;
	n->pauses = (double)c->pause_count;
	n->dropped = (double)c->dropped;
	n->paused_percent = a->share_percent;
	n->longest_ms = (double)a->length.max_ns / 1e6;
	n->longest_percent = pause_analysis_percent(a, a->length.max_ns);
	if (a->slowest_count && a->length.max_ns > 0)
		n->longest_suspending_percent = 100.0 * (double)c->pauses[a->slowest[0]].suspend_ns / (double)a->length.max_ns;
	n->late_pauses = a->late.count;
	n->longest_suspending_ms = (double)a->suspending.max_ns / 1e6;
	n->induced_pauses = a->induced.count;
	n->young_collections = c->collections[0][0].count + c->collections[1][0].count;
	n->gen2_collections = c->collections[2][0].count;
	n->background_collections = c->collections[2][1].count;
	rules_set_text(&n->other_reason, other_reason(a));
	share_stopped_time(a, n);
}

static void name_culprits(const struct pause_analysis *a, struct pause_numbers *n)
{
	if (a->late_count) {
		const struct pause_late *l = &a->capture->late[a->by_late[0].index];
		AUTO_BUF struct buf shown;
		buf_init(&shown, 1024);
		method_name_printable(l->thread, 40, &shown);
		rules_set_text(&n->late_thread, buf_str(&shown));
		pause_numbers_method(a, l->stack, &n->late_method);
	}
	if (a->inducer_count)
		pause_numbers_method(a, a->capture->inducers[a->by_inducer[0].index], &n->inducer);
}

static void weigh_causes(const struct pause_analysis *a, struct pause_numbers *n)
{
	int64_t large = 0;
	n->causes_looked_at = a->capture->causes_known ? (double)a->sample.looked : 0;
	if (!a->capture->causes_known)
		return;
	for (size_t i = 0; i < a->cause_count; i++)
		if (a->by_cause[i].index == CAUSE_ALLOCATION_LARGE || a->by_cause[i].index == CAUSE_OUT_OF_SPACE_LARGE)
			large += a->by_cause[i].total_ns;
	n->large_percent = pause_analysis_percent(a, large);
}

static void measure_surroundings(const struct pause_capture *c, struct pause_numbers *n)
{
	const struct target *t = &c->facts.target;
	int concurrent = gc_settings_concurrent(&c->gc);
	n->throttled_percent = pause_throttled_percent(c) >= 0 ? pause_throttled_percent(c) : NAN;
	n->throttled_ms = pause_known(c->throttled_ns, 1e6);
	n->run_delay_ms = c->facts.run_delay_ns > 0 ? (double)c->facts.run_delay_ns / 1e6 : NAN;
	if (c->facts.node_pressure_ns >= 0 && c->facts.duration_ns > 0)
		n->node_pressure_percent = fmin(100.0 * (double)c->facts.node_pressure_ns / (double)c->facts.duration_ns, 100);
	n->delay_percent = rules_known(n->run_delay_ms) && pause_delay_percent(c) >= 0 ? pause_delay_percent(c) : NAN;
	n->cpus_used = n->seconds > 0 ? pause_known(c->process_cpu_ns, 1e9 * n->seconds) : NAN;
	n->cpus = pause_known(pause_cpus(c), 1);
	n->node_cpus = c->node_cpus > 0 ? (double)c->node_cpus : NAN;
	n->server_heaps = pause_known(c->gc.server_heaps, 1);
	n->concurrent = pause_known(concurrent, 1);
	n->in_container = t->container_id != NULL || t->pod_uid != NULL;
	n->memory_mb = pause_known(c->memory_bytes, MEGABYTE);
	n->memory_limit_mb = pause_known(c->memory_limit_bytes, MEGABYTE);
	n->process_mb = pause_known(c->process_bytes, MEGABYTE);
	n->hard_limit_mb = pause_known(pause_hard_limit(c), MEGABYTE);
}

void pause_numbers_of(const struct pause_analysis *a, struct pause_numbers *out)
{
	rules_clear(&pause_numbers_fields, out);
	count_pauses(a, out);
	name_culprits(a, out);
	weigh_causes(a, out);
	measure_surroundings(a->capture, out);
}
