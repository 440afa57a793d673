#include "agent/profilers/leak/leak_report.h"
#include "agent/report/report_json.h"
#include "agent/symbols/method_name.h"

#define HOLDERS_MAX 100
#define TYPES_MAX 1000
#define STEPS_MAX 40
#define PATH_CHARS 480
#define TYPE_BYTES 500

/* Names of types are outside text that is longer than other names. */
static void put_type(struct report_file *f, const char *key, const char *name)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, TYPE_BYTES * 16);
	method_name_printable(name, TYPE_BYTES, &shown);
	jsonw_string(&f->json, key, buf_str(&shown));
}

static void put_maybe(struct report_file *f, const char *key, const char *text)
{
	report_json_string(f, key, text[0] ? text : NULL);
}

static void put_path(struct report_file *f, const char *key, const struct leak_model *m, uint32_t step)
{
	AUTO_BUF struct buf path;
	buf_init(&path, 8192);
	leak_put_path(&path, m, step, PATH_CHARS);
	jsonw_string(&f->json, key, buf_str(&path));
}

static void put_generations(const struct leak_walk *walk, struct json_writer *w)
{
	static const char *const names[] = {"gen0", "gen1", "gen2", "loh", "poh", "frozen"};
	jsonw_array(w, "generations");
	for (int g = 0; g < HEAP_GENERATIONS; g++) {
		jsonw_object(w, NULL);
		jsonw_string(w, "generation", names[g]);
		jsonw_unsigned(w, "sizeBytes", walk->spaces[g].size);
		jsonw_unsigned(w, "usedBytes", walk->spaces[g].used);
		jsonw_unsigned(w, "freeBytes", walk->spaces[g].free);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_walk(const struct leak_source *s, const struct leak_walk *walk, struct report_file *f)
{
	struct json_writer *w = &f->json;
	report_json_record(f);
	jsonw_number(w, "atSeconds", (double)(walk->at_ns - s->started_ns) / 1e9, 3);
	jsonw_string(w, "roots", walk->types_only ? "none" : walk->exact ? "exact" : "noCollection");
	report_json_string(f, "rootsWhy", walk->why);
	jsonw_known(w, "holdersPauseBudgetMilliseconds", walk->needs.budget_ms ? walk->needs.budget_ms : -1);
	jsonw_known(w, "holdersAgentMemoryBytes", walk->needs.limit_bytes ? walk->needs.limit_bytes : -1);
	jsonw_known(w, "holdersAgentFileBytes", walk->needs.file_bytes ? walk->needs.file_bytes : -1);
	jsonw_integer(w, "stopMicroseconds", walk->stop_us);
	jsonw_unsigned(w, "objects", walk->objects);
	jsonw_unsigned(w, "bytes", walk->bytes);
	jsonw_unsigned(w, "unreachableObjects", walk->loose_objects);
	jsonw_unsigned(w, "unreachableBytes", walk->loose_bytes);
	jsonw_unsigned(w, "freeBytes", walk->free_bytes);
	jsonw_unsigned(w, "pinnedObjects", walk->pinned_objects);
	put_generations(walk, w);
	jsonw_known(w, "residentBytes", walk->resident_bytes);
	jsonw_known(w, "containerBytes", walk->container_bytes);
	jsonw_known(w, "unmanagedBytes", walk->unmanaged_bytes);
	report_json_end(f);
}

static void put_walks(const struct leak_source *s, struct report_file *f)
{
	jsonw_line(&f->json);
	jsonw_array(&f->json, "walks");
	for (size_t i = 0; i < s->model->walk_count; i++)
		put_walk(s, &s->model->walks[i], f);
	jsonw_end(&f->json);
}

static void put_memory_growth(struct json_writer *w, const char *key, bool known, int64_t bytes)
{
	if (known)
		jsonw_integer(w, key, bytes);
	else
		jsonw_null(w, key);
}

static void put_growth(const struct leak_source *s, struct report_file *f)
{
	const struct leak_diagnosis *d = s->diagnosis;
	const struct leak_forecast *c = &d->forecast;
	const struct leak_group *top = leak_groups_first(&d->groups, LEAK_GROWS);
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_object(w, "growth");
	jsonw_number(w, "seconds", leak_model_seconds(s->model), 3);
	jsonw_integer(w, "heapBytes", d->heap_bytes);
	jsonw_integer(w, "heldBytes", d->held_bytes);
	jsonw_integer(w, "churnBytes", d->churn_bytes);
	put_memory_growth(w, "unmanagedBytes", d->memory_known, d->unmanaged_bytes);
	put_memory_growth(w, "freeBytes", d->memory_known, d->free_bytes);
	jsonw_number(w, "bytesPerMinute", c->bytes_per_minute, 0);
	jsonw_known(w, "limitBytes", c->limit_bytes);
	jsonw_string(w, "limitKind", leak_limit_kind_name(c->kind));
	jsonw_known(w, "usedBytes", c->used_bytes);
	jsonw_known(w, "secondsToLimit", c->seconds);
	if (top)
		put_path(f, "holder", s->model, top->payload);
	else
		jsonw_null(w, "holder");
	if (d->type != LEAK_NONE)
		put_type(f, "type", leak_model_text(s->model, s->model->types[d->type].name));
	else
		jsonw_null(w, "type");
	jsonw_string(w, "pattern", top ? leak_pattern_name(top->pattern) : NULL);
	jsonw_string(w, "confidence", leak_confidence_name(d->confidence));
	jsonw_number(w, "detectableBytesPerMinute", d->detectable_per_minute, 0);
	jsonw_end(w);
}

static void put_steps(struct report_file *f, const struct leak_model *m, uint32_t step)
{
	struct json_writer *w = &f->json;
	uint32_t way[STEPS_MAX];
	size_t count = 0;
	for (; m->steps[step].parent != LEAK_NONE && count < STEPS_MAX; step = m->steps[step].parent)
		way[count++] = step;
	jsonw_array(w, "steps");
	for (size_t i = count; i-- > 0;) {
		jsonw_object(w, NULL);
		jsonw_unsigned(w, "objects", leak_model_at(m, way[i], m->walk_count - 1)->count);
		put_type(f, "type", leak_model_text(m, m->steps[way[i]].name));
		put_maybe(f, "field", leak_model_text(m, m->steps[way[i]].field));
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_series(struct json_writer *w, const char *key, const uint64_t *values, size_t count)
{
	jsonw_array(w, key);
	for (size_t i = 0; i < count; i++)
		jsonw_unsigned(w, NULL, values[i]);
	jsonw_end(w);
}

static uint32_t root_of(const struct leak_model *m, uint32_t step)
{
	while (m->steps[step].parent != LEAK_NONE)
		step = m->steps[step].parent;
	return step;
}

static void put_holder(const struct leak_model *m, const struct leak_group *g, struct report_file *f)
{
	struct json_writer *w = &f->json;
	report_json_record(f);
	jsonw_integer(w, "growthBytes", g->grown_bytes);
	put_path(f, "path", m, g->payload);
	report_json_string(f, "root", leak_model_text(m, m->steps[root_of(m, g->holder)].name));
	jsonw_string(w, "rootKind", leak_root_name(m->steps[g->holder].root));
	put_steps(f, m, g->payload);
	put_type(f, "type", leak_model_text(m, m->steps[g->payload].name));
	put_maybe(f, "assembly", leak_model_text(m, m->steps[g->payload].module));
	jsonw_string(w, "pattern", leak_pattern_name(g->pattern));
	jsonw_string(w, "verdict", leak_verdict_name(g->verdict));
	put_series(w, "counts", g->counts, m->walk_count);
	put_series(w, "bytes", g->bytes, m->walk_count);
	jsonw_integer(w, "growthCount", g->grown_count);
	jsonw_number(w, "bytesPerMinute", g->bytes_per_minute, 0);
	report_json_end(f);
}

static void put_holders(const struct leak_source *s, struct report_file *f)
{
	const struct leak_groups *all = &s->diagnosis->groups;
	jsonw_line(&f->json);
	jsonw_array(&f->json, "holders");
	for (size_t i = 0; i < all->count && i < HOLDERS_MAX; i++)
		put_holder(s->model, &all->items[i], f);
	jsonw_end(&f->json);
}

static void put_type_record(const struct leak_model *m, uint32_t id, struct report_file *f)
{
	const struct leak_type_figures *t = leak_model_type_at(m, id, 0);
	struct json_writer *w = &f->json;
	uint64_t counts[LEAK_MAX_WALKS], bytes[LEAK_MAX_WALKS], old[LEAK_MAX_WALKS];
	size_t last = m->walk_count - 1;
	for (size_t i = 0; i < m->walk_count; i++) {
		counts[i] = t[i].count;
		bytes[i] = t[i].bytes;
		old[i] = t[i].old_bytes;
	}
	report_json_record(f);
	jsonw_integer(w, "growthBytes", leak_source_type_grown(m, id));
	put_type(f, "type", leak_model_text(m, m->types[id].name));
	put_maybe(f, "assembly", leak_model_text(m, m->types[id].module));
	put_series(w, "counts", counts, m->walk_count);
	put_series(w, "bytes", bytes, m->walk_count);
	put_series(w, "oldBytes", old, m->walk_count);
	jsonw_integer(w, "growthCount", (int64_t)(counts[last] - counts[0]));
	jsonw_unsigned(w, "survivorsAtMostBytes", bytes[0] < old[last] ? bytes[0] : old[last]);
	jsonw_unsigned(w, "looseCount", t[last].loose_count);
	jsonw_unsigned(w, "looseBytes", t[last].loose_bytes);
	report_json_end(f);
}

static void put_types(const struct leak_source *s, struct report_file *f)
{
	jsonw_line(&f->json);
	jsonw_array(&f->json, "types");
	for (size_t i = 0; i < s->type_count && i < TYPES_MAX; i++)
		put_type_record(s->model, s->types[i], f);
	jsonw_end(&f->json);
}

static uint64_t beyond(size_t count, size_t listed)
{
	return count > listed ? count - listed : 0;
}

static void put_left_out(const struct leak_source *s, struct json_writer *w)
{
	jsonw_line(w);
	jsonw_object(w, "leftOut");
	jsonw_unsigned(w, "holders", beyond(s->diagnosis->groups.count, HOLDERS_MAX));
	jsonw_unsigned(w, "types", beyond(s->type_count, TYPES_MAX));
	jsonw_unsigned(w, "notKept", s->model->no_place);
	jsonw_end(w);
}

static void put_figures(struct json_writer *w, const char *key, const struct memory_figures *is)
{
	jsonw_object(w, key);
	jsonw_unsigned(w, "sizeBytes", is->size);
	jsonw_unsigned(w, "residentBytes", is->rss);
	jsonw_unsigned(w, "swapBytes", is->swap);
	jsonw_end(w);
}

static void put_kinds(const struct leak_model *m, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_array(w, "kinds");
	for (int k = 0; k < MEMORY_KIND_COUNT; k++) {
		report_json_record(f);
		jsonw_string(w, "kind", memory_kind_name(k));
		jsonw_string(w, "title", memory_kind_title(k));
		put_figures(w, "first", &m->first.by_kind[k]);
		put_figures(w, "last", &m->last.by_kind[k]);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_memory(const struct leak_source *s, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	if (!s->model->memory_known) {
		jsonw_null(w, "memory");
		return;
	}
	jsonw_object(w, "memory");
	put_kinds(s->model, f);
	jsonw_line(w);
	jsonw_array(w, "mappings");
	for (size_t i = 0; i < s->grown_count; i++) {
		report_json_record(f);
		jsonw_string(w, "kind", memory_kind_name(s->grown[i].kind));
		report_json_string(f, "name", s->grown[i].name);
		jsonw_unsigned(w, "firstBytes", s->grown[i].first);
		jsonw_unsigned(w, "lastBytes", s->grown[i].last);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

void leak_json_write(const void *source, struct report_file *f)
{
	const struct leak_source *s = source;
	report_head_json_begin(&s->head, leak_finding_name(s->diagnosis->finding), f);
	jsonw_end(&f->json);
	put_walks(s, f);
	put_growth(s, f);
	put_holders(s, f);
	put_types(s, f);
	put_left_out(s, &f->json);
	put_memory(s, f);
	report_head_json_end(&s->head, f);
}
