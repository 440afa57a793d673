#include "agent/profilers/leak/leak_report.h"
#include "agent/symbols/method_name.h"
#include "agent/report/old_json.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <string.h>

#define HOLDERS_MAX 100
#define TYPES_MAX 200
#define STEPS_MAX 40
#define PATH_CHARS 480
#define TYPE_BYTES 500

/* Names of types are outside text that is longer than other names. */
static void put_type(struct report_file *f, const char *key, const char *name)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, TYPE_BYTES * 16);
	method_name_printable(name, TYPE_BYTES, &shown);
	old_json_shown(f, key, buf_str(&shown));
}

static void put_maybe(struct report_file *f, const char *key, const char *text)
{
	old_json_string(f, key, text[0] ? text : NULL);
}

static void put_path(struct report_file *f, const char *key, const struct leak_model *m, uint32_t step)
{
	AUTO_BUF struct buf path;
	buf_init(&path, 8192);
	leak_put_path(&path, m, step, PATH_CHARS);
	old_json_shown(f, key, buf_str(&path));
}

static void open_item(struct report_file *f, size_t i)
{
	buf_puts(&f->text, i ? ",\n{" : "\n{");
}

/* The members of an object begin with commas: the first one's is taken back. */
static void put_space(struct report_file *f, enum heap_generation g, const struct leak_space *s, bool comma)
{
	static const char *const names[] = {"gen0", "gen1", "gen2", "loh", "poh", "frozen"};
	buf_printf(&f->text, "%s{\"generation\":\"%s\"", comma ? "," : "", names[g]);
	old_json_integer(f, "sizeBytes", (int64_t)s->size);
	old_json_integer(f, "usedBytes", (int64_t)s->used);
	old_json_integer(f, "freeBytes", (int64_t)s->free);
	buf_puts(&f->text, "}");
}

static void put_walks(const struct leak_source *s, struct report_file *f)
{
	const struct leak_model *m = s->model;
	buf_puts(&f->text, ",\n\"walks\":[");
	for (size_t i = 0; i < m->walk_count; i++) {
		const struct leak_walk *w = &m->walks[i];
		open_item(f, i);
		buf_printf(&f->text, "\"atSeconds\":%.3f", (double)(w->at_ns - s->started_ns) / 1e9);
		old_json_shown(f, "roots", w->types_only ? "none" : w->exact ? "exact" : "noCollection");
		old_json_string(f, "rootsWhy", w->why);
		old_json_known(f, "holdersPauseBudgetMilliseconds", w->needs.budget_ms ? w->needs.budget_ms : -1);
		old_json_known(f, "holdersAgentMemoryBytes", w->needs.limit_bytes ? w->needs.limit_bytes : -1);
		old_json_known(f, "holdersAgentFileBytes", w->needs.file_bytes ? w->needs.file_bytes : -1);
		old_json_integer(f, "stopMicroseconds", w->stop_us);
		old_json_integer(f, "objects", (int64_t)w->objects);
		old_json_integer(f, "bytes", (int64_t)w->bytes);
		old_json_integer(f, "unreachableObjects", (int64_t)w->loose_objects);
		old_json_integer(f, "unreachableBytes", (int64_t)w->loose_bytes);
		old_json_integer(f, "freeBytes", (int64_t)w->free_bytes);
		old_json_integer(f, "pinnedObjects", (int64_t)w->pinned_objects);
		buf_puts(&f->text, ",\"generations\":[");
		for (int g = 0; g < HEAP_GENERATIONS; g++)
			put_space(f, g, &w->spaces[g], g > 0);
		buf_puts(&f->text, "]");
		old_json_known(f, "residentBytes", w->resident_bytes);
		old_json_known(f, "containerBytes", w->container_bytes);
		old_json_known(f, "unmanagedBytes", w->unmanaged_bytes);
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]");
}

static void put_memory_growth(struct report_file *f, const char *key, bool known, int64_t bytes)
{
	if (known)
		old_json_integer(f, key, bytes);
	else
		buf_printf(&f->text, ",\"%s\":null", key);
}

