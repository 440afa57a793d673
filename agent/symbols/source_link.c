#include "agent/symbols/source_link.h"

#include "common/base/cleanup.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void add_source_link(struct source_link *l, const char *folder, const char *url)
{
	const char *star = strchr(folder, '*'), *place = strchr(url, '*');

	if (l->count == SOURCE_LINK_MAX || strlen(url) > SOURCE_URL_BYTES || !star != !place || (star && star[1]) || (place && strchr(place + 1, '*')))
		return;
	l->entries[l->count++] = (struct source_link_entry){
		.folder = mem_strndup(folder, star ? (size_t)(star - folder) : strlen(folder)),
		.url = mem_strndup(url, place ? (size_t)(place - url) : strlen(url)),
		.rest = place ? mem_strdup(place + 1) : NULL,
	};
}

void source_link_parse(struct source_link *l, const void *json, size_t bytes)
{
	const char *key;
	json_t *value;

	*l = (struct source_link){0};
	AUTO_JSON json_t *doc = jsonx_parse(json, bytes, "SourceLink", NULL);
	json_t *documents = doc ? json_object_get(doc, "documents") : NULL;
	json_object_foreach(documents, key, value)
		if (json_is_string(value))
			add_source_link(l, key, json_string_value(value));
}

void source_link_fini(struct source_link *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->entries[i].folder);
		free(l->entries[i].url);
		free(l->entries[i].rest);
	}
	l->count = 0;
}

static bool is_separator(char c)
{
	return c == '/' || c == '\\';
}

/* The map of a build on Windows may differ from the path in case and separators. */
static bool same_path_char(char a, char b)
{
	return (is_separator(a) && is_separator(b)) || tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* How many bytes of the path the entry stands for; SIZE_MAX: it is of another path. */
static size_t match_source_link(const struct source_link_entry *x, const char *path)
{
	size_t n = 0;

	for (; x->folder[n]; n++)
		if (!path[n] || !same_path_char(x->folder[n], path[n]))
			return SIZE_MAX;
	return x->rest || !path[n] ? n : SIZE_MAX;
}

/* http(s), no user and password in it, and nothing that ends an attribute or a line. */
static bool is_plain_url(const char *url)
{
	size_t scheme = strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;

	if (!scheme || memchr(url + scheme, '@', strcspn(url + scheme, "/?#")))
		return false;
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || strchr("\"'<>\\`{}|^", *c))
			return false;
	return true;
}

static void put_url_path(struct buf *out, const char *path)
{
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;
		if (is_separator(*path))
			buf_putc(out, '/');
		else if (isalnum(c) || strchr("-_.~!$()+,;=:", c))
			buf_putc(out, *path);
		else
			buf_printf(out, "%%%02X", c);
	}
}

/* A raw file's address on GitHub and GitLab, as that of the page that shows it. */
static void put_page_url(struct buf *out, const char *url)
{
	static const char raw_github[] = "https://raw.githubusercontent.com/", raw_gitlab[] = "/-/raw/";
	const char *found = strstr(url, raw_gitlab), *path = url + sizeof raw_github - 1;

	if (strncmp(url, raw_github, sizeof raw_github - 1) == 0) {
		size_t owner = strcspn(path, "/"), repository = path[owner] ? strcspn(path + owner + 1, "/") : 0;
		size_t head = owner + 1 + repository;
		if (owner && repository && path[head] == '/') {
			buf_printf(out, "https://github.com/%.*s/blob%s", (int)head, path, path + head);
			return;
		}
	} else if (found) {
		buf_printf(out, "%.*s/-/blob/%s", (int)(found - url), url, found + sizeof raw_gitlab - 1);
		return;
	}
	buf_puts(out, url);
}

bool source_link_find(const struct source_link *l, const char *path, struct buf *relative, struct buf *url)
{
	const struct source_link_entry *best = NULL;
	size_t matched = 0;

	for (size_t i = 0; i < l->count; i++) {
		size_t n = match_source_link(&l->entries[i], path);
		if (n != SIZE_MAX && (!best || n > matched)) {
			best = &l->entries[i];
			matched = n;
		}
	}
	if (!best)
		return false;
	AUTO_BUF struct buf raw;
	buf_init(&raw, 2 * SOURCE_URL_BYTES);
	buf_puts(&raw, best->url);
	if (best->rest) {
		put_url_path(&raw, path + matched);
		buf_puts(&raw, best->rest);
	}
	if (!raw.full && is_plain_url(buf_str(&raw)))
		put_page_url(url, buf_str(&raw));
	const char *shown = best->rest ? path + matched : strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	for (; *shown; shown++)
		buf_putc(relative, *shown == '\\' ? '/' : *shown);
	return true;
}

size_t source_link_common(const char *a, size_t bytes, const char *b)
{
	size_t end = 0;

	for (size_t i = 0; i < bytes && b[i] && a[i] == b[i]; i++)
		if (is_separator(a[i]))
			end = i + 1;
	return end;
}
