#include "agent/catalogue/expression.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <lauxlib.h>
#include <lua.h>

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
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

/* The expression as a chunk of Lua. */
static int translate(const char *expression, struct buf *out, struct err *e)
{
	if (strlen(expression) > EXPRESSION_MAX_BYTES)
		return err_set(e, ERR_INVALID, 0, "an expression of more than %d bytes", EXPRESSION_MAX_BYTES);
	buf_puts(out, "return ");
	for (struct token t = next_token(expression); t.kind != TOKEN_END; t = token_after(t)) {
		if (t.kind == TOKEN_BAD)
			return expression_bad(expression, t, "unexpected character", e);
		if (t.kind == TOKEN_NAME && translate_name(expression, &t, out, e))
			return -1;
		if (t.kind != TOKEN_NAME) {
			buf_append(out, t.at, t.length);
			buf_putc(out, ' ');
		}
	}
	return 0;
}

void expression_names(const char *expression, void (*name)(void *context, const char *name, size_t length), void *context)
{
	for (struct token t = next_token(expression); t.kind != TOKEN_END && t.kind != TOKEN_BAD; t = token_after(t))
		if (t.kind == TOKEN_NAME && !is_keyword(t) && !is_builtin(t))
			name(context, t.at, t.length);
}

/* the scope -------------------------------------------------------------------------------------------------------- */

struct scope_name {
	char *name, *text, *expression; /* text: of a text; expression: until it is evaluated */
	struct value value;
	bool evaluating;
};
struct scope {
	lua_State *lua;
	struct scope_name *names;
	size_t count, room;
	const char *unknown; /* the first unknown name that the running expression asked for */
};

static struct scope *scope_of(lua_State *lua)
{
	return lua_touserdata(lua, lua_upvalueindex(1));
}

static struct scope_name *scope_find(const struct scope *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->names[i].name, name) == 0)
			return &s->names[i];
	return NULL;
}

static int push_value(lua_State *lua, struct scope *s, const struct scope_name *n)
{
	switch (n->value.kind) {
	case VALUE_TEXT:
		lua_pushstring(lua, n->value.text);
		return 1;
	case VALUE_BOOLEAN:
		lua_pushboolean(lua, n->value.number != 0);
		return 1;
	case VALUE_NUMBER:
		lua_pushnumber(lua, n->value.number);
		return 1;
	default:
		s->unknown = s->unknown ? s->unknown : n->value.unknown ? n->value.unknown : n->name;
		if (isnan(n->value.number))
			lua_pushnumber(lua, NAN);
		else
			lua_pushboolean(lua, false);
		return 1;
	}
}

/* An expression's value is known where it came out so, whatever it asked for. */
static int evaluate_name(struct scope *s, struct scope_name *n, struct err *e)
{
	const char *outer = s->unknown;
	AUTO_FREE char *expression = n->expression;
	n->expression = NULL;
	n->evaluating = true;
	int rc = scope_evaluate(s, expression, &n->value, e);
	n->evaluating = false;
	s->unknown = outer;
	return rc;
}

static int look_up_name(lua_State *lua)
{
	struct scope *s = scope_of(lua);
	const char *name = luaL_checkstring(lua, 2);
	struct scope_name *n = scope_find(s, name);
	struct err e = ERR_INIT;
	if (!n)
		return luaL_error(lua, "unknown name '%s'", name);
	if (n->evaluating)
		return luaL_error(lua, "'%s' needs itself", name);
	if (n->expression && evaluate_name(s, n, &e))
		return luaL_error(lua, "%s", e.message);
	return push_value(lua, s, n);
}

static int call_known(lua_State *lua)
{
	struct scope *s = scope_of(lua);
	const char *outer = s->unknown;
	s->unknown = NULL;
	lua_getglobal(lua, "scope");
	lua_getfield(lua, -1, luaL_checkstring(lua, 1));
	bool is_empty = lua_type(lua, -1) == LUA_TSTRING && lua_rawlen(lua, -1) == 0;
	lua_pushboolean(lua, !s->unknown && !is_empty);
	s->unknown = outer;
	return 1;
}

static int call_max(lua_State *lua)
{
	lua_pushnumber(lua, fmax(luaL_checknumber(lua, 1), luaL_checknumber(lua, 2)));
	return 1;
}

static int call_min(lua_State *lua)
{
	lua_pushnumber(lua, fmin(luaL_checknumber(lua, 1), luaL_checknumber(lua, 2)));
	return 1;
}

static int call_floor(lua_State *lua)
{
	lua_pushnumber(lua, floor(luaL_checknumber(lua, 1)));
	return 1;
}

static int call_ceil(lua_State *lua)
{
	lua_pushnumber(lua, ceil(luaL_checknumber(lua, 1)));
	return 1;
}

static int call_starts(lua_State *lua)
{
	const char *part = luaL_checkstring(lua, 2);
	lua_pushboolean(lua, strncmp(luaL_checkstring(lua, 1), part, strlen(part)) == 0);
	return 1;
}

static int call_ends(lua_State *lua)
{
	const char *text = luaL_checkstring(lua, 1), *part = luaL_checkstring(lua, 2);
	size_t n = strlen(text), m = strlen(part);
	lua_pushboolean(lua, n >= m && strcmp(text + n - m, part) == 0);
	return 1;
}

static int call_contains(lua_State *lua)
{
	lua_pushboolean(lua, strstr(luaL_checkstring(lua, 1), luaL_checkstring(lua, 2)) != NULL);
	return 1;
}

static void *allocate(void *unused, void *old, size_t old_size, size_t size)
{
	(void)unused;
	(void)old_size;
	if (size)
		return mem_realloc(old, size, 1);
	free(old);
	return NULL;
}