static void put_growth(const struct leak_source *s, struct report_file *f)
{
	const struct leak_diagnosis *d = s->diagnosis;
	const struct leak_forecast *c = &d->forecast;
	const struct leak_group *top = leak_groups_first(&d->groups, LEAK_GROWS);
	buf_printf(&f->text, ",\n\"growth\":{\"seconds\":%.3f", leak_model_seconds(s->model));
	old_json_integer(f, "heapBytes", d->heap_bytes);
	old_json_integer(f, "heldBytes", d->held_bytes);
	old_json_integer(f, "churnBytes", d->churn_bytes);
	put_memory_growth(f, "unmanagedBytes", d->memory_known, d->unmanaged_bytes);
	put_memory_growth(f, "freeBytes", d->memory_known, d->free_bytes);
	old_json_number(f, "bytesPerMinute", c->bytes_per_minute, 0);
	old_json_known(f, "limitBytes", c->limit_bytes);
	old_json_string(f, "limitKind", leak_limit_kind_name(c->kind));
	old_json_known(f, "usedBytes", c->used_bytes);
	old_json_known(f, "secondsToLimit", c->seconds);
	if (top)
		put_path(f, "holder", s->model, top->payload);
	else
		old_json_string(f, "holder", NULL);
	if (d->type != LEAK_NONE)
		put_type(f, "type", leak_model_text(s->model, s->model->types[d->type].name));
	else
		old_json_string(f, "type", NULL);
	old_json_string(f, "pattern", top ? leak_pattern_name(top->pattern) : NULL);
	old_json_shown(f, "confidence", leak_confidence_name(d->confidence));
	old_json_number(f, "detectableBytesPerMinute", d->detectable_per_minute, 0);
	buf_puts(&f->text, "}");
}

static void put_steps(struct report_file *f, const struct leak_model *m, uint32_t step)
{
	uint32_t way[STEPS_MAX];
	size_t count = 0;
	for (; m->steps[step].parent != LEAK_NONE && count < STEPS_MAX; step = m->steps[step].parent)
		way[count++] = step;
	buf_puts(&f->text, ",\"steps\":[");
	for (size_t i = count; i-- > 0;) {
		buf_printf(&f->text, "%s{\"objects\":%" PRIu64, i + 1 < count ? "," : "", leak_model_at(m, way[i], m->walk_count - 1)->count);
		put_type(f, "type", leak_model_text(m, m->steps[way[i]].name));
		put_maybe(f, "field", leak_model_text(m, m->steps[way[i]].field));
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]");
}

static void put_series(struct report_file *f, const char *key, const uint64_t *values, size_t count)
{
	buf_printf(&f->text, ",\"%s\":[", key);
	for (size_t i = 0; i < count; i++)
		buf_printf(&f->text, "%s%" PRIu64, i ? "," : "", values[i]);
	buf_puts(&f->text, "]");
}

static uint32_t root_of(const struct leak_model *m, uint32_t step)
{
	while (m->steps[step].parent != LEAK_NONE)
		step = m->steps[step].parent;
	return step;
}

