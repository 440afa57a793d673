#include "agent/method_name.h"

#include "agent/native_name.h"
#include "common/base/buf.h"
#include "common/base/text.h"

#include <ctype.h>
#include <string.h>

#define PART_MAX_BYTES 4096 /* of each raw part; more is not read */
#define RAW_MAX_BYTES 8192  /* of the composed name, before it is cut */
#define MAX_ARGS 32
#define MAX_DEPTH 12        /* of arguments in arguments, names in names */

struct span {
	const char *s;
	size_t n;
};

static struct span span_of(const char *s)
{
	return (struct span){s ? s : "", s ? strnlen(s, PART_MAX_BYTES) : 0};
}

static struct span sub(struct span a, size_t from, size_t to)
{
	return (struct span){a.s + from, to - from};
}

static bool equals(struct span a, const char *text)
{
	return a.n == strlen(text) && memcmp(a.s, text, a.n) == 0;
}

static bool starts(struct span a, const char *text)
{
	return a.n >= strlen(text) && memcmp(a.s, text, strlen(text)) == 0;
}

static void put(struct buf *out, struct span a)
{
	buf_append(out, a.s, a.n);
}

/* The index after the '>' that closes the '<' at `open`; the end when it is never closed. */
static size_t after_angle(struct span a, size_t open)
{
	size_t depth = 0;
	for (size_t i = open; i < a.n; i++) {
		if (a.s[i] == '<')
			depth++;
		else if (a.s[i] == '>' && --depth == 0)
			return i + 1;
	}
	return a.n;
}

/* Splits at the commas of the outermost level. */
static size_t split_list(struct span list, struct span out[MAX_ARGS])
{
	size_t count = 0, begin = 0, depth = 0;
	for (size_t i = 0; i <= list.n && list.n && count < MAX_ARGS; i++) {
		char c = i < list.n ? list.s[i] : ',';
		if (c == '<' || c == '[' || c == '(')
			depth++;
		else if ((c == '>' || c == ']' || c == ')') && depth)
			depth--;
		else if (c == ',' && (depth == 0 || i == list.n)) {
			out[count++] = sub(list, begin, i);
			begin = i + 1;
		}
	}
	return count;
}

/* types -------------------------------------------------------------------------------------------------------- */

static const char *keyword(struct span type)
{
	static const char *const words[][2] = {
		{"System.Int32", "int"},      {"System.String", "string"}, {"System.Object", "object"},
		{"System.Boolean", "bool"},   {"System.Int64", "long"},    {"System.Double", "double"},
		{"System.Byte", "byte"},      {"System.Char", "char"},     {"System.Single", "float"},
		{"System.Int16", "short"},    {"System.UInt32", "uint"},   {"System.UInt64", "ulong"},
		{"System.UInt16", "ushort"},  {"System.SByte", "sbyte"},   {"System.Decimal", "decimal"},
		{"System.IntPtr", "nint"},    {"System.UIntPtr", "nuint"}, {"System.Void", "void"},
	};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (equals(type, words[i][0]))
			return words[i][1];
	return NULL;
}

/* Is there a '<' at i that begins a name of the compiler's ("<Total>d__3"), not a list of arguments? */
static bool opens_name(struct span a, size_t i)
{
	return a.s[i] == '<' && (i == 0 || a.s[i - 1] == '+' || a.s[i - 1] == '.');
}

/* The end of the next '+' or '.' separated piece (or only '+') that starts at `from`. */
static size_t piece_end(struct span a, size_t from, bool at_dots)
{
	for (size_t i = from; i < a.n; i++) {
		if (a.s[i] == '<')
			i = after_angle(a, i) - 1;
		else if (a.s[i] == '+' || (at_dots && a.s[i] == '.'))
			return i;
	}
	return a.n;
}

/* "List`1" gives "List" and 1. */
static struct span without_arity(struct span name, size_t *arity)
{
	size_t i = name.n;
	*arity = 0;
	while (i > 0 && isdigit((unsigned char)name.s[i - 1]))
		i--;
	if (i == 0 || i == name.n || name.s[i - 1] != '`')
		return name;
	for (size_t k = i; k < name.n && *arity < MAX_ARGS; k++)
		*arity = *arity * 10 + (size_t)(name.s[k] - '0');
	return sub(name, 0, i - 1);
}

struct arg_list {
	struct span items[MAX_ARGS];
	size_t count, used;
};

static void put_type(struct buf *out, struct span type, int depth);

static void put_args(struct buf *out, struct arg_list *args, size_t count, int depth)
{
	if (count > args->count - args->used)
		count = args->count - args->used;
	for (size_t i = 0; i < count; i++) {
		buf_puts(out, i ? ", " : "<");
		put_type(out, args->items[args->used + i], depth);
	}
	if (count)
		buf_puts(out, ">");
	args->used += count;
}

