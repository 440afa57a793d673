#include "agent/catalogue/sentence.h"

#include "agent/report/phrase.h"
#include "agent/symbols/method_name.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/size_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_NAME_CHARS 16 /* a name with less room says nothing */
#define CLAUSE_MAX_BYTES 4096

/* formats ---------------------------------------------------------------------------------------------------------- */

static void fill_rate(double n, struct buf *out)
{
	phrase_rate(out, n);
}

static void fill_count(double n, struct buf *out)
{
	size_text_count(out, (uint64_t)(fmin(fmax(n, 0), 1e18) + 0.5));
}

static void fill_bytes(double n, struct buf *out)
{
	size_text_bytes(out, (uint64_t)fmin(fmax(n, 0), 1e18));
}

static void fill_megabytes(double n, struct buf *out)
{
	fill_bytes(n * 1e6, out);
}

static void fill_ns(double n, struct buf *out)
{
	phrase_duration(out, (int64_t)fmin(fmax(n, 0), 9e18));
}

static void fill_us(double n, struct buf *out)
{
	fill_ns(n * 1e3, out);
}

static void fill_ms(double n, struct buf *out)
{
	fill_ns(n * 1e6, out);
}

static void fill_seconds(double n, struct buf *out)
{
	fill_ns(n * 1e9, out);
}

static void fill_percent(double n, struct buf *out)
{
	phrase_percent(out, n);
}

static const struct number_format {
	const char *name;
	void (*put)(double n, struct buf *out);
} number_formats[] = {{"count", fill_count}, {"rate", fill_rate}, {"percent", fill_percent}, {"bytes", fill_bytes}, {"mb", fill_megabytes},
		      {"ns", fill_ns},       {"us", fill_us},     {"ms", fill_ms},              {"s", fill_seconds},   {NULL, NULL}};

static const struct number_format *number_format(const char *name)
{
	const struct number_format *f = number_formats;
	while (f->name && strcmp(f->name, name) != 0)
		f++;
	return f->name ? f : NULL;
}

static bool is_precision(const char *format)
{
	return format[0] == '.' && format[1] >= '0' && format[1] <= '3' && !format[2];
}

bool sentence_is_format(const char *format)
{
	char first[64], second[64], more;
	if (sscanf(format, "plural %63s %63s %c", first, second, &more) == 2)
		return true;
	return is_precision(format) || number_format(format) || strcmp(format, "fit") == 0 || strcmp(format, "method") == 0 ||
	       (strncmp(format, "method ", 7) == 0 && atoi(format + 7) >= LEAST_NAME_CHARS / 2);
}

static void fill_plural(const char *format, double n, struct buf *out)
{
	char one[64], many[64];
	if (sscanf(format, "plural %63s %63s", one, many) == 2)
		buf_puts(out, size_text_plural(n, one, many));
}

static void fill_number(const char *format, double n, struct buf *out)
{
	const struct number_format *f = number_format(format);
	if (f)
		f->put(n, out);
	else if (is_precision(format))
		buf_printf(out, "%.*f", format[1] - '0', n);
	else
		fill_plural(format, n, out);
}

/* slots ------------------------------------------------------------------------------------------------------------ */

struct slot {
	char *expression, *format; /* format "": none */
	const char *end;           /* behind the slot */
};

static void slot_fini(struct slot *slot)
{
	free(slot->expression);
	free(slot->format);
}