static void put_holders(const struct leak_source *s, struct report_file *f)
{
	const struct leak_model *m = s->model;
	const struct leak_groups *all = &s->diagnosis->groups;
	buf_puts(&f->text, ",\n\"holders\":[");
	for (size_t i = 0; i < all->count && i < HOLDERS_MAX; i++) {
		const struct leak_group *g = &all->items[i];
		open_item(f, i);
		buf_printf(&f->text, "\"growthBytes\":%" PRId64, g->grown_bytes);
		put_path(f, "path", m, g->payload);
		old_json_string(f, "root", leak_model_text(m, m->steps[root_of(m, g->holder)].name));
		old_json_shown(f, "rootKind", leak_root_name(m->steps[g->holder].root));
		put_steps(f, m, g->payload);
		put_type(f, "type", leak_model_text(m, m->steps[g->payload].name));
		put_maybe(f, "assembly", leak_model_text(m, m->steps[g->payload].module));
		old_json_shown(f, "pattern", leak_pattern_name(g->pattern));
		old_json_shown(f, "verdict", leak_verdict_name(g->verdict));
		put_series(f, "counts", g->counts, m->walk_count);
		put_series(f, "bytes", g->bytes, m->walk_count);
		old_json_integer(f, "growthCount", g->grown_count);
		old_json_number(f, "bytesPerMinute", g->bytes_per_minute, 0);
		buf_puts(&f->text, "}");
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

static void put_types(const struct leak_source *s, struct report_file *f)
{
	const struct leak_model *m = s->model;
	size_t last = m->walk_count - 1;
	buf_puts(&f->text, ",\n\"types\":[");
	for (size_t i = 0; i < s->type_count && i < TYPES_MAX; i++) {
		uint32_t id = s->types[i];
		const struct leak_type_figures *t = leak_model_type_at(m, id, 0);
		uint64_t counts[LEAK_MAX_WALKS], bytes[LEAK_MAX_WALKS], old[LEAK_MAX_WALKS];
		for (size_t w = 0; w < m->walk_count; w++) {
			counts[w] = t[w].count;
			bytes[w] = t[w].bytes;
			old[w] = t[w].old_bytes;
		}
		open_item(f, i);
		buf_printf(&f->text, "\"growthBytes\":%" PRId64, leak_source_type_grown(m, id));
		put_type(f, "type", leak_model_text(m, m->types[id].name));
		put_maybe(f, "assembly", leak_model_text(m, m->types[id].module));
		put_series(f, "counts", counts, m->walk_count);
		put_series(f, "bytes", bytes, m->walk_count);
		put_series(f, "oldBytes", old, m->walk_count);
		old_json_integer(f, "growthCount", (int64_t)(counts[last] - counts[0]));
		old_json_integer(f, "survivorsAtMostBytes", (int64_t)(bytes[0] < old[last] ? bytes[0] : old[last]));
		old_json_integer(f, "looseCount", (int64_t)t[last].loose_count);
		old_json_integer(f, "looseBytes", (int64_t)t[last].loose_bytes);
		buf_puts(&f->text, "}");
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

static void put_figures(struct report_file *f, const char *key, const struct memory_figures *is)
{
	buf_printf(&f->text, ",\"%s\":{\"sizeBytes\":%" PRIu64 ",\"residentBytes\":%" PRIu64 ",\"swapBytes\":%" PRIu64 "}", key, is->size,
		   is->rss, is->swap);
}

static void put_memory(const struct leak_source *s, struct report_file *f)
{
	const struct leak_model *m = s->model;
	if (!m->memory_known) {
		buf_puts(&f->text, ",\n\"memory\":null");
		return;
	}
	buf_puts(&f->text, ",\n\"memory\":{\"kinds\":[");
	for (int k = 0; k < MEMORY_KIND_COUNT; k++) {
		open_item(f, (size_t)k);
		buf_printf(&f->text, "\"kind\":\"%s\"", memory_kind_name(k));
		old_json_shown(f, "title", memory_kind_title(k));
		put_figures(f, "first", &m->first.by_kind[k]);
		put_figures(f, "last", &m->last.by_kind[k]);
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "],\n\"mappings\":[");
	for (size_t i = 0; i < s->grown_count; i++) {
		open_item(f, i);
		buf_printf(&f->text, "\"kind\":\"%s\"", memory_kind_name(s->grown[i].kind));
		old_json_string(f, "name", s->grown[i].name);
		old_json_integer(f, "firstBytes", (int64_t)s->grown[i].first);
		old_json_integer(f, "lastBytes", (int64_t)s->grown[i].last);
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]}");
}

void leak_json_write(const void *source, struct report_file *f)
{
	const struct leak_source *s = source;
	old_json_begin(&s->head, leak_finding_name(s->diagnosis->finding), NULL, f);
	put_walks(s, f);
	put_growth(s, f);
	put_holders(s, f);
	put_types(s, f);
	put_memory(s, f);
	old_json_end(&s->head, f);
}
