#include "common/web/web_route.h"

#include "common/base/mem.h"
#include "common/base/text.h"

#include <stdlib.h>
#include <string.h>

static bool is_text(const char *s)
{
	for (size_t len = strlen(s), used; len; s += used, len -= used) {
		uint32_t c;
		used = text_decode_utf8(s, len, &c);
		if (c < 0x20 || c == 0x7f || c == 0xFFFD || c == '\\')
			return false;
	}
	return true;
}

bool web_route_path_is_plain(const char *path)
{
	if (*path != '/' || !is_text(path))
		return false;
	for (const char *s = path; s; s = strchr(s, '/')) {
		s++;
		size_t len = strcspn(s, "/");
		if ((len == 0 && s[len]) || (len == 1 && *s == '.') || (len == 2 && memcmp(s, "..", 2) == 0))
			return false;
	}
	return true;
}

static void forget_params(struct web_request *q)
{
	for (size_t i = 0; i < q->param_count; i++) {
		free(q->params[i].name);
		free(q->params[i].value);
	}
	q->param_count = 0;
}

/* One segment of each. */
static bool match_segment(const char *pattern, size_t pattern_len, const char *path, size_t len, struct web_request *q)
{
	if (pattern_len < 2 || pattern[0] != '{')
		return len == pattern_len && memcmp(pattern, path, len) == 0;
	if (len == 0 || q->param_count == WEB_MAX_PARAMS)
		return false;
	q->params[q->param_count++] = (struct web_pair){mem_strndup(pattern + 1, pattern_len - 2), mem_strndup(path, len)};
	return true;
}

static bool route_matches(const char *pattern, const char *path, struct web_request *q)
{
	forget_params(q);
	while (*pattern == '/' && *path == '/') {
		size_t pattern_len = strcspn(++pattern, "/"), len = strcspn(++path, "/");
		if (!match_segment(pattern, pattern_len, path, len, q))
			return false;
		pattern += pattern_len;
		path += len;
	}
	return !*pattern && !*path;
}

const struct web_route *web_route_find(const struct web_route *routes, size_t count, const char *path, enum web_method method,
				       struct web_request *q, unsigned *allowed)
{
	*allowed = 0;
	for (size_t i = 0; i < count; i++) {
		if (!route_matches(routes[i].pattern, path, q))
			continue;
		if (routes[i].methods & method)
			return &routes[i];
		*allowed |= routes[i].methods;
	}
	forget_params(q);
	return NULL;
}

void web_route_print_methods(unsigned methods, struct buf *out)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {{WEB_GET, "GET, HEAD"}, {WEB_POST, "POST"}, {WEB_PUT, "PUT"}, {WEB_PATCH, "PATCH"}, {WEB_DELETE, "DELETE"}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (methods & names[i].bit)
			buf_printf(out, "%s%s", out->len ? ", " : "", names[i].name);
}
