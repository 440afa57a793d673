#include "agent/catalogue/expression_syntax.h"

#include "agent/catalogue/expression.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_BYTES 64

/* tokens ----------------------------------------------------------------------------------------------------------- */

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_OPERATOR, TOKEN_BAD };
struct token {
	enum token_kind kind;
	const char *at;
	size_t length;
};

static size_t word_length(const char *s)
{
	size_t n = 0;
	if (!islower((unsigned char)*s) && *s != '_')
		return 0;
	while (islower((unsigned char)s[n]) || isdigit((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

static size_t digits_length(const char *s)
{
	size_t n = 0;
	while (isdigit((unsigned char)s[n]) || (s[n] == '.' && n && isdigit((unsigned char)s[n + 1]) && !memchr(s, '.', n)))
		n++;
	return n;
}

/* A text between quotes, without escapes. */
static size_t quoted_length(const char *s)
{
	const char *end = *s == '"' ? strchr(s + 1, '"') : NULL;
	return !end || memchr(s, '\\', (size_t)(end - s)) || memchr(s, '\n', (size_t)(end - s)) ? 0 : (size_t)(end - s) + 1;
}

static size_t sign_length(const char *s)
{
	static const char *const two[] = {"<=", ">=", "==", "~="};
	for (size_t i = 0; i < sizeof two / sizeof *two; i++)
		if (strncmp(s, two[i], 2) == 0)
			return 2;
	if (s[0] == '-' && s[1] == '-') /* Lua's comment */
		return 0;
	return *s && strchr("<>+-*/(),", *s) && !(s[0] == '/' && s[1] == '/') ? 1 : 0;
}

static struct token next_token(const char *s)
{
	static const struct {
		enum token_kind kind;
		size_t (*length)(const char *s);
	} kinds[] = {{TOKEN_NAME, word_length}, {TOKEN_NUMBER, digits_length}, {TOKEN_TEXT, quoted_length}, {TOKEN_OPERATOR, sign_length}};
	while (*s == ' ' || *s == '\n' || *s == '\t')
		s++;
	if (!*s)
		return (struct token){TOKEN_END, s, 0};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		size_t n = kinds[i].length(s);
		if (n)
			return (struct token){kinds[i].kind, s, n};
	}
	return (struct token){TOKEN_BAD, s, 1};
}

static struct token token_after(struct token t)
{
	return next_token(t.at + t.length);
}

static bool token_is(struct token t, const char *word)
{
	return t.kind != TOKEN_END && t.length == strlen(word) && memcmp(t.at, word, t.length) == 0;
}

static bool is_among(struct token t, const char *const *words)
{
	for (; *words; words++)
		if (token_is(t, *words))
			return true;
	return false;
}

static bool is_keyword(struct token t)
{
	static const char *const words[] = {"and", "or", "not", "true", "false", NULL};
	return is_among(t, words);
}

/* What Lua would not read as a name. */
static bool is_reserved(struct token t)
{
	static const char *const words[] = {"break", "do", "else", "elseif", "end", "for", "function", "goto", "if", "in", "local", "nil", "repeat", "return",
					    "then", "until", "while", NULL};
	return is_among(t, words);
}

static bool is_builtin(struct token t)
{
	static const char *const words[] = {"known", "max", "min", "floor", "ceil", "starts", "ends", "contains", NULL};
	return is_among(t, words);
}

static int expression_bad(const char *expression, struct token t, const char *what, struct err *e)
{
	return err_set(e, ERR_INVALID, 0, "'%s': %s at '%.20s'", expression, what, t.kind == TOKEN_END ? "the end" : t.at);
}

/* What an engineer's fingers write, and what it is here. */
static const char *hint_of(struct token t)
{
	static const struct {
		const char *written, *hint;
	} hints[] = {{"&&", "write 'and'"}, {"||", "write 'or'"}, {"!=", "write '~=' between texts; compare numbers by < and >"},
		     {"!", "write 'not known(NAME)'"}, {"'", "write texts in double quotes"}, {"=", "compare by ==, <= or >="}, {"%", "there is no remainder"}};
	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
		if (strncmp(t.at, hints[i].written, strlen(hints[i].written)) == 0)
			return hints[i].hint;
	return isupper((unsigned char)*t.at) ? "names are written like_this, not likeThis" : "unexpected character";
}

/* Numbers are measured: two are hardly ever equal, and of an unknown one it could not be told. */
static int check_equality(const char *expression, struct token before, struct token t, struct err *e)
{
	struct token after = token_after(t);
	bool texts = before.kind == TOKEN_TEXT || after.kind == TOKEN_TEXT || (before.kind == TOKEN_NAME && after.kind == TOKEN_NAME);
	if (!(token_is(t, "==") || token_is(t, "~=")) || texts || after.kind == TOKEN_BAD)
		return 0;
	return expression_bad(expression, t, "'==' and '~=' are for texts; compare numbers by <= and >=", e);
}

/* known(NAME) asks for the name, not for its value. */
static int translate_known(const char *expression, struct token *t, struct buf *out, struct err *e)
{
	struct token open = token_after(*t), name = token_after(open), close = token_after(name);
	if (!token_is(open, "(") || name.kind != TOKEN_NAME || is_keyword(name) || !token_is(close, ")"))
		return expression_bad(expression, *t, "known() takes one name", e);
	buf_printf(out, "known(\"%.*s\"", (int)name.length, name.at); /* its parenthesis follows */
	*t = close;
	return 0;
}

static int translate_name(const char *expression, struct token *t, struct buf *out, struct err *e)
{
	struct token after = token_after(*t);
	if (t->length > NAME_MAX_BYTES || is_reserved(*t))
		return expression_bad(expression, *t, "not a name", e);
	if (is_builtin(*t) != token_is(after, "(") && !is_keyword(*t))
		return expression_bad(expression, *t, is_builtin(*t) ? "a function without parentheses" : "not a function", e);
	if (token_is(*t, "known"))
		return translate_known(expression, t, out, e);
	if (token_is(*t, "not") && !token_is(after, "known"))
		return expression_bad(expression, *t, "'not' is for known(...) only: turn the comparison round", e);
	buf_append(out, t->at, t->length);
	buf_putc(out, ' ');
	return 0;
}

int expression_translate(const char *expression, struct buf *out, struct err *e)
{
	struct token before = {TOKEN_END, expression, 0};
	if (strlen(expression) > EXPRESSION_MAX_BYTES)
		return err_set(e, ERR_INVALID, 0, "an expression of more than %d bytes", EXPRESSION_MAX_BYTES);
	buf_puts(out, "return ");
	for (struct token t = next_token(expression); t.kind != TOKEN_END; before = t, t = token_after(t)) {
		if (t.kind == TOKEN_BAD)
			return expression_bad(expression, t, hint_of(t), e);
		if (t.kind == TOKEN_NAME && translate_name(expression, &t, out, e))
			return -1;
		if (check_equality(expression, before, t, e))
			return -1;
		if (t.kind != TOKEN_NAME) {
			buf_append(out, t.at, t.length);
			buf_putc(out, ' ');
		}
	}
	return 0;
}

void expression_equalities(const char *expression, void (*pair)(void *context, const char *names[2], const size_t lengths[2]), void *context)
{
	struct token before = {TOKEN_END, expression, 0};
	for (struct token t = next_token(expression); t.kind != TOKEN_END && t.kind != TOKEN_BAD; before = t, t = token_after(t)) {
		struct token after = token_after(t);
		if (before.kind == TOKEN_NAME && after.kind == TOKEN_NAME && (token_is(t, "==") || token_is(t, "~=")))
			pair(context, (const char *[]){before.at, after.at}, (const size_t[]){before.length, after.length});
	}
}

void expression_names(const char *expression, void (*name)(void *context, const char *name, size_t length), void *context)
{
	for (struct token t = next_token(expression); t.kind != TOKEN_END && t.kind != TOKEN_BAD; t = token_after(t))
		if (t.kind == TOKEN_NAME && !is_keyword(t) && !is_builtin(t))
			name(context, t.at, t.length);
}