static bool is_closure(struct span name)
{
	return equals(name, "<>c") || starts(name, "<>c__") || starts(name, "_Closure$__");
}

/* The inner text of "<...>rest": true, with *inner and *rest, when `name` is such a name. */
static bool generated(struct span name, struct span *inner, struct span *rest)
{
	if (name.n < 2 || name.s[0] != '<')
		return false;
	size_t end = after_angle(name, 0);
	if (name.s[end - 1] != '>')
		return false;
	*inner = sub(name, 1, end - 1);
	*rest = sub(name, end, name.n);
	return true;
}

/* A type's own name, without nesting and arity: "<Program>F0A1B__Cache" (file-local) is "Cache". */
static void put_type_word(struct buf *out, struct span name)
{
	struct span inner, rest;
	if (generated(name, &inner, &rest)) {
		if (starts(rest, "f__AnonymousType")) {
			buf_puts(out, "(anonymous type)");
			return;
		}
		for (size_t i = 0; starts(rest, "F") && i + 2 < rest.n; i++)
			if (rest.s[i] == '_' && rest.s[i + 1] == '_') {
				put(out, sub(rest, i + 2, rest.n));
				return;
			}
	}
	put(out, name);
}

static struct span last_dotted(struct span name)
{
	size_t from = 0;
	for (size_t end; (end = piece_end(name, from, true)) < name.n;)
		from = end + 1;
	return sub(name, from, name.n);
}

static bool put_special(struct buf *out, struct span name, struct arg_list *args, int depth)
{
	if (equals(name, "System.Nullable`1") && args->count == 1) {
		put_type(out, args->items[0], depth);
		buf_putc(out, '?');
		return true;
	}
	if (starts(name, "System.ValueTuple`") && args->count > 1 && args->count < 8) {
		for (size_t i = 0; i < args->count; i++) {
			buf_puts(out, i ? ", " : "(");
			put_type(out, args->items[i], depth);
		}
		buf_putc(out, ')');
		return true;
	}
	const char *word = args->count ? NULL : keyword(name);
	if (word)
		buf_puts(out, word);
	return word != NULL;
}

/* The short form for lists: no namespace, the innermost type with its outer ones: "Outer<int>.Inner". */
static void put_short_name(struct buf *out, struct span name, struct arg_list *args, int depth)
{
	if (put_special(out, name, args, depth))
		return;
	for (size_t from = 0, end; from <= name.n; from = end + 1) {
		size_t arity;
		end = piece_end(name, from, false);
		struct span piece = without_arity(sub(name, from, end), &arity);
		if (is_closure(piece)) {
			args->used += arity <= args->count - args->used ? arity : args->count - args->used;
		} else {
			if (from)
				buf_putc(out, '.');
			put_type_word(out, from ? piece : last_dotted(piece));
			put_args(out, args, arity, depth);
		}
		if (end == name.n)
			break;
	}
	put_args(out, args, args->count - args->used, depth);
}

/* Metadata text of a type ("System.Collections.Generic.List`1<System.Int32>[]") in C#'s words. */
static void put_type(struct buf *out, struct span type, int depth)
{
	struct arg_list args = {.count = 0};
	while (type.n && type.s[0] == ' ')
		type = sub(type, 1, type.n);
	size_t end = 0;
	while (end < type.n && !strchr("[*&", type.s[end]) && (type.s[end] != '<' || opens_name(type, end)))
		end = type.s[end] == '<' ? after_angle(type, end) : end + 1;
	struct span name = sub(type, 0, end);
	if (depth <= 0) {
		put(out, name);
		return;
	}
	if (end < type.n && type.s[end] == '<') {
		size_t after = after_angle(type, end);
		size_t closed = after - (type.s[after - 1] == '>' && after - 1 > end);
		args.count = split_list(sub(type, end + 1, closed), args.items);
		end = after;
	}
	if (type.n > end && type.s[type.n - 1] == '&') {
		buf_puts(out, "ref ");
		type.n--;
	}
	put_short_name(out, name, &args, depth - 1);
	put(out, sub(type, end, type.n)); /* [], [,], * */
}

static void put_list(struct buf *out, const char *open, struct span list, const char *close)
{
	struct arg_list args = {.count = split_list(list, args.items)};
	buf_puts(out, open);
	for (size_t i = 0; i < args.count; i++) {
		if (i)
			buf_puts(out, ", ");
		put_type(out, args.items[i], MAX_DEPTH);
	}
	buf_puts(out, close);
}

/* members ------------------------------------------------------------------------------------------------------- */

