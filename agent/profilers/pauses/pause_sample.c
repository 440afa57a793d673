#include "agent/profilers/pauses/pause_sample.h"

struct like { /* sums over pauses that are alike */
	double count, time_ns;
};

static double ratio(double all, double part)
{
	return part > 0 ? all / part : 0;
}

static bool is_background(const struct pause_kind *k)
{
	return k->reason == PAUSE_BACKGROUND;
}

void pause_sample_make(const struct pause_capture *c, struct pause_sample *out)
{
	struct like all[3][2][2] = {0}, looked[3][2][2] = {0};
	*out = (struct pause_sample){0};
	for (size_t i = 0; i < c->pause_count; i++) {
		const struct pause *p = &c->pauses[i];
		const struct pause_kind *k = &c->kinds[p->kind];
		if (k->generation < 0)
			continue;
		struct like *a = &all[k->generation][is_background(k)][k->induced], *l = &looked[k->generation][is_background(k)][k->induced];
		out->collections++;
		a->count++;
		a->time_ns += (double)pause_length_ns(p);
		if (p->brief)
			continue;
		out->looked++;
		l->count++;
		l->time_ns += (double)pause_length_ns(p);
	}
	for (int i = 0; i < 12; i++) {
		int g = i / 4, b = i / 2 % 2, n = i % 2;
		out->weight[g][b][n] = (struct pause_weight){ratio(all[g][b][n].count, looked[g][b][n].count),
							     ratio(all[g][b][n].time_ns, looked[g][b][n].time_ns)};
	}
}

void pause_sample_add(const struct pause_sample *s, const struct pause *p, const struct pause_kind *k, struct pause_tally *t)
{
	static const struct pause_weight itself = {1, 1};
	const struct pause_weight *w = k->generation < 0 ? &itself : &s->weight[k->generation][is_background(k)][k->induced];
	int64_t ns = pause_length_ns(p);
	if (p->brief && w->count > 0)
		return;
	w = p->brief ? &itself : w;
	t->count += w->count;
	t->time_ns += w->time * (double)ns;
	t->longest_ns = ns > t->longest_ns ? ns : t->longest_ns;
	t->looked += !p->brief;
	if (k->generation >= 0)
		t->by_generation[k->generation] += w->count;
}
