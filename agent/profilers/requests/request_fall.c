#include "agent/profilers/requests/request_fall.h"

static bool is_alike(const struct fall_bar *a, const struct bill_moment *m)
{
	return a->call == m->call && a->place == m->place && a->doing == m->doing && a->seen == m->seen;
}

static void add_bar(void *ctx, const struct bill_moment *m)
{
	struct request_fall *f = ctx;
	struct fall_bar *last = f->count ? &f->bars[f->count - 1] : NULL;
	if (last && (is_alike(last, m) || m->to_ns - m->from_ns < f->least_ns || f->count == FALL_BARS)) {
		last->to_ns = m->to_ns;
		return;
	}
	f->bars[f->count++] = (struct fall_bar){m->from_ns, m->to_ns, m->call, m->place, m->doing, m->seen};
}

/* What is shorter than a pixel is not drawn. */
void request_fall_make(const struct request_trail *t, const struct request_work *w, const struct channel_request_done *d, struct request_fall *out)
{
	out->count = 0;
	out->least_ns = (d->end_ns - d->start_ns) / 1000;
	request_bill_walk(t, w, d, add_bar, out);
}
