#include "agent/catalogue/expression.h"

#include "agent/catalogue/expression_syntax.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <lauxlib.h>
#include <lua.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* the scope -------------------------------------------------------------------------------------------------------- */

struct scope_name {
	char *name, *text;
	char *expression; /* NULL: a number or a text */
	double number;    /* NAN: unknown */
	bool evaluating;
};
/* A condition is evaluated twice, with each comparison that an unknown number leaves open taken for false and for true: `not` being refused, what comes out
 * the same both times is the value. */
struct scope {
	lua_State *lua;
	struct scope_name *names;
	size_t count, room;
	bool open_is_true;
	const char *unknown; /* the first unknown name that was compared; borrowed from names */
};

#define UNKNOWN_TYPE "unknown number" /* of the userdata that stands for one: the name, a const char * */

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

static const char *unknown_name(lua_State *lua, int at)
{
	const char **name = luaL_testudata(lua, at, UNKNOWN_TYPE);
	return name ? *name : NULL;
}

static int push_unknown(lua_State *lua, const char *name)
{
	const char **value = lua_newuserdatauv(lua, sizeof *value, 0);
	*value = name;
	luaL_setmetatable(lua, UNKNOWN_TYPE);
	return 1;
}

static int evaluate_pass(struct scope *s, const char *expression, struct err *e);

/* Leaves the value of a name on the stack. */
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
	if (n->expression) {
		n->evaluating = true;
		int rc = evaluate_pass(s, n->expression, &e);
		n->evaluating = false;
		return rc ? luaL_error(lua, "%s", e.message) : 1;
	}
	if (n->text)
		lua_pushstring(lua, n->text);
	else if (isnan(n->number))
		return push_unknown(lua, n->name);
	else
		lua_pushnumber(lua, n->number);
	return 1;
}

/* Of an unknown number and another: open. */
static int compare_unknown(lua_State *lua)
{
	struct scope *s = scope_of(lua);
	if (lua_type(lua, 1) == LUA_TSTRING || lua_type(lua, 2) == LUA_TSTRING)
		return luaL_error(lua, "attempt to compare number with text");
	if (!s->unknown)
		s->unknown = unknown_name(lua, 1) ? unknown_name(lua, 1) : unknown_name(lua, 2);
	lua_pushboolean(lua, s->open_is_true);
	return 1;
}

static int calculate_unknown(lua_State *lua)
{
	return push_unknown(lua, unknown_name(lua, 1) ? unknown_name(lua, 1) : unknown_name(lua, 2));
}

static int call_known(lua_State *lua)
{
	struct scope *s = scope_of(lua);
	const char *outer = s->unknown;
	bool pass = s->open_is_true;
	struct value v;
	struct err e = ERR_INIT;
	if (scope_evaluate(s, luaL_checkstring(lua, 1), &v, &e))
		return luaL_error(lua, "%s", e.message);
	s->unknown = outer;
	s->open_is_true = pass;
	lua_pushboolean(lua, v.kind != VALUE_UNKNOWN && !(v.kind == VALUE_TEXT && !v.text[0]));
	return 1;
}

static double number_argument(lua_State *lua, int at)
{
	return unknown_name(lua, at) ? NAN : luaL_checknumber(lua, at);
}

static int push_chosen(lua_State *lua, double number)
{
	if (isnan(number))
		return calculate_unknown(lua);
	lua_pushnumber(lua, number);
	return 1;
}

static int call_max(lua_State *lua)
{
	return push_chosen(lua, fmax(number_argument(lua, 1), number_argument(lua, 2)));
}

static int call_min(lua_State *lua)
{
	return push_chosen(lua, fmin(number_argument(lua, 1), number_argument(lua, 2)));
}

static int call_floor(lua_State *lua)
{
	return push_chosen(lua, floor(number_argument(lua, 1)));
}

static int call_ceil(lua_State *lua)
{
	return push_chosen(lua, ceil(number_argument(lua, 1)));
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
	static const luaL_Reg unknown_functions[] = {{"__lt", compare_unknown}, {"__le", compare_unknown}, {"__add", calculate_unknown},
						     {"__sub", calculate_unknown}, {"__mul", calculate_unknown}, {"__div", calculate_unknown},
						     {"__unm", calculate_unknown}, {NULL, NULL}};
	lua_newtable(s->lua);
	lua_pushlightuserdata(s->lua, s);
	luaL_setfuncs(s->lua, functions, 1);
	lua_newtable(s->lua);
	lua_pushlightuserdata(s->lua, s);
	lua_pushcclosure(s->lua, look_up_name, 1);
	lua_setfield(s->lua, -2, "__index");
	lua_setmetatable(s->lua, -2);
	lua_setglobal(s->lua, "scope");
	luaL_newmetatable(s->lua, UNKNOWN_TYPE);
	lua_pushlightuserdata(s->lua, s);
	luaL_setfuncs(s->lua, unknown_functions, 1);
	lua_pop(s->lua, 1);
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
	scope_add(s, name)->number = number;
}

