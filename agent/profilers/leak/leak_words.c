#include "agent/profilers/leak/leak_words.h"

#include "agent/profilers/leak/leak_async.h"
#include "agent/profilers/leak/leak_finding.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#include <string.h>

#define CLOSURE ".(closure)"

static void put_short_leak_name(struct buf *out, const char *name, size_t max_chars)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, 4096);
	method_name_printable(name, 1000, &shown);
	method_name_shorten(buf_str(&shown), max_chars, out);
}

void leak_words_name(struct buf *out, const struct leak_model *m, uint32_t step, size_t max_chars)
{
	put_short_leak_name(out, leak_model_text(m, m->steps[step].shown), max_chars);
}

void leak_words_more(struct buf *out, const struct leak_model *m, const struct leak_group *g, size_t max_chars)
{
	const char *shown = leak_model_text(m, m->steps[g->payload].shown);
	size_t n = strlen(shown), tail = strlen(CLOSURE);
	if (g->grown_count <= 0) {
		leak_words_name(out, m, g->payload, max_chars);
		return;
	}
	buf_puts(out, "+ ");
	size_text_count(out, (uint64_t)g->grown_count);
	buf_putc(out, ' ');
	AUTO_BUF struct buf method;
	buf_init(&method, 4096);
	if (leak_async_method(&method, m, g->payload)) {
		buf_puts(out, size_text_plural(g->grown_count, "call of ", "calls of "));
		put_short_leak_name(out, buf_str(&method), max_chars);
		return;
	}
	if (n <= tail || strcmp(shown + n - tail, CLOSURE) != 0) {
		leak_words_name(out, m, g->payload, max_chars);
		return;
	}
	AUTO_BUF struct buf of;
	buf_init(&of, 4096);
	buf_append(&of, shown, n - tail);
	buf_puts(out, size_text_plural(g->grown_count, "closure of ", "closures of "));
	put_short_leak_name(out, buf_str(&of), max_chars);
}

bool leak_words_event(struct buf *out, const struct leak_model *m, uint32_t step, size_t max_chars)
{
	uint32_t delegate = leak_pattern_event(m, step);
	if (delegate == LEAK_NONE)
		return false;
	uint32_t publisher = m->steps[delegate].parent;
	const char *field = leak_model_text(m, m->steps[delegate].field), *name = leak_model_text(m, m->steps[publisher].shown);
	AUTO_BUF struct buf event;
	buf_init(&event, 4096);
	if (m->steps[publisher].parent == LEAK_NONE) { /* a static event: the root is its field */
		if (m->steps[publisher].root != LEAK_ROOT_STATIC || strncmp(name, "static ", 7) != 0)
			return false;
		buf_puts(&event, name + 7);
	} else {
		if (!field[0] || field[0] == '[')
			return false;
		method_name_printable(name, 1000, &event);
		buf_putc(&event, '.');
		method_name_printable(field, 200, &event);
	}
	put_short_leak_name(out, buf_str(&event), max_chars);
	return true;
}

uint64_t leak_words_now(const struct leak_model *m, const struct leak_diagnosis *d)
{
	size_t last = m->walk_count - 1;
	if (d->group)
		return d->group->bytes[last];
	return d->type != LEAK_NONE ? leak_model_type_at(m, d->type, last)->old_bytes : memory_account_unmanaged(&m->last);
}

uint64_t leak_words_full(const struct leak_model *m, const struct leak_diagnosis *d)
{
	size_t last = m->walk_count - 1;
	double beside = d->group ? (double)(d->group->bytes[last] - d->group->added[last]) : 0, full = d->fit.full_bytes + beside;
	uint64_t now = leak_words_now(m, d);
	return full > (double)now ? (uint64_t)full : now;
}

uint32_t leak_words_root(const struct leak_model *m, uint32_t step)
{
	while (m->steps[step].parent != LEAK_NONE)
		step = m->steps[step].parent;
	return step;
}

void leak_words_period(struct buf *out, const struct leak_model *m)
{
	buf_puts(out, " in ");
	leak_put_measured(out, leak_model_seconds(m));
}

enum memory_kind leak_words_memory(const struct leak_model *m)
{
	static const enum memory_kind kinds[] = {MEMORY_MALLOC, MEMORY_ANONYMOUS, MEMORY_STACKS, MEMORY_CODE, MEMORY_SHARED};
	enum memory_kind found = MEMORY_MALLOC;
	int64_t most = INT64_MIN;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		const struct memory_figures *a = &m->first.by_kind[kinds[i]], *b = &m->last.by_kind[kinds[i]];
		int64_t grown = (int64_t)(b->rss + b->swap - a->rss - a->swap);
		if (grown > most) {
			most = grown;
			found = kinds[i];
		}
	}
	return found;
}
