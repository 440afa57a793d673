#include "agent/symbols/aot_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAIN "_Main__" /* <Main>$ */

/* text --------------------------------------------------------------------------------------------------------------- */

struct piece {
	const char *s;
	size_t n;
};

static bool piece_begins(struct piece p, const char *with)
{
	size_t n = strlen(with);
	return p.n >= n && memcmp(p.s, with, n) == 0;
}

static bool piece_ends(struct piece p, const char *with)
{
	size_t n = strlen(with);
	return p.n >= n && memcmp(p.s + p.n - n, with, n) == 0;
}

static struct piece piece_from(struct piece p, size_t at)
{
	return at < p.n ? (struct piece){p.s + at, p.n - at} : (struct piece){p.s + p.n, 0};
}

/* p.n: it is not there. */
static size_t piece_find(struct piece p, const char *what, size_t from)
{
	for (size_t i = from; i < p.n; i++)
		if (piece_begins(piece_from(p, i), what))
			return i;
	return p.n;
}

/* The last that begins before `before`. */
static size_t piece_find_last(struct piece p, const char *what, size_t before)
{
	for (size_t i = before < p.n ? before : p.n; i-- > 0;)
		if (piece_begins(piece_from(p, i), what))
			return i;
	return p.n;
}

/* "12_3": digits, and '_' between them. */
static size_t numbers_length(struct piece p)
{
	size_t n = 0;
	while (n < p.n && (isdigit((unsigned char)p.s[n]) || (n > 0 && p.s[n] == '_' && n + 1 < p.n && isdigit((unsigned char)p.s[n + 1]))))
		n++;
	return n;
}

struct text {
	char *out;
	size_t size, len;
	bool full;
};

static void put_aot_piece(struct text *t, struct piece p)
{
	if (t->len + p.n >= t->size) {
		t->full = true;
		return;
	}
	memcpy(t->out + t->len, p.s, p.n);
	t->len += p.n;
	t->out[t->len] = '\0';
}

static void put_aot_words(struct text *t, const char *s)
{
	put_aot_piece(t, (struct piece){s, strlen(s)});
}

/* methods ------------------------------------------------------------------------------------------------------------ */

/* "_Total_b__1", "_Run_g__Step_2_0", "_Main__": as the C# compiler calls them. False: it is none of these. */
static bool put_generated(struct piece m, struct text *out)
{
	if (m.n == sizeof MAIN - 1 && piece_begins(m, MAIN)) {
		put_aot_words(out, "<Main>$");
		return true;
	}
	for (int i = 0; m.n && m.s[0] == '_' && i < 2; i++) {
		size_t at = piece_find_last(m, i ? "_g__" : "_b__", m.n);
		struct piece inner = {m.s + 1, at - 1}, rest = piece_from(m, at + 4);
		if (at == m.n || at < 2)
			continue;
		put_aot_words(out, "<");
		if (!put_generated(inner, out))
			put_aot_piece(out, inner);
		put_aot_words(out, i ? ">g__" : ">b__");
		size_t local = i ? 0 : rest.n;
		while (local < rest.n && !(rest.s[local] == '_' && numbers_length(piece_from(rest, local + 1)) == rest.n - local - 1))
			local++;
		put_aot_piece(out, (struct piece){rest.s, local});
		if (local < rest.n) {
			put_aot_words(out, "|");
			put_aot_piece(out, piece_from(rest, local + 1));
		}
		return true;
	}
	return false;
}

/* Overloads are numbered. */
static struct piece without_number(struct piece m)
{
	size_t n = m.n;
	while (n > 0 && isdigit((unsigned char)m.s[n - 1]))
		n--;
	return n < m.n && n > 1 && m.s[n - 1] == '_' ? (struct piece){m.s, n - 1} : m;
}

static void put_aot_method(struct piece m, struct text *out)
{
	struct piece plain = without_number(m);
	if (put_generated(m, out))
		return;
	if (piece_begins(plain, "_ctor") || piece_begins(plain, "_cctor")) {
		put_aot_words(out, ".");
		plain = piece_from(plain, 1);
	}
	put_aot_piece(out, plain);
}

/* types -------------------------------------------------------------------------------------------------------------- */