/* The environment of all expressions: the functions, and for any other name look_up_name(). */
static void make_environment(struct scope *s)
{
	static const luaL_Reg functions[] = {{"known", call_known}, {"max", call_max}, {"min", call_min}, {"floor", call_floor}, {"ceil", call_ceil},
					     {"starts", call_starts}, {"ends", call_ends}, {"contains", call_contains}, {NULL, NULL}};
	lua_newtable(s->lua);
	lua_pushlightuserdata(s->lua, s);
	luaL_setfuncs(s->lua, functions, 1);
	lua_newtable(s->lua);
	lua_pushlightuserdata(s->lua, s);
	lua_pushcclosure(s->lua, look_up_name, 1);
	lua_setfield(s->lua, -2, "__index");
	lua_setmetatable(s->lua, -2);
	lua_setglobal(s->lua, "scope");
}

struct scope *scope_new(void)
{
	struct scope *s = mem_calloc(1, sizeof *s);
	s->lua = lua_newstate(allocate, NULL);
	make_environment(s);
	scope_set_number(s, EXPRESSION_UNKNOWN, NAN);
	return s;
}

void scope_free(struct scope *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		free(s->names[i].name);
		free(s->names[i].text);
		free(s->names[i].expression);
	}
	free(s->names);
	lua_close(s->lua);
	free(s);
}

static struct scope_name *scope_add(struct scope *s, const char *name)
{
	struct scope_name *n = scope_find(s, name);
	if (n) {
		free(n->text);
		free(n->expression);
		*n = (struct scope_name){.name = n->name};
		return n;
	}
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->names = mem_realloc(s->names, s->room, sizeof *s->names);
	}
	n = &s->names[s->count++];
	*n = (struct scope_name){.name = mem_strdup(name)};
	return n;
}

void scope_set_number(struct scope *s, const char *name, double number)
{
	scope_add(s, name)->value = (struct value){.kind = isnan(number) ? VALUE_UNKNOWN : VALUE_NUMBER, .number = number};
}

void scope_set_text(struct scope *s, const char *name, const char *text)
{
	struct scope_name *n = scope_add(s, name);
	n->text = mem_strdup(text);
	n->value = (struct value){.kind = VALUE_TEXT, .text = n->text};
}

int scope_set_expression(struct scope *s, const char *name, const char *expression, struct err *e)
{
	if (expression_check(expression, e))
		return -1;
	scope_add(s, name)->expression = mem_strdup(expression);
	return 0;
}

/* evaluating ------------------------------------------------------------------------------------------------------- */

static int load_chunk(lua_State *lua, const char *expression, struct err *e)
{
	AUTO_BUF struct buf chunk;
	buf_init(&chunk, 4 * EXPRESSION_MAX_BYTES);
	if (translate(expression, &chunk, e))
		return -1;
	if (luaL_loadbufferx(lua, chunk.data, chunk.len, "=expression", "t") == LUA_OK)
		return 0;
	err_set(e, ERR_INVALID, 0, "'%s': %s", expression, lua_tostring(lua, -1));
	lua_pop(lua, 1);
	return -1;
}

int expression_check(const char *expression, struct err *e)
{
	lua_State *lua = lua_newstate(allocate, NULL);
	int rc = load_chunk(lua, expression, e);
	lua_close(lua);
	return rc;
}

/* Of a number that is no number, and of a comparison that came out false, an unknown name may be the reason. */
static int take_value(struct scope *s, const char *expression, struct value *out, struct err *e)
{
	*out = (struct value){0};
	switch (lua_type(s->lua, -1)) {
	case LUA_TNUMBER:
		out->number = lua_tonumber(s->lua, -1);
		out->kind = isnan(out->number) ? VALUE_UNKNOWN : VALUE_NUMBER;
		break;
	case LUA_TBOOLEAN:
		out->number = lua_toboolean(s->lua, -1);
		out->kind = !out->number && s->unknown ? VALUE_UNKNOWN : VALUE_BOOLEAN;
		break;
	case LUA_TSTRING:
		out->kind = VALUE_TEXT;
		lua_getfield(s->lua, LUA_REGISTRYINDEX, "texts"); /* keeps what is borrowed */
		if (lua_isnil(s->lua, -1)) {
			lua_pop(s->lua, 1);
			lua_newtable(s->lua);
			lua_pushvalue(s->lua, -1);
			lua_setfield(s->lua, LUA_REGISTRYINDEX, "texts");
		}
		lua_pushvalue(s->lua, -2);
		lua_rawseti(s->lua, -2, (lua_Integer)lua_rawlen(s->lua, -2) + 1);
		lua_pop(s->lua, 1);
		out->text = lua_tostring(s->lua, -1);
		break;
	default:
		return err_set(e, ERR_INVALID, 0, "'%s' is neither a number nor a text nor a comparison", expression);
	}
	out->unknown = out->kind == VALUE_UNKNOWN ? s->unknown : NULL;
	return 0;
}

int scope_evaluate(struct scope *s, const char *expression, struct value *out, struct err *e)
{
	*out = (struct value){0};
	if (load_chunk(s->lua, expression, e))
		return -1;
	s->unknown = NULL;
	lua_getglobal(s->lua, "scope");
	lua_setupvalue(s->lua, -2, 1); /* _ENV */
	int rc = lua_pcall(s->lua, 0, 1, 0) == LUA_OK ? take_value(s, expression, out, e)
						      : err_set(e, ERR_INVALID, 0, "'%s': %s", expression, lua_tostring(s->lua, -1));
	lua_pop(s->lua, 1);
	return rc;
}