void scope_set_text(struct scope *s, const char *name, const char *text)
{
	scope_add(s, name)->text = mem_strdup(text);
}

/* evaluating ------------------------------------------------------------------------------------------------------- */

static int load_chunk(lua_State *lua, const char *expression, struct err *e)
{
	AUTO_BUF struct buf chunk;
	buf_init(&chunk, 4 * EXPRESSION_MAX_BYTES);
	if (expression_translate(expression, &chunk, e))
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

/* Leaves the function of an expression on the stack; each is compiled once. */
static int push_compiled(struct scope *s, const char *expression, struct err *e)
{
	luaL_getsubtable(s->lua, LUA_REGISTRYINDEX, "compiled");
	if (lua_getfield(s->lua, -1, expression) == LUA_TFUNCTION) {
		lua_remove(s->lua, -2);
		return 0;
	}
	lua_pop(s->lua, 1);
	if (load_chunk(s->lua, expression, e)) {
		lua_pop(s->lua, 1);
		return -1;
	}
	lua_getglobal(s->lua, "scope");
	lua_setupvalue(s->lua, -2, 1); /* _ENV */
	lua_pushvalue(s->lua, -1);
	lua_setfield(s->lua, -3, expression);
	lua_remove(s->lua, -2);
	return 0;
}

int scope_set_expression(struct scope *s, const char *name, const char *expression, struct err *e)
{
	if (push_compiled(s, expression, e))
		return -1;
	lua_pop(s->lua, 1);
	scope_add(s, name)->expression = mem_strdup(expression);
	return 0;
}

/* Leaves the value of one pass on the stack. */
static int evaluate_pass(struct scope *s, const char *expression, struct err *e)
{
	if (push_compiled(s, expression, e))
		return -1;
	if (lua_pcall(s->lua, 0, 1, 0) == LUA_OK)
		return 0;
	err_set(e, ERR_INVALID, 0, "'%s': %s", expression, lua_tostring(s->lua, -1));
	lua_pop(s->lua, 1);
	return -1;
}

/* A text that is borrowed stays with the scope. */
static const char *keep_text(lua_State *lua)
{
	luaL_getsubtable(lua, LUA_REGISTRYINDEX, "texts");
	lua_pushvalue(lua, -2);
	lua_rawseti(lua, -2, (lua_Integer)lua_rawlen(lua, -2) + 1);
	lua_pop(lua, 1);
	return lua_tostring(lua, -1);
}

static int take_value(struct scope *s, const char *expression, struct value *out, struct err *e)
{
	*out = (struct value){.number = NAN};
	switch (lua_type(s->lua, -1)) {
	case LUA_TNUMBER:
		out->number = lua_tonumber(s->lua, -1);
		out->kind = isnan(out->number) ? VALUE_UNKNOWN : VALUE_NUMBER;
		return 0;
	case LUA_TBOOLEAN:
		out->number = lua_toboolean(s->lua, -1);
		out->kind = VALUE_BOOLEAN;
		return 0;
	case LUA_TSTRING:
		out->kind = VALUE_TEXT;
		out->text = keep_text(s->lua);
		return 0;
	default:
		out->unknown = unknown_name(s->lua, -1);
		return out->unknown ? 0 : err_set(e, ERR_INVALID, 0, "'%s' is neither a number nor a text nor a comparison", expression);
	}
}

static bool is_same_value(const struct value *a, const struct value *b)
{
	if (a->kind != b->kind)
		return false;
	return a->kind == VALUE_TEXT ? strcmp(a->text, b->text) == 0 : a->kind == VALUE_UNKNOWN || !(a->number < b->number || a->number > b->number);
}

int scope_evaluate(struct scope *s, const char *expression, struct value *out, struct err *e)
{
	struct value passes[2] = {{0}};
	s->unknown = NULL;
	for (int i = 0; i < 2; i++) {
		s->open_is_true = i;
		if (evaluate_pass(s, expression, e))
			return -1;
		int rc = take_value(s, expression, &passes[i], e);
		lua_pop(s->lua, 1);
		if (rc)
			return -1;
	}
	*out = passes[0];
	if (!is_same_value(&passes[0], &passes[1]))
		*out = (struct value){.kind = VALUE_UNKNOWN, .number = passes[0].kind == VALUE_BOOLEAN ? 0 : NAN, .unknown = s->unknown};
	return 0;
}
