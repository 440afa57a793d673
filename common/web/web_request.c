#include "common/web/web_request.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/web/web_private.h"
#include "common/web/web_route.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_PART_MAX 1024

enum web_method web_request_method(const struct web_request *q)
{
	return q->method;
}

const char *web_request_path(const struct web_request *q)
{
	return q->path;
}

const char *web_request_header(const struct web_request *q, enum web_header h)
{
	return q->headers[h];
}

static const char *find_pair_value(const struct web_pair *pairs, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(pairs[i].name, name) == 0)
			return pairs[i].value;
	return NULL;
}

const char *web_request_param(const struct web_request *q, const char *name)
{
	return find_pair_value(q->params, q->param_count, name);
}

const char *web_request_query(const struct web_request *q, const char *name)
{
	return find_pair_value(q->query, q->query_count, name);
}

const char *web_request_unknown_query(const struct web_request *q, const char *const *known)
{
	for (size_t i = 0; i < q->query_count; i++) {
		size_t k = 0;
		while (known[k] && strcmp(known[k], q->query[i].name) != 0)
			k++;
		if (!known[k])
			return q->query[i].name;
	}
	return NULL;
}

const char *web_request_bearer(const struct web_request *q)
{
	static const char scheme[] = "Bearer ";
	const char *value = q->headers[WEB_HEADER_AUTHORIZATION];
	if (!value || strncasecmp(value, scheme, sizeof scheme - 1) != 0)
		return NULL;
	value += sizeof scheme - 1;
	value += strspn(value, " ");
	return *value ? value : NULL;
}

const void *web_request_body(const struct web_request *q, size_t *len)
{
	*len = q->body.len;
	return buf_str(&q->body);
}

static void free_pairs(struct web_pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(pairs[i].name);
		free(pairs[i].value);
	}
}

void web_request_fini(struct web_request *q)
{
	if (q->headers[WEB_HEADER_AUTHORIZATION])
		explicit_bzero(q->headers[WEB_HEADER_AUTHORIZATION], strlen(q->headers[WEB_HEADER_AUTHORIZATION]));
	for (int i = 0; i < WEB_HEADERS; i++)
		free(q->headers[i]);
	free_pairs(q->params, q->param_count);
	free_pairs(q->query, q->query_count);
	buf_fini(&q->body);
	free(q->path);
	*q = (struct web_request){0};
}

/* "name=value", decoded by lws, which also splits at '&'. */
int web_request_add_query(struct web_request *q, const char *fragment)
{
	if (!*fragment)
		return 0;
	if (q->query_count == WEB_MAX_QUERY)
		return -1;
	size_t len = strcspn(fragment, "=");
	q->query[q->query_count++] = (struct web_pair){mem_strndup(fragment, len), mem_strdup(fragment + len + (fragment[len] == '='))};
	return 0;
}

static char *copy_header(struct lws *wsi, enum lws_token_indexes token)
{
	int len = lws_hdr_total_length(wsi, token);
	if (len <= 0 || len > WEB_HEADERS_MAX_BYTES)
		return NULL;
	char *value = mem_alloc((size_t)len + 1);
	if (lws_hdr_copy(wsi, value, len + 1, token) < 0)
		*value = '\0';
	return value;
}

static int read_request_query(struct web_request *q, struct lws *wsi)
{
	char part[QUERY_PART_MAX];
	if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_URI_ARGS) <= 0)
		return 0;
	for (int i = 0;; i++) {
		int n = lws_hdr_copy_fragment(wsi, part, sizeof part, WSI_TOKEN_HTTP_URI_ARGS, i);
		if (n == -2)
			return -1; /* too long */
		if (n < 0)
			return 0;
		if (web_request_add_query(q, part) < 0)
			return -1;
	}
}

static int read_request_method(struct web_request *q, struct lws *wsi)
{
	static const struct {
		enum lws_token_indexes token;
		enum web_method method;
	} methods[] = {{WSI_TOKEN_GET_URI, WEB_GET},   {WSI_TOKEN_HEAD_URI, WEB_GET},     {WSI_TOKEN_POST_URI, WEB_POST},
		       {WSI_TOKEN_PUT_URI, WEB_PUT},   {WSI_TOKEN_PATCH_URI, WEB_PATCH}, {WSI_TOKEN_DELETE_URI, WEB_DELETE}};
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		if (lws_hdr_total_length(wsi, methods[i].token) > 0) {
			q->method = methods[i].method;
			q->head = methods[i].token == WSI_TOKEN_HEAD_URI;
			return 0;
		}
	}
	return -1;
}

/* -1: no number, or one that is none of ours. */
static int64_t request_content_length(struct lws *wsi)
{
	AUTO_FREE char *text = copy_header(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH);
	if (!text)
		return 0;
	size_t digits = strspn(text, "0123456789");
	return text[digits] || digits == 0 || digits > 15 ? -1 : strtoll(text, NULL, 10);
}

/* 0, or the status that says why not. */
int web_request_read(struct web_request *q, struct lws *wsi, const char *path)
{
	static const enum lws_token_indexes tokens[WEB_HEADERS] = {
		[WEB_HEADER_AUTHORIZATION] = WSI_TOKEN_HTTP_AUTHORIZATION, [WEB_HEADER_CONTENT_TYPE] = WSI_TOKEN_HTTP_CONTENT_TYPE,
		[WEB_HEADER_IF_NONE_MATCH] = WSI_TOKEN_HTTP_IF_NONE_MATCH, [WEB_HEADER_HOST] = WSI_TOKEN_HOST,
		[WEB_HEADER_ACCEPT] = WSI_TOKEN_HTTP_ACCEPT,		   [WEB_HEADER_ACCEPT_ENCODING] = WSI_TOKEN_HTTP_ACCEPT_ENCODING,
		[WEB_HEADER_ORIGIN] = WSI_TOKEN_ORIGIN,
	};
	AUTO_FREE char *version = copy_header(wsi, WSI_TOKEN_HTTP);
	q->path = mem_strdup(path);
	q->http10 = version && strstr(version, "1.0");
	for (int i = 0; i < WEB_HEADERS; i++)
		q->headers[i] = copy_header(wsi, tokens[i]);
	int64_t length = request_content_length(wsi);
	q->body_expected = length > 0 ? length : 0;
	if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0)
		return 411;
	if (length < 0 || !web_route_path_is_plain(path))
		return 400;
	if (read_request_method(q, wsi) < 0)
		return 405;
	if (length > 0 && (q->method == WEB_GET || q->method == WEB_DELETE))
		return 400;
	return read_request_query(q, wsi) < 0 ? 400 : 0;
}
