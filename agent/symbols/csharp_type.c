#include "agent/symbols/csharp_type.h"

#include <string.h>

static const char *keyword(struct span type)
{
	static const char *const words[][2] = {
		{"System.Int32", "int"},      {"System.String", "string"}, {"System.Object", "object"},
		{"System.Boolean", "bool"},   {"System.Int64", "long"},    {"System.Double", "double"},
		{"System.Byte", "byte"},      {"System.Char", "char"},     {"System.Single", "float"},
		{"System.Int16", "short"},    {"System.UInt32", "uint"},   {"System.UInt64", "ulong"},
		{"System.UInt16", "ushort"},  {"System.SByte", "sbyte"},   {"System.Decimal", "decimal"},
		{"System.IntPtr", "nint"},    {"System.UIntPtr", "nuint"}, {"System.Void", "void"},
		{"System.__Canon", "_"}, /* any reference type: code that they share */
	};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (span_equals(type, words[i][0]))
			return words[i][1];
	return NULL;
}

/* Is there a '<' at i that begins a name of the compiler's ("<Total>d__3"), not a list of arguments? */
static bool opens_name(struct span a, size_t i)
{
	return a.s[i] == '<' && (i == 0 || a.s[i - 1] == '+' || a.s[i - 1] == '.');
}

void csharp_type_put_args(struct buf *out, struct csharp_args *args, size_t count, int depth)
{
	if (count > args->count - args->used)
		count = args->count - args->used;
	for (size_t i = 0; i < count; i++) {
		buf_puts(out, i ? ", " : "<");
		csharp_type_put(out, args->items[args->used + i], depth);
	}
	if (count)
		buf_puts(out, ">");
	args->used += count;
}

bool csharp_type_is_closure(struct span name)
{
	return span_equals(name, "<>c") || span_starts(name, "<>c__") || span_starts(name, "_Closure$__");
}

/* "<Send>d__28", "<<Send>g__Await|2_0>d", "<<Send>b__0>d": a state machine is named for its method. */
static bool put_state_machine(struct buf *out, struct span method, struct span rest)
{
	struct span outer, inner;
	if (!span_equals(rest, "d") && !span_starts(rest, "d__"))
		return false;
	if (!span_generated(method, &outer, &inner)) {
		span_put(out, method);
		return true;
	}
	span_put(out, outer);
	size_t end = 3;
	while (end < inner.n && inner.s[end] != '|')
		end++;
	buf_putc(out, '.');
	span_put(out, span_starts(inner, "g__") ? span_sub(inner, 3, end) : (struct span){"lambda", 6});
	return true;
}

/* A type's own name, without nesting and arity: "<Program>F0A1B__Cache" (file-local) is "Cache". */
void csharp_type_put_word(struct buf *out, struct span name)
{
	struct span inner, rest;
	if (span_generated(name, &inner, &rest)) {
		if (span_starts(rest, "f__AnonymousType")) {
			buf_puts(out, "(anonymous type)");
			return;
		}
		if (put_state_machine(out, inner, rest))
			return;
		for (size_t i = 0; span_starts(rest, "F") && i + 2 < rest.n; i++)
			if (rest.s[i] == '_' && rest.s[i + 1] == '_') {
				span_put(out, span_sub(rest, i + 2, rest.n));
				return;
			}
	}
	span_put(out, name);
}

static bool put_special(struct buf *out, struct span name, struct csharp_args *args, int depth)
{
	if (span_equals(name, "System.Nullable`1") && args->count == 1) {
		csharp_type_put(out, args->items[0], depth);
		buf_putc(out, '?');
		return true;
	}
	if (span_starts(name, "System.ValueTuple`") && args->count > 1 && args->count < 8) {
		for (size_t i = 0; i < args->count; i++) {
			buf_puts(out, i ? ", " : "(");
			csharp_type_put(out, args->items[i], depth);
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
static void put_short_name(struct buf *out, struct span name, struct csharp_args *args, int depth)
{
	if (put_special(out, name, args, depth))
		return;
	for (size_t from = 0, end; from <= name.n; from = end + 1) {
		size_t arity;
		end = span_piece_end(name, from, false);
		struct span piece = span_without_arity(span_sub(name, from, end), &arity);
		if (csharp_type_is_closure(piece)) {
			args->used += arity <= args->count - args->used ? arity : args->count - args->used;
		} else {
			if (from)
				buf_putc(out, '.');
			csharp_type_put_word(out, from ? piece : span_last_dotted(piece));
			csharp_type_put_args(out, args, arity, depth);
		}
		if (end == name.n)
			break;
	}
	csharp_type_put_args(out, args, args->count - args->used, depth);
}

/* "[], [,], *" after a type. Metadata names an array of arrays from its innermost element outwards ("String[,][]"), C# from the outside
 * inwards ("string[][,]"). */
static void put_suffix(struct buf *out, struct span suffix)
{
	size_t from = 0;
	while (from < suffix.n && suffix.s[from] != '[')
		from++;
	span_put(out, span_sub(suffix, 0, from));
	for (size_t end = suffix.n; end > from;) {
		size_t open = end;
		while (open > from && suffix.s[open - 1] != '[')
			open--;
		open -= open > from;
		span_put(out, span_sub(suffix, open, end));
		end = open;
	}
}

/* Metadata text of a type ("System.Collections.Generic.List`1<System.Int32>[]") in C#'s words. */
void csharp_type_put(struct buf *out, struct span type, int depth)
{
	struct csharp_args args = {.count = 0};
	while (type.n && type.s[0] == ' ')
		type = span_sub(type, 1, type.n);
	size_t end = 0;
	while (end < type.n && !strchr("[*&", type.s[end]) && (type.s[end] != '<' || opens_name(type, end)))
		end = type.s[end] == '<' ? span_after_angle(type, end) : end + 1;
	struct span name = span_sub(type, 0, end);
	if (depth <= 0) {
		span_put(out, name);
		return;
	}
	if (end < type.n && type.s[end] == '<') {
		size_t after = span_after_angle(type, end);
		size_t closed = after - (type.s[after - 1] == '>' && after - 1 > end);
		args.count = span_split(span_sub(type, end + 1, closed), args.items);
		end = after;
	}
	if (type.n > end && type.s[type.n - 1] == '&') {
		buf_puts(out, "ref ");
		type.n--;
	}
	put_short_name(out, name, &args, depth - 1);
	put_suffix(out, span_sub(type, end, type.n));
}

void csharp_type_put_list(struct buf *out, const char *open, struct span list, const char *close)
{
	struct csharp_args args = {.count = span_split(list, args.items)};
	buf_puts(out, open);
	for (size_t i = 0; i < args.count; i++) {
		if (i)
			buf_puts(out, ", ");
		csharp_type_put(out, args.items[i], CSHARP_MAX_DEPTH);
	}
	buf_puts(out, close);
}