static bool is_plain_name(const char *text)
{
	return text[0] && text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* Reads the slot at `open`, a '{'. */
static int slot_read(const char *open, const struct sentence_units *units, struct slot *out, struct err *e)
{
	const char *close = strchr(open, '}'), *colon = close ? memchr(open, ':', (size_t)(close - open)) : NULL;
	*out = (struct slot){0};
	if (!close)
		return err_set(e, ERR_INVALID, 0, "'%.40s': a slot without '}'", open);
	out->end = close + 1;
	out->expression = mem_strndup(open + 1, (size_t)((colon ? colon : close) - open - 1));
	out->format = colon ? mem_strndup(colon + 1, (size_t)(close - colon - 1)) : NULL;
	if (out->format && !sentence_is_format(out->format)) {
		err_set(e, ERR_INVALID, 0, "{%s:%s}: no such format", out->expression, out->format);
		slot_fini(out);
		return -1;
	}
	if (!out->format) {
		const char *unit = is_plain_name(out->expression) ? units->unit(units->context, out->expression) : NULL;
		out->format = mem_strdup(unit ? unit : "");
	}
	return 0;
}

struct sentence_pass {
	struct scope *scope;
	const struct sentence_units *units;
	size_t fit_chars; /* for each name that fits itself */
	bool lacks;       /* something was unknown, empty or had no room */
	struct err *e;
};

static void fill_name(struct sentence_pass *p, const char *format, const char *text, struct buf *out)
{
	size_t chars = strcmp(format, "fit") == 0 ? p->fit_chars : format[0] == 'm' && format[6] ? (size_t)atoi(format + 7) : PHRASE_NAME_CHARS;
	if (chars == SIZE_MAX)
		return; /* it is only measured */
	p->lacks |= chars < LEAST_NAME_CHARS / 2 || (chars < LEAST_NAME_CHARS && phrase_chars(text) > chars);
	method_name_shorten(text, chars, out);
}

static int fill_slot(struct sentence_pass *p, const struct slot *slot, struct buf *out)
{
	struct value v;
	if (scope_evaluate(p->scope, slot->expression, &v, p->e))
		return -1;
	bool is_text = v.kind == VALUE_TEXT;
	p->lacks |= v.kind == VALUE_UNKNOWN || (is_text && !v.text[0]);
	if (v.kind == VALUE_UNKNOWN)
		buf_puts(out, "unknown");
	else if (!is_text)
		fill_number(slot->format, v.number, out);
	else if (slot->format[0] == 'm' || slot->format[0] == 'f')
		fill_name(p, slot->format, v.text, out);
	else
		buf_puts(out, v.text);
	return 0;
}

/* Puts the text up to `end`, clauses and slots filled. */
static int fill_part(struct sentence_pass *p, const char *at, const char *end, struct buf *out);

static int fill_clause(struct sentence_pass *p, const char *at, const char *end, struct buf *out)
{
	bool outer = p->lacks;
	AUTO_BUF struct buf clause;
	buf_init(&clause, CLAUSE_MAX_BYTES);
	p->lacks = false;
	int rc = fill_part(p, at, end, &clause);
	if (!p->lacks)
		buf_puts(out, buf_str(&clause));
	p->lacks = outer;
	return rc;
}

static int fill_part(struct sentence_pass *p, const char *at, const char *end, struct buf *out)
{
	while (at < end) {
		struct slot slot;
		const char *close = *at == '[' ? memchr(at, ']', (size_t)(end - at)) : NULL;
		if (close) {
			if (fill_clause(p, at + 1, close, out))
				return -1;
			at = close + 1;
		} else if (*at == '{') {
			if (slot_read(at, p->units, &slot, p->e))
				return -1;
			int rc = fill_slot(p, &slot, out);
			at = slot.end;
			slot_fini(&slot);
			if (rc)
				return -1;
		} else {
			buf_putc(out, *at++);
		}
	}
	return 0;
}

int sentence_put(struct scope *s, const char *sentence, const struct sentence_units *units, size_t max_chars, struct buf *out, struct err *e)
{
	struct sentence_pass p = {.scope = s, .units = units, .fit_chars = PHRASE_NAME_CHARS, .e = e};
	const char *end = sentence + strlen(sentence);
	if (max_chars && strstr(sentence, ":fit}")) {
		AUTO_BUF struct buf without;
		buf_init(&without, CLAUSE_MAX_BYTES);
		p.fit_chars = SIZE_MAX;
		if (fill_part(&p, sentence, end, &without))
			return -1;
		size_t used = phrase_chars(buf_str(&without));
		p.fit_chars = used < max_chars ? max_chars - used : 0;
	}
	return fill_part(&p, sentence, end, out);
}

/* checks ----------------------------------------------------------------------------------------------------------- */

static int check_clauses(const char *sentence, struct err *e)
{
	int depth = 0;
	for (const char *at = sentence; *at; at++) {
		depth += *at == '[' ? 1 : *at == ']' ? -1 : 0;
		if (depth < 0 || depth > 1)
			return err_set(e, ERR_INVALID, 0, "'%s': a clause in brackets has no clause in it, and ends once", sentence);
	}
	return depth ? err_set(e, ERR_INVALID, 0, "'%s': a clause without ']'", sentence) : 0;
}

int sentence_check(const char *sentence, const struct sentence_units *units, struct err *e)
{
	struct slot slot;
	for (const char *at = strchr(sentence, '{'); at; at = strchr(slot.end, '{')) {
		if (slot_read(at, units, &slot, e))
			return -1;
		int rc = expression_check(slot.expression, e);
		slot_fini(&slot);
		if (rc)
			return -1;
	}
	return check_clauses(sentence, e);
}

void sentence_expressions(const char *sentence, void (*expression)(void *context, const char *expression), void *context)
{
	for (const char *at = strchr(sentence, '{'), *close; at && (close = strchr(at, '}')); at = strchr(close, '{')) {
		const char *colon = memchr(at, ':', (size_t)(close - at));
		AUTO_FREE char *text = mem_strndup(at + 1, (size_t)((colon ? colon : close) - at - 1));
		expression(context, text);
	}
}
