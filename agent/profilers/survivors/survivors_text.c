#include "agent/profilers/survivors/survivors_text.h"

#include "agent/report/phrase.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#include <string.h>

#define LEAST_STEPS 2 /* the first and the last one always stand */

void survivors_text_share(struct buf *out, const struct survivors *s, uint64_t bytes)
{
	size_text_bytes(out, bytes);
	buf_puts(out, " (");
	phrase_percent(out, survivors_percent(s, bytes));
	buf_putc(out, ')');
}

static size_t count_code_points(const char *s, size_t len)
{
	size_t count = 0;
	for (size_t i = 0; i < len; i++)
		count += ((unsigned char)s[i] & 0xC0) != 0x80;
	return count;
}

void survivors_text_holder(struct buf *out, const char *name, size_t max_chars)
{
	static const char *const words[] = {"thread static ", "static ", "stack of "};
	size_t kept = 0;
	for (size_t i = 0; i < sizeof words / sizeof *words && !kept; i++)
		if (strncmp(name, words[i], strlen(words[i])) == 0)
			kept = strlen(words[i]);
	if (kept + 8 > max_chars)
		kept = 0;
	buf_append(out, name, kept);
	method_name_shorten(name + kept, max_chars - kept, out);
}

void survivors_text_times(struct buf *out, const char *short_name, uint64_t count, size_t max_chars)
{
	AUTO_BUF struct buf times;
	buf_init(&times, 64);
	if (count != 1) {
		buf_puts(&times, " x ");
		size_text_count(&times, count);
	}
	method_name_shorten(short_name, max_chars > times.len + 4 ? max_chars - times.len : 4, out);
	buf_puts(out, buf_str(&times));
}

void survivors_text_objects(struct buf *out, const struct heap_snapshot *s, uint32_t type, uint64_t count, size_t max_chars)
{
	survivors_text_times(out, s->types[type].short_name, count, max_chars);
}

/* A step that holds the next one by a field: "Dictionary<int, Order>._entries", "Entry[].value", "List<Order>". */
static void put_holding_step(struct buf *out, const struct heap_snapshot *s, const struct heap_step *step, const char *field)
{
	const char *name = s->types[step->type].short_name;
	size_t len = strlen(name);
	buf_puts(out, name);
	if (field && strncmp(field, "[]", 2) == 0)
		field += 2; /* the array's own brackets stand there */
	if (len && field && *field) {
		if (*field != '.')
			buf_putc(out, '.');
		buf_puts(out, field);
	}
}

static void put_holding_steps(struct buf *out, const struct heap_snapshot *s, const struct heap_path *p, size_t from, size_t to)
{
	for (size_t i = 0; i < p->step_count; i++) {
		const struct heap_step *step = &p->steps[i];
		bool last = i + 1 == p->step_count;
		if (i >= from && i < to)
			continue;
		if (i)
			buf_puts(out, i == to && from < to ? " -> ... -> " : " -> ");
		if (last)
			survivors_text_objects(out, s, step->type, step->count, METHOD_NAME_SIZE);
		else
			put_holding_step(out, s, step, p->steps[i + 1].field);
	}
}

void survivors_text_steps(struct buf *out, const struct heap_snapshot *s, const struct heap_path *p, size_t max_chars)
{
	AUTO_BUF struct buf line;
	buf_init(&line, (METHOD_NAME_SIZE + 300) * (HEAP_PATH_MAX_STEPS + 1));
	size_t middle = p->step_count > LEAST_STEPS ? p->step_count - LEAST_STEPS : 0;
	for (size_t left_out = 0; left_out <= middle; left_out++) {
		size_t to = p->step_count - 1, from = to - left_out;
		buf_reset(&line);
		put_holding_steps(&line, s, p, p->step_count ? from : 0, p->step_count ? to : 0);
		if (count_code_points(buf_str(&line), line.len) <= max_chars)
			break;
	}
	buf_append(out, buf_str(&line), line.len);
}

const char *survivors_text_root(const struct heap_snapshot *s, const struct heap_path *p)
{
	if (p->label && p->label[0])
		return p->label;
	return survivors_kind_title(s, p->kind ? SURVIVORS_OTHER : SURVIVORS_UNKNOWN);
}

enum survivors_kind survivors_text_path_kind(const struct heap_path *p)
{
	struct heap_root r = {.kind = p->kind, .flags = p->label && strstr(p->label, "pinned") ? HEAP_ROOT_PINNED : 0};
	return p->kind ? survivors_kind_of(&r) : SURVIVORS_UNKNOWN;
}

static bool leads_through(const struct heap_path *p, const struct heap_snapshot *s, const char *type)
{
	for (size_t i = 0; i < p->step_count; i++)
		if (strcmp(s->types[p->steps[i].type].name, type) == 0)
			return true;
	return false;
}

const struct heap_path *survivors_text_path_of(const struct survivors *s, const struct survivors_holder *h)
{
	for (size_t i = 0; i < s->paths.count; i++) {
		const struct heap_path *p = &s->paths.paths[i];
		bool unknown = h->kind == SURVIVORS_UNKNOWN && !p->kind;
		if (h->kind == SURVIVORS_SEVERAL || unknown) {
			if (leads_through(p, s->snapshot, h->name))
				return p;
		} else if (p->label && strcmp(p->label, h->name) == 0) {
			return p;
		}
	}
	return NULL;
}
