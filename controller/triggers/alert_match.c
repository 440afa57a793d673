/* Matchers of alertmanager.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "controller/triggers/alert_match.h"

#include <pcre2.h>
#include <string.h>

#define PATTERN_MAX_BYTES 256     /* as the resource's schema has it */
#define MATCH_STEPS 100000        /* about a millisecond */
#define MATCH_DEPTH 1000
#define MATCH_HEAP_KIB 256

static void cleanup_code(pcre2_code **c)
{
	pcre2_code_free(*c);
}

static void cleanup_match(pcre2_match_data **m)
{
	pcre2_match_data_free(*m);
}

static void cleanup_context(pcre2_match_context **c)
{
	pcre2_match_context_free(*c);
}

/* "(?" may begin a group without capture, with flags, or with a name, as RE2 has them, and nothing else; "(*" would be a verb. */
static bool group_is_known(const char *at)
{
	if (at[1] == '*')
		return false;
	if (at[1] != '?')
		return true;
	const char *flags = at + 2 + strspn(at + 2, "imsU-");
	if (*flags == ':' || *flags == ')')
		return flags > at + 2 || *flags == ':';
	return at[2] == 'P' && at[3] == '<';
}

/* \1 .. \9 are back references, \g and \k name one, \K and \G move the match, \R and \X may try several lengths. */
static bool escape_is_known(char c)
{
	return c && !strchr("123456789gkKGRX", c);
}

/* What PCRE2 has and RE2 has not: a pattern that Prometheus would refuse is refused here too. */
static int check_syntax(const char *pattern, struct err *e)
{
	bool in_class = false;
	for (const char *p = pattern; *p; p++) {
		if (*p == '\\') {
			if (!escape_is_known(p[1]))
				return err_set(e, ERR_INVALID, 0, "\\%c is not known here (the syntax is RE2's)", p[1] ? p[1] : ' ');
			p++;
		} else if (in_class && p[0] == '[' && p[1] == ':' && strstr(p + 2, ":]")) {
			p = strstr(p + 2, ":]") + 1;
		} else if (in_class) {
			in_class = *p != ']';
		} else if (*p == '[') {
			in_class = true;
			p += p[1] == '^';
			p += p[1] == ']';
		} else if (*p == '(' && !group_is_known(p)) {
			return err_set(e, ERR_INVALID, 0, "look-around, recursion and verbs are not known here (the syntax is RE2's)");
		} else if (p > pattern && *p == '+' && strchr("*+?}", p[-1]) && (p < pattern + 2 || p[-2] != '\\')) {
			return err_set(e, ERR_INVALID, 0, "possessive repetition is not known here (the syntax is RE2's)");
		}
	}
	return 0;
}

static pcre2_code *compile(const char *pattern, struct err *e)
{
	int code;
	PCRE2_SIZE at;
	if (strlen(pattern) > PATTERN_MAX_BYTES) {
		err_set(e, ERR_INVALID, 0, "regular expression: longer than %d bytes", PATTERN_MAX_BYTES);
		return NULL;
	}
	if (check_syntax(pattern, e) < 0) {
		err_prefix(e, "regular expression %s", pattern);
		return NULL;
	}
	pcre2_code *c = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
				      PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C |
					      PCRE2_NEVER_UCP,
				      &code, &at, NULL);
	if (!c) {
		char why[128] = "";
		pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
		err_set(e, ERR_INVALID, 0, "regular expression %s: %s, at character %zu", pattern, why, at + 1);
	}
	return c;
}

int alertmanager_check_pattern(const char *pattern, struct err *e)
{
	__attribute__((cleanup(cleanup_code))) pcre2_code *c = compile(pattern, e);
	return c ? 0 : -1;
}

/* 1, 0, or -1 when it could not be found out. */
static int pattern_matches(const char *pattern, const char *value, struct err *e)
{
	__attribute__((cleanup(cleanup_code))) pcre2_code *code = compile(pattern, e);
	if (!code)
		return -1;
	__attribute__((cleanup(cleanup_context))) pcre2_match_context *context = pcre2_match_context_create(NULL);
	__attribute__((cleanup(cleanup_match))) pcre2_match_data *match = pcre2_match_data_create(1, NULL);
	if (!context || !match)
		return err_set(e, ERR_RETRY, 0, "no memory for a regular expression");
	pcre2_set_match_limit(context, MATCH_STEPS);
	pcre2_set_depth_limit(context, MATCH_DEPTH);
	pcre2_set_heap_limit(context, MATCH_HEAP_KIB);
	int rc = pcre2_match(code, (PCRE2_SPTR)value, strlen(value), 0, 0, match, context);
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	return rc >= 0 ? 1 : err_set(e, ERR_INVALID, 0, "regular expression %s: takes too many steps; simplify it", pattern);
}

static int matcher_holds(const struct alert *a, const struct trigger_matcher *m, struct err *e)
{
	const char *value = alert_label(a, m->name);
	int rc;
	switch (m->type) {
	case TRIGGER_MATCH_EQUAL:
		return strcmp(value, m->value) == 0;
	case TRIGGER_MATCH_NOT_EQUAL:
		return strcmp(value, m->value) != 0;
	case TRIGGER_MATCH_REGEX:
		return pattern_matches(m->value, value, e);
	case TRIGGER_MATCH_NOT_REGEX:
		rc = pattern_matches(m->value, value, e);
		return rc < 0 ? rc : !rc;
	}
	return 0;
}

int alertmanager_matches(const struct alert *a, const struct profiling_trigger *t, struct err *e)
{
	const struct trigger_alertmanager *from = &t->spec.alertmanager;
	if (strcmp(alert_label(a, "namespace"), t->namespace) != 0)
		return 0;
	for (size_t i = 0; i < from->matcher_count; i++) {
		int rc = matcher_holds(a, &from->matchers[i], e);
		if (rc <= 0)
			return rc;
	}
	return from->matcher_count > 0;
}