static const char *operator_word(struct span name)
{
	static const char *const words[][2] = {
		{"op_Addition", "operator +"},	    {"op_Subtraction", "operator -"},	  {"op_Multiply", "operator *"},
		{"op_Division", "operator /"},	    {"op_Modulus", "operator %"},	  {"op_Equality", "operator =="},
		{"op_Inequality", "operator !="},   {"op_LessThan", "operator <"},	  {"op_GreaterThan", "operator >"},
		{"op_LessThanOrEqual", "operator <="}, {"op_GreaterThanOrEqual", "operator >="},
		{"op_BitwiseAnd", "operator &"},    {"op_BitwiseOr", "operator |"},	  {"op_ExclusiveOr", "operator ^"},
		{"op_LogicalNot", "operator !"},    {"op_OnesComplement", "operator ~"},  {"op_LeftShift", "operator <<"},
		{"op_RightShift", "operator >>"},   {"op_UnsignedRightShift", "operator >>>"},
		{"op_UnaryNegation", "operator -"}, {"op_UnaryPlus", "operator +"},	  {"op_Increment", "operator ++"},
		{"op_Decrement", "operator --"},    {"op_True", "operator true"},	  {"op_False", "operator false"},
		{"op_Implicit", "implicit operator"}, {"op_Explicit", "explicit operator"},
	};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (equals(name, words[i][0]))
			return words[i][1];
	return NULL;
}

/* "get_Net" is the property Net: "Net.get". */
static bool put_accessor(struct buf *out, struct span name)
{
	static const char *const words[] = {"get", "set", "add", "remove"};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		size_t n = strlen(words[i]);
		if (!starts(name, words[i]) || name.n < n + 2 || name.s[n] != '_')
			continue;
		struct span property = sub(name, n + 1, name.n);
		if (i < 2 && equals(property, "Item"))
			buf_puts(out, "this[]");
		else
			put(out, property);
		buf_printf(out, ".%s", words[i]);
		return true;
	}
	return false;
}

static void put_member(struct buf *out, struct span name, unsigned *marks, int depth);

/* The number after the last '_' of "b__3_1", plus one; lambdas are counted from 0. */
static void put_lambda(struct buf *out, struct span rest)
{
	unsigned long ordinal = 0;
	size_t i = rest.n;
	while (i > 0 && isdigit((unsigned char)rest.s[i - 1]))
		i--;
	for (; i < rest.n && ordinal < 100000; i++)
		ordinal = ordinal * 10 + (unsigned long)(rest.s[i] - '0');
	if (ordinal)
		buf_printf(out, ".lambda#%lu", ordinal + 1);
	else
		buf_puts(out, ".lambda");
}

static bool put_generated_member(struct buf *out, struct span name, unsigned *marks, int depth)
{
	struct span inner, rest;
	if (!generated(name, &inner, &rest))
		return false;
	if (equals(rest, "$")) { /* <Main>$ of top-level statements, <Clone>$ of records */
		put(out, inner);
	} else if (starts(rest, "b__")) {
		put_member(out, inner, marks, depth);
		put_lambda(out, rest);
		*marks |= METHOD_LAMBDA;
	} else if (starts(rest, "g__")) {
		put_member(out, inner, marks, depth);
		const char *bar = memchr(rest.s, '|', rest.n);
		buf_putc(out, '.');
		put(out, sub(rest, 3, bar ? (size_t)(bar - rest.s) : rest.n));
		*marks |= METHOD_LOCAL;
	} else {
		return false;
	}
	return true;
}

/* "Shop.IDiscount.Apply" implemented explicitly: "IDiscount.Apply". */
static bool put_explicit(struct buf *out, struct span name, unsigned *marks, int depth)
{
	struct span member = last_dotted(name);
	if (member.n == name.n || member.n == 0 || member.s - 1 == name.s)
		return false;
	put_type(out, sub(name, 0, (size_t)(member.s - name.s) - 1), depth);
	buf_putc(out, '.');
	put_member(out, member, marks, depth);
	return true;
}

static void put_member(struct buf *out, struct span name, unsigned *marks, int depth)
{
	const char *word;
	if (depth <= 0)
		put(out, name);
	else if (equals(name, ".ctor") || equals(name, ".cctor"))
		put(out, sub(name, 1, name.n));
	else if (put_generated_member(out, name, marks, depth - 1) || put_accessor(out, name))
		return;
	else if ((word = operator_word(name)))
		buf_puts(out, word);
	else if (!put_explicit(out, name, marks, depth - 1))
		put(out, name);
}

/* managed methods ----------------------------------------------------------------------------------------------- */

struct managed {
	struct buf *out;
	unsigned *marks;
	struct arg_list args;
	struct span owner;      /* the method that a state machine or closure class was made of */
	struct span owner_args[MAX_ARGS];
	size_t owner_arg_count;
};

