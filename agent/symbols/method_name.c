#include "agent/symbols/method_name.h"

#include "agent/symbols/csharp_member.h"
#include "agent/symbols/csharp_type.h"
#include "agent/symbols/native_name.h"
#include "agent/symbols/span.h"
#include "common/base/buf.h"
#include "common/base/text.h"

#include <ctype.h>
#include <string.h>

#define RAW_MAX_BYTES 8192  /* of the composed name, before it is cut */

struct managed {
	struct buf *out;
	unsigned *marks;
	struct csharp_args args;
	struct span owner;      /* the method that a state machine or closure class was made of */
	struct span owner_args[SPAN_MAX_ITEMS];
	size_t owner_arg_count;
};

/* "<Compute>d__5", "VB$StateMachine_5_Compute", F#'s "Compute@12-1": the method's name. */
static bool state_machine_owner(struct span piece, struct span *owner, unsigned *marks)
{
	struct span rest;
	if (span_generated(piece, owner, &rest) && rest.n && rest.s[0] == 'd' && owner->n) {
		*marks |= METHOD_STATE_MACHINE;
		return true;
	}
	if (span_starts(piece, "VB$StateMachine_")) {
		size_t i = strlen("VB$StateMachine_");
		while (i < piece.n && isdigit((unsigned char)piece.s[i]))
			i++;
		*owner = span_sub(piece, i + (i < piece.n), piece.n);
		*marks |= METHOD_STATE_MACHINE;
		return owner->n > 0;
	}
	const char *at = memchr(piece.s, '@', piece.n);
	if (at && at > piece.s && at + 1 < piece.s + piece.n && isdigit((unsigned char)at[1])) {
		*owner = span_sub(piece, 0, (size_t)(at - piece.s));
		return true;
	}
	return false;
}

/* One piece of a nested type's name; its share of the arguments goes with it. */
static void put_piece(struct managed *m, struct span piece)
{
	size_t arity;
	struct span name = span_without_arity(piece, &arity), owner;
	if (arity > m->args.count - m->args.used)
		arity = m->args.count - m->args.used;
	if (csharp_type_is_closure(name)) {
		m->args.used += arity;
		return;
	}
	if (state_machine_owner(name, &owner, m->marks)) {
		m->owner = owner;
		memcpy(m->owner_args, m->args.items + m->args.used, arity * sizeof m->owner_args[0]);
		m->owner_arg_count = arity;
		m->args.used += arity;
		return;
	}
	if (m->out->len)
		buf_putc(m->out, '.');
	/* the namespace stays before the type's own word */
	struct span word = span_last_dotted(name);
	span_put(m->out, span_sub(name, 0, (size_t)(word.s - name.s)));
	csharp_type_put_word(m->out, word);
	csharp_type_put_args(m->out, &m->args, arity, CSHARP_MAX_DEPTH);
}

static void put_owner_type(struct managed *m, struct span type)
{
	for (size_t from = 0, end; from < type.n; from = end + 1) {
		end = span_piece_end(type, from, false);
		put_piece(m, span_sub(type, from, end));
		if (end == type.n)
			break;
	}
	if (!m->owner.n)
		csharp_type_put_args(m->out, &m->args, m->args.count - m->args.used, CSHARP_MAX_DEPTH);
}

static void put_owner_method(struct managed *m, struct span method)
{
	char name[SPAN_MAX_BYTES];
	for (size_t i = 0; i < m->owner.n; i++) /* explicit implementations: dots became dashes */
		name[i] = m->owner.s[i] == '-' ? '.' : m->owner.s[i];
	csharp_member_put(m->out, (struct span){name, m->owner.n}, m->marks, CSHARP_MAX_DEPTH);
	struct csharp_args args = {.count = m->owner_arg_count};
	memcpy(args.items, m->owner_args, sizeof args.items);
	csharp_type_put_args(m->out, &args, args.count, CSHARP_MAX_DEPTH);
	if (span_equals(method, "MoveNext")) {
		*m->marks |= METHOD_STATE_MACHINE;
	} else if (span_starts(method, "Invoke")) {
		buf_puts(m->out, ".lambda"); /* F#'s closures */
		*m->marks |= METHOD_LAMBDA;
	} else {
		*m->marks &= ~(unsigned)METHOD_STATE_MACHINE;
		buf_putc(m->out, '.');
		csharp_member_put(m->out, method, m->marks, CSHARP_MAX_DEPTH);
	}
}

