#include "agent/profilers/leak/leak_types.h"

#include "agent/heap/heap_counts.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#define TYPE_CHARS 60

/* Of verdicts that are no growth, the one that says most stands. */
static int verdict_weight(enum leak_verdict v)
{
	static const int weights[LEAK_VERDICTS] = {[LEAK_GROWS] = 5, [LEAK_UNCERTAIN] = 4, [LEAK_SLOWS_DOWN] = 3, [LEAK_WARMING_UP] = 2,
						  [LEAK_LEVELLED_OFF] = 1};
	return weights[v];
}

static void type_series(const struct leak_model *m, uint32_t type, uint64_t material, struct leak_series *out)
{
	*out = (struct leak_series){
		.walks = m->walk_count,
		.root = LEAK_ROOT_STATIC, /* that no root is known does not make it garbage here */
		.old = true,
		.uptime_ms = m->uptime_ms,
		.course = LEAK_COURSE_UNKNOWN,
		.material_bytes = material,
	};
	for (size_t w = 0; w < m->walk_count; w++) {
		out->at_ns[w] = m->walks[w].at_ns;
		out->bytes[w] = leak_model_type_at(m, type, w)->old_bytes;
	}
	out->lacked_cpu = leak_model_given_ns(m, out->given_ns);
}

void leak_types_fit(const struct leak_model *m, uint32_t type, struct leak_fit *out)
{
	struct leak_series s;
	type_series(m, type, 1, &s);
	leak_fit_make(s.at_ns, s.bytes, s.walks, out);
}

static enum leak_verdict judge_leak_type(const struct leak_model *m, uint32_t type, uint64_t material)
{
	struct leak_series s;
	type_series(m, type, material, &s);
	if (s.bytes[m->walk_count - 1] > s.bytes[0])
		s.course = leak_curve_course(&m->curve, s.bytes[m->walk_count - 1] - s.bytes[0]);
	return leak_verdict_of(&s);
}

static int64_t grown_of(const struct leak_model *m, uint32_t type)
{
	return (int64_t)(leak_model_type_at(m, type, m->walk_count - 1)->old_bytes - leak_model_type_at(m, type, 0)->old_bytes);
}

enum leak_verdict leak_types_find(const struct leak_model *m, struct leak_diagnosis *d)
{
	enum leak_verdict found = LEAK_STEADY;
	int64_t all = 0;
	d->groups.material_bytes = leak_material_bytes(m->walks[m->walk_count - 1].bytes);
	for (uint32_t i = 0; i < m->type_count; i++) {
		enum leak_verdict v = judge_leak_type(m, i, d->groups.material_bytes);
		int64_t grown = grown_of(m, i);
		all += (int64_t)(leak_model_type_at(m, i, m->walk_count - 1)->bytes - leak_model_type_at(m, i, 0)->bytes);
		d->held_bytes += v == LEAK_GROWS ? grown : 0;
		if (verdict_weight(v) < verdict_weight(found) || !verdict_weight(v) || (verdict_weight(v) == verdict_weight(found) && grown <= d->type_bytes))
			continue;
		found = v;
		d->type = i;
		d->type_bytes = grown;
	}
	d->churn_bytes = all > d->held_bytes ? all - d->held_bytes : 0;
	return found;
}

void leak_types_put_name(const struct leak_model *m, uint32_t type, size_t max_chars, struct buf *line)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, 4096);
	method_name_printable(leak_model_text(m, m->types[type].name), 1000, &shown);
	method_name_shorten(buf_str(&shown), max_chars, line);
}

void leak_types_put_headline(const struct leak_model *m, const struct leak_diagnosis *d, struct buf *line)
{
	buf_puts(line, "Types only: ");
	leak_types_put_name(m, d->type, 40, line);
	buf_puts(line, " grows by ");
	size_text_bytes(line, (uint64_t)((double)d->type_bytes * 60 / leak_model_seconds(m)));
	buf_puts(line, "/min");
}

void leak_types_put_growth(const struct leak_model *m, const struct leak_diagnosis *d, struct buf *line)
{
	const struct leak_type_figures *f = leak_model_type_at(m, d->type, 0);
	int64_t more = (int64_t)(f[m->walk_count - 1].count - f[0].count);
	leak_types_put_name(m, d->type, TYPE_CHARS, line);
	buf_puts(line, ": + ");
	size_text_bytes(line, (uint64_t)d->type_bytes);
	buf_puts(line, " of old objects in ");
	leak_put_measured(line, leak_model_seconds(m));
	buf_puts(line, more < 0 ? ", - " : ", + ");
	size_text_count(line, (uint64_t)(more < 0 ? -more : more));
	buf_puts(line, " objects of any age. What nothing holds any more is counted too, until its collection.");
}

void leak_types_put_needs(const struct leak_model *m, struct buf *line)
{
	for (size_t i = 0; i < m->walk_count; i++) {
		const struct leak_walk *w = &m->walks[i];
		if (!w->types_only)
			continue;
		heap_counts_put_needs(&w->needs, w->why, line);
		buf_putc(line, '.');
		return;
	}
}