/* "Dictionary_2_Enumerator" is Dictionary`2+Enumerator. */
static void put_aot_dotted(struct piece t, struct text *out)
{
	bool nested = false;
	for (size_t i = 0; i < t.n; i++) {
		size_t digits = 0;
		while (t.s[i] == '_' && i + 1 + digits < t.n && isdigit((unsigned char)t.s[i + 1 + digits]))
			digits++;
		bool arity = digits && (i + 1 + digits == t.n || t.s[i + 1 + digits] == '_');
		if (arity) {
			put_aot_words(out, "`");
			put_aot_piece(out, (struct piece){t.s + i + 1, digits});
			i += digits;
			nested = true;
		} else {
			bool dot = t.s[i] == '_' && i > 0 && i + 1 < t.n && t.s[i - 1] != '_';
			put_aot_piece(out, dot ? (struct piece){nested ? "+" : ".", 1} : (struct piece){t.s + i, 1});
		}
	}
}

static bool put_well_known(struct piece t, struct aot_name *out)
{
	static const char *const known[][2] = {{"Bool", "Boolean"}, {"Float", "Single"}, {"String", "String"}, {"Object", "Object"}, {"Char", "Char"},
					       {"Int32", "Int32"}, {"UInt32", "UInt32"}, {"Int64", "Int64"}, {"UInt64", "UInt64"}, {"Int16", "Int16"},
					       {"UInt16", "UInt16"}, {"UInt8", "Byte"}, {"Int8", "SByte"}, {"Double", "Double"}, {"IntPtr", "IntPtr"},
					       {"UIntPtr", "UIntPtr"}};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (t.n == strlen(known[i][0]) && piece_begins(t, known[i][0])) {
			snprintf(out->module, sizeof out->module, "System.Private.CoreLib.dll");
			snprintf(out->type, sizeof out->type, "System.%s", known[i][1]);
			return true;
		}
	return false;
}

/* How much of it is the name of an assembly of .NET's: its types' namespaces begin anew. 0: not known. */
static size_t library_length(struct piece t)
{
	static const char *const roots[] = {"_System_", "_Microsoft_", "_Interop_", "_Internal_", "_FxResources_"};
	size_t best = t.n;
	if (piece_begins(t, "S_P_"))
		best = piece_find(t, "_", 4);
	else if (piece_begins(t, "System_") || piece_begins(t, "Microsoft_"))
		for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
			size_t at = piece_find(t, roots[i], 1);
			best = at < best ? at : best;
		}
	return best < t.n ? best : 0;
}

/* Of others: the executable's, or such a one that its namespaces begin as it does. */
static size_t assembly_length(struct piece t, const char *program)
{
	size_t n = strlen(program), i = 0;
	while (i < n && i < t.n && (t.s[i] == program[i] || (t.s[i] == '_' && !isalnum((unsigned char)program[i]))))
		i++;
	if (i == n && n && i < t.n && t.s[i] == '_')
		return n;
	size_t first = piece_find(t, "_", 0);
	for (size_t at = first; at < t.n; at = piece_find(t, "_", at + 1))
		if (t.n - at > first + 2 && memcmp(t.s + at + 1, t.s, first + 1) == 0)
			return at;
	return 0;
}

static void put_aot_module(struct piece assembly, struct aot_name *out)
{
	struct text t = {.out = out->module, .size = sizeof out->module};
	if (piece_begins(assembly, "S_P_")) {
		put_aot_words(&t, "System.Private.");
		assembly = piece_from(assembly, 4);
	}
	put_aot_dotted(assembly, &t);
	put_aot_words(&t, ".dll");
	if (t.full)
		snprintf(out->module, sizeof out->module, "?");
}

/* Into *out: its module, and what of the type is no compiler's invention. */
static bool put_aot_type(struct piece t, const char *program, struct aot_name *out, struct text *type)
{
	if (put_well_known(t, out)) {
		type->len = strlen(out->type);
		return true;
	}
	size_t assembly = library_length(t);
	if (!assembly)
		assembly = assembly_length(t, program);
	put_aot_module(assembly ? (struct piece){t.s, assembly} : t, out);
	put_aot_dotted(assembly ? piece_from(t, assembly + 1) : t, type);
	return type->len > 0;
}

/* whole names -------------------------------------------------------------------------------------------------------- */

struct split {
	struct piece type, method;
	char inside[AOT_NAME_BYTES]; /* the type within it that the compiler made; "": none */
};

static void put_inside(struct split *s, const char *before, struct piece name, const char *between, struct piece number)
{
	struct text t = {.out = s->inside, .size = sizeof s->inside, .len = strlen(s->inside)};
	put_aot_words(&t, before);
	if (!put_generated(name, &t))
		put_aot_piece(&t, name);
	put_aot_words(&t, between);
	put_aot_piece(&t, number);
}