static void put_managed(struct buf *out, const struct frame *f, unsigned *marks)
{
	struct managed m = {.out = out, .marks = marks};
	struct span method = span_of(f->method), method_args = span_of(f->method_args);
	if (f->type && f->type[0]) {
		m.args.count = span_split(span_of(f->type_args), m.args.items);
		if (span_equals(method, ".ctor"))
			buf_puts(out, "new ");
		else if (span_equals(method, ".cctor"))
			buf_puts(out, "static ");
		size_t lead = out->len;
		struct buf name;
		buf_init(&name, RAW_MAX_BYTES);
		m.out = &name;
		put_owner_type(&m, span_of(f->type));
		buf_append(out, buf_str(&name), name.len);
		buf_fini(&name);
		m.out = out;
		if (!m.owner.n && lead)
			goto parameters; /* "new Shop.Cart" is complete */
		if (out->len)
			buf_putc(out, '.');
	}
	if (m.owner.n)
		put_owner_method(&m, method);
	else
		csharp_member_put(out, method, marks, CSHARP_MAX_DEPTH);
	if (method_args.n)
		csharp_type_put_list(out, "<", method_args, ">");
parameters:
	if (f->overloaded && f->params && !(*marks & METHOD_STATE_MACHINE))
		csharp_type_put_list(out, "(", span_of(f->params), ")");
	if (f->dynamic)
		*marks |= METHOD_DYNAMIC;
}

static void put_module_only(struct buf *out, const struct frame *f, unsigned *marks)
{
	if (f->module && f->module[0])
		span_put(out, span_of(f->module));
	else
		buf_puts(out, f->kind == FRAME_KERNEL ? "[kernel]" : "[unnamed code]");
	*marks |= METHOD_NO_SYMBOL;
}

void method_name_printable(const char *s, size_t max_bytes, struct buf *out)
{
	size_t begin = out->len, n = strnlen(s, max_bytes + 1);
	text_append_printable(out, s, n > max_bytes ? text_cut_utf8(s, max_bytes) : n);
	if (out->len - begin <= max_bytes && n <= max_bytes)
		return;
	size_t keep = max_bytes - 3;
	if (out->len - begin > keep)
		out->len = begin + text_cut_utf8(out->data + begin, keep);
	out->data[out->len] = '\0';
	buf_puts(out, "\xE2\x80\xA6");
}

void method_name_make(const struct frame *f, struct method_name *out)
{
	AUTO_BUF struct buf raw, shown;
	buf_init(&raw, RAW_MAX_BYTES);
	buf_init(&shown, RAW_MAX_BYTES * 8);
	out->marks = 0;
	if (f->kind == FRAME_MANAGED && f->method && f->method[0])
		put_managed(&raw, f, &out->marks);
	else if (f->method && f->method[0])
		native_name_append(f->method, strnlen(f->method, SPAN_MAX_BYTES), &raw);
	else
		put_module_only(&raw, f, &out->marks);
	method_name_printable(buf_str(&raw), METHOD_NAME_SIZE - 1, &shown);
	memcpy(out->text, buf_str(&shown), shown.len + 1);
}

/* shortening ---------------------------------------------------------------------------------------------------- */

static size_t chars_in(struct span a)
{
	size_t count = 0;
	for (size_t i = 0; i < a.n; i++)
		count += ((unsigned char)a.s[i] & 0xC0) != 0x80;
	return count;
}

static void drop_generic(struct span a, struct buf *out)
{
	for (size_t i = 0; i < a.n; i++) {
		if (a.s[i] == '<' && i > 0 && (isalnum((unsigned char)a.s[i - 1]) || a.s[i - 1] == '_'))
			i = span_after_angle(a, i) - 1;
		else
			buf_putc(out, a.s[i]);
	}
}

static void cut_chars(struct span a, size_t max_chars, struct buf *out)
{
	size_t i = 0;
	for (size_t count = 0; i < a.n && count + 1 < max_chars; count++) {
		uint32_t c;
		i += text_decode_utf8(a.s + i, a.n - i, &c);
	}
	buf_append(out, a.s, i);
	buf_puts(out, "\xE2\x80\xA6");
}

void method_name_shorten(const char *name, size_t max_chars, struct buf *out)
{
	AUTO_BUF struct buf plain;
	buf_init(&plain, METHOD_NAME_SIZE * 4);
	struct span a = {name, strlen(name)};
	const char *open = strchr(name, '(');
	if (chars_in(a) > max_chars && open && open > name && open[-1] != ' ')
		a.n = (size_t)(open - name);
	if (chars_in(a) > max_chars) {
		drop_generic(a, &plain);
		a = (struct span){buf_str(&plain), plain.len};
	}
	if (chars_in(a) <= max_chars) {
		span_put(out, a);
		return;
	}
	const char *dot;
	struct span tail = a;
	while (chars_in(tail) + 1 > max_chars && (dot = memchr(tail.s, '.', tail.n)) && dot + 1 < tail.s + tail.n)
		tail = (struct span){dot + 1, tail.n - (size_t)(dot + 1 - tail.s)};
	if (chars_in(tail) + 1 > max_chars) {
		cut_chars(a, max_chars, out);
		return;
	}
	buf_puts(out, "\xE2\x80\xA6");
	span_put(out, tail);
}
