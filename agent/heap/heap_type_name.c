#include "agent/heap/heap_type_name.h"

#include "agent/symbols/csharp_type.h"
#include "agent/symbols/method_name.h"
#include "common/base/buf.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 1024
#define RAW_MAX_BYTES (4 * NAME_MAX_BYTES)

static char *printable_type_name(const char *s)
{
	AUTO_BUF struct buf out = {0};

	buf_init(&out, 2 * NAME_MAX_BYTES);
	method_name_printable(s, NAME_MAX_BYTES, &out);
	return buf_steal(&out);
}

/* The piece of the innermost type: what follows the last '+' outside of angles. */
static struct span innermost(struct span name)
{
	size_t from = 0, end;

	while ((end = span_piece_end(name, from, false)) < name.n)
		from = end + 1;
	return span_sub(name, from, name.n);
}

static struct span without_args(struct span type)
{
	size_t end = 0;

	while (end < type.n && type.s[end] != '[' && (type.s[end] != '<' || end == 0 || type.s[end - 1] == '+' || type.s[end - 1] == '.'))
		end = type.s[end] == '<' ? span_after_angle(type, end) : end + 1;
	return span_sub(type, 0, end);
}

static void put_short_type(struct buf *out, struct span type, struct span name)
{
	size_t arity;

	csharp_type_put(out, type, CSHARP_MAX_DEPTH);
	if (csharp_type_is_closure(span_without_arity(innermost(name), &arity)))
		buf_puts(out, ".(closure)");
}

void heap_type_set_name(struct heap_type *t, const char *metadata_name)
{
	struct span type = span_of(metadata_name), name = without_args(type);
	struct span outer = span_sub(name, 0, span_piece_end(name, 0, false)), word = span_last_dotted(outer);
	struct span space = span_sub(outer, 0, word.s > outer.s ? (size_t)(word.s - outer.s) - 1 : 0);
	AUTO_BUF struct buf shown = {0}, shorter = {0}, spaces = {0};
	size_t arity;

	buf_init(&shown, RAW_MAX_BYTES);
	buf_init(&shorter, RAW_MAX_BYTES);
	buf_init(&spaces, RAW_MAX_BYTES);
	put_short_type(&shorter, type, name);
	span_put(&spaces, space);
	word = span_without_arity(word, &arity);
	/* C#'s own words ("string[]") have no namespace before them */
	if (space.n && word.n && strncmp(buf_str(&shorter), word.s, word.n) == 0) {
		span_put(&shown, space);
		buf_putc(&shown, '.');
	}
	buf_puts(&shown, buf_str(&shorter));
	t->name = printable_type_name(buf_str(&shown));
	t->short_name = printable_type_name(buf_str(&shorter));
	t->space = printable_type_name(buf_str(&spaces));
}

/* "<Add>b__0", "<<Main>$>b__1", "<Add>g__Local|0": where it was written. */
static struct span method_of(struct span lambda)
{
	struct span method, rest, inner;

	if (!span_generated(lambda, &method, &rest) || !rest.n || (rest.s[0] != 'b' && rest.s[0] != 'g'))
		return span_sub(lambda, 0, 0);
	return span_generated(method, &inner, &rest) ? inner : method;
}

static void insert_method(char **name, struct span method)
{
	static const char closure[] = "(closure)";
	size_t len = strlen(*name), tail = sizeof closure - 1;
	AUTO_BUF struct buf out = {0};

	if (len < tail || strcmp(*name + len - tail, closure) != 0)
		return;
	buf_init(&out, RAW_MAX_BYTES);
	buf_append(&out, *name, len - tail);
	span_put(&out, method);
	buf_printf(&out, ".%s", closure);
	free(*name);
	*name = printable_type_name(buf_str(&out));
}

void heap_type_set_lambda(struct heap_type *t, const char *lambda, size_t len)
{
	struct span method = method_of((struct span){lambda, len});

	if (!method.n)
		return;
	insert_method(&t->name, method);
	insert_method(&t->short_name, method);
}