/* "T__Load_d__3__MoveNext": a method that became a type. */
static bool split_machine(struct piece p, struct split *s)
{
	for (size_t at = piece_find(p, "_d__", 1); at < p.n; at = piece_find(p, "_d__", at + 1)) {
		struct piece rest = piece_from(p, at + 4);
		size_t number = 0;
		while (number < rest.n && isdigit((unsigned char)rest.s[number]))
			number++;
		size_t end = numbers_length(rest);
		if (!number || !piece_begins(piece_from(rest, end), "__") || end + 2 >= rest.n)
			continue;
		bool main = at > sizeof MAIN && piece_ends((struct piece){p.s, at}, "__" MAIN);
		size_t name = main ? at - (sizeof MAIN - 1) : piece_find_last(p, "__", at - 1) + 2, type = main ? name - 2 : name - 2;
		if (name >= at || type == 0)
			continue;
		s->type = (struct piece){p.s, type};
		s->method = piece_from(rest, end + 2);
		put_inside(s, "+<", (struct piece){p.s + name, at - name}, ">d__", (struct piece){rest.s, number});
		return true;
	}
	return false;
}

/* "T___c___Total_b__1", "T___c__DisplayClass3_0___Total_b__1", and the same of an async one, "T___c____Total_b__1_d__MoveNext". */
static bool split_closure(struct piece p, struct split *s)
{
	static const char display[] = "__DisplayClass", machine[] = "_d__MoveNext";
	size_t at = piece_find(p, "___c__", 1);
	struct piece rest = piece_from(p, at + 4);
	if (at >= p.n)
		return false;
	size_t number = piece_begins(rest, display) ? numbers_length(piece_from(rest, sizeof display - 1)) : 0;
	put_inside(s, "+<>c", (struct piece){rest.s, number ? sizeof display - 1 + number : 0}, "", (struct piece){"", 0});
	rest = piece_from(rest, number ? sizeof display - 1 + number : 0);
	if (!piece_begins(rest, "__") || rest.n < 3)
		return false;
	s->type = (struct piece){p.s, at};
	s->method = piece_from(rest, 2);
	if (piece_ends(rest, machine) && piece_begins(rest, "___")) {
		struct piece lambda = {rest.s + 2, rest.n - 2 - (sizeof machine - 1)};
		put_inside(s, "+<", lambda, ">d", (struct piece){"", 0});
		s->method = (struct piece){"MoveNext", 8};
	}
	return true;
}

static bool split_plain(struct piece p, struct split *s)
{
	size_t at = piece_find(p, "__", 1);
	s->inside[0] = '\0';
	s->type = (struct piece){p.s, at};
	s->method = piece_from(p, at + 2);
	return at < p.n && s->method.n > 0;
}

/* What stands in angle brackets is what it was made for. */
static bool drop_arguments(const char *symbol, struct text *out)
{
	int depth = 0;
	for (const char *c = symbol; *c; c++) {
		depth += *c == '<';
		if (depth == 0)
			put_aot_piece(out, (struct piece){c, 1});
		depth -= *c == '>' && depth > 0;
	}
	return depth == 0 && !out->full;
}

bool aot_name_of(const char *symbol, const char *program, struct aot_name *out)
{
	static const char boxed[] = "<Boxed>", unboxed[] = "<unbox>";
	char plain[AOT_NAME_BYTES] = "";
	struct text text = {.out = plain, .size = sizeof plain};
	struct split s = {.inside = ""};
	const char *of = strncmp(symbol, boxed, sizeof boxed - 1) == 0 ? strstr(symbol, unboxed) : NULL;
	*out = (struct aot_name){.type = ""};
	if (!drop_arguments(of ? of + sizeof unboxed - 1 : symbol, &text))
		return false;
	struct piece p = {plain, text.len};
	if (!split_machine(p, &s) && !split_closure(p, &s) && !split_plain(p, &s))
		return false;
	struct text type = {.out = out->type, .size = sizeof out->type}, method = {.out = out->method, .size = sizeof out->method};
	if (!put_aot_type(s.type, program, out, &type))
		return false;
	put_aot_words(&type, s.inside);
	put_aot_method(s.method, &method);
	return !type.full && !method.full && method.len > 0;
}