/* "<Compute>d__5", "VB$StateMachine_5_Compute", F#'s "Compute@12-1": the method's name. */
static bool owner_of(struct span piece, struct span *owner, unsigned *marks)
{
	struct span rest;
	if (generated(piece, owner, &rest) && rest.n && rest.s[0] == 'd' && owner->n) {
		*marks |= METHOD_STATE_MACHINE;
		return true;
	}
	if (starts(piece, "VB$StateMachine_")) {
		size_t i = strlen("VB$StateMachine_");
		while (i < piece.n && isdigit((unsigned char)piece.s[i]))
			i++;
		*owner = sub(piece, i + (i < piece.n), piece.n);
		*marks |= METHOD_STATE_MACHINE;
		return owner->n > 0;
	}
	const char *at = memchr(piece.s, '@', piece.n);
	if (at && at > piece.s && at + 1 < piece.s + piece.n && isdigit((unsigned char)at[1])) {
		*owner = sub(piece, 0, (size_t)(at - piece.s));
		return true;
	}
	return false;
}

/* One piece of a nested type's name; its share of the arguments goes with it. */
static void put_piece(struct managed *m, struct span piece)
{
	size_t arity;
	struct span name = without_arity(piece, &arity), owner;
	if (arity > m->args.count - m->args.used)
		arity = m->args.count - m->args.used;
	if (is_closure(name)) {
		m->args.used += arity;
		return;
	}
	if (owner_of(name, &owner, m->marks)) {
		m->owner = owner;
		memcpy(m->owner_args, m->args.items + m->args.used, arity * sizeof m->owner_args[0]);
		m->owner_arg_count = arity;
		m->args.used += arity;
		return;
	}
	if (m->out->len)
		buf_putc(m->out, '.');
	/* the namespace stays before the type's own word */
	struct span word = last_dotted(name);
	put(m->out, sub(name, 0, (size_t)(word.s - name.s)));
	put_type_word(m->out, word);
	put_args(m->out, &m->args, arity, MAX_DEPTH);
}

static void put_owner_type(struct managed *m, struct span type)
{
	for (size_t from = 0, end; from < type.n; from = end + 1) {
		end = piece_end(type, from, false);
		put_piece(m, sub(type, from, end));
		if (end == type.n)
			break;
	}
	if (!m->owner.n)
		put_args(m->out, &m->args, m->args.count - m->args.used, MAX_DEPTH);
}

static void put_owner_method(struct managed *m, struct span method)
{
	char name[PART_MAX_BYTES];
	for (size_t i = 0; i < m->owner.n; i++) /* explicit implementations: dots became dashes */
		name[i] = m->owner.s[i] == '-' ? '.' : m->owner.s[i];
	put_member(m->out, (struct span){name, m->owner.n}, m->marks, MAX_DEPTH);
	struct arg_list args = {.count = m->owner_arg_count};
	memcpy(args.items, m->owner_args, sizeof args.items);
	put_args(m->out, &args, args.count, MAX_DEPTH);
	if (equals(method, "MoveNext")) {
		*m->marks |= METHOD_STATE_MACHINE;
	} else if (starts(method, "Invoke")) {
		buf_puts(m->out, ".lambda"); /* F#'s closures */
		*m->marks |= METHOD_LAMBDA;
	} else {
		*m->marks &= ~(unsigned)METHOD_STATE_MACHINE;
		buf_putc(m->out, '.');
		put_member(m->out, method, m->marks, MAX_DEPTH);
	}
}

static void put_managed(struct buf *out, const struct frame *f, unsigned *marks)
{
	struct managed m = {.out = out, .marks = marks};
	struct span method = span_of(f->method), method_args = span_of(f->method_args);
	if (f->type && f->type[0]) {
		m.args.count = split_list(span_of(f->type_args), m.args.items);
		if (equals(method, ".ctor"))
			buf_puts(out, "new ");
		else if (equals(method, ".cctor"))
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
		put_member(out, method, marks, MAX_DEPTH);
	if (method_args.n)
		put_list(out, "<", method_args, ">");
parameters:
	if (f->overloaded && f->params && !(*marks & METHOD_STATE_MACHINE))
		put_list(out, "(", span_of(f->params), ")");
	if (f->dynamic)
		*marks |= METHOD_DYNAMIC;
}

static void put_module_only(struct buf *out, const struct frame *f, unsigned *marks)
{
	if (f->module && f->module[0])
		put(out, span_of(f->module));
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
		native_name_append(f->method, strnlen(f->method, PART_MAX_BYTES), &raw);
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
			i = after_angle(a, i) - 1;
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
		put(out, a);
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
	put(out, tail);
}
