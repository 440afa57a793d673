#include "controller/kube_client.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>

#define TOKEN_RELOAD_MS 60000
#define TOKEN_MAX_BYTES 16384
#define REQUEST_MAX_BYTES (1536 * 1024)
#define RESPONSE_MAX_BYTES (32 * 1024 * 1024)
#define FIELD_MANAGER "drdotnet-controller"

struct kube_client {
	const struct kube_config *config;
	struct http_client *http;
	int cancel_fd;
	char *token;
	int64_t token_read_ms; /* monotonic; 0: never */
	int64_t timeout_ms;
};

struct kube_client *kube_client_new(const struct kube_config *config, int cancel_fd, struct err *e)
{
	struct http_tls tls;
	kube_config_tls(config, &tls);
	struct http_client *http = http_client_new(&tls, e);
	if (!http)
		return NULL;
	struct kube_client *c = mem_alloc(sizeof *c);
	*c = (struct kube_client){.config = config, .http = http, .cancel_fd = cancel_fd, .token = mem_strdup(config->token),
				   .timeout_ms = KUBE_TIMEOUT_MS};
	return c;
}

void kube_client_free(struct kube_client *c)
{
	if (!c)
		return;
	http_client_free(c->http);
	free(c->token);
	free(c);
}

void kube_client_set_timeout(struct kube_client *c, int64_t timeout_ms)
{
	c->timeout_ms = timeout_ms;
}

/* A projected token is replaced by kubelet well before it expires, so a reading a minute old is always good. */
static void refresh_token(struct kube_client *c, bool now)
{
	if (!c->config->token_file)
		return;
	int64_t mono = clock_mono_ms();
	if (!now && c->token_read_ms && mono - c->token_read_ms < TOKEN_RELOAD_MS)
		return;
	c->token_read_ms = mono;
	AUTO_BUF struct buf text = {0};
	struct err e = ERR_INIT;
	if (fsio_read(AT_FDCWD, c->config->token_file, TOKEN_MAX_BYTES, &text, &e) < 0) {
		LOG_WARN("kube", "the token file cannot be read; keeping the last token", LOG_S("error", e.message));
		return;
	}
	free(c->token);
	c->token = mem_strndup(buf_str(&text), strcspn(buf_str(&text), " \r\n"));
}

int kube_status_error(int status, const char *body, size_t len, const char *operation, struct err *e)
{
	enum err_kind kind = http_status_kind(status);
	struct err ignored = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(body ? body : "", len, "Status", &ignored);
	const char *message = doc ? jsonx_str_at(doc, "message", NULL) : NULL;
	if (doc && strcmp(jsonx_str_at(doc, "reason", ""), "Expired") == 0)
		kind = ERR_GONE;
	if (message && message[0])
		return err_set(e, kind, status, "%s: %s", operation, message);
	return err_set(e, kind, status, "%s: the API server answered %d", operation, status);
}

static void build_url(const struct kube_client *c, const struct kube_ref *ref, struct buf *url)
{
	buf_init(url, 16384);
	http_url_begin(url, c->config->server);
	buf_puts(url, ref->api);
	if (ref->namespace) {
		http_url_segment(url, "namespaces");
		http_url_segment(url, ref->namespace);
	}
	http_url_segment(url, ref->plural);
	if (ref->name)
		http_url_segment(url, ref->name);
	if (ref->subresource)
		http_url_segment(url, ref->subresource);
}

/* Waits as the server asked; -1 when that would be too long or we are asked to stop. */
static int wait_retry_after(const struct kube_client *c, int64_t wait_ms, int64_t *budget_ms)
{
	if (wait_ms < 0)
		wait_ms = 1000;
	if (wait_ms > *budget_ms)
		return -1;
	*budget_ms -= wait_ms;
	struct pollfd p = {.fd = c->cancel_fd, .events = POLLIN};
	return poll(&p, 1, (int)wait_ms) == 0 ? 0 : -1;
}

/* One call with its repetitions: 401 once with a fresh token, 429 as long as the server's Retry-After fits the budget. */
static int perform(struct kube_client *c, struct http_request *q, const char *operation, struct http_response *r, struct err *e)
{
	int64_t budget_ms = c->timeout_ms < KUBE_RETRY_AFTER_MAX_MS ? c->timeout_ms : KUBE_RETRY_AFTER_MAX_MS;
	bool fresh = false;
	refresh_token(c, false);
	for (;;) {
		q->bearer_token = c->token;
		q->cancel_fd = c->cancel_fd;
		if (http_perform(c->http, q, r, e) < 0) {
			http_response_fini(r);
			return err_prefix(e, "%s", operation);
		}
		if (r->status >= 200 && r->status < 300)
			return 0;
		bool again = false;
		if (r->status == 401 && !fresh && c->config->token_file) {
			refresh_token(c, true);
			again = fresh = true;
		} else if (r->status == 429) {
			again = wait_retry_after(c, r->retry_after_ms, &budget_ms) == 0;
		}
		if (!again) {
			kube_status_error(r->status, buf_str(&r->body), r->body.len, operation, e);
			http_response_fini(r);
			return -1;
		}
		http_response_fini(r);
	}
}

static char *describe(const char *method, const struct kube_ref *ref)
{
	return mem_printf("%s %s%s%s%s%s%s%s", method, ref->plural, ref->namespace ? " " : "", ref->namespace ? ref->namespace : "",
			  ref->name ? "/" : "", ref->name ? ref->name : "", ref->subresource ? "/" : "",
			  ref->subresource ? ref->subresource : "");
}

static int call(struct kube_client *c, const char *method, const struct kube_ref *ref, struct buf *url, const char *content_type,
		const json_t *body, json_t **out, struct err *e)
{
	AUTO_FREE char *operation = describe(method, ref);
	AUTO_FREE char *text = NULL;
	if (body && !(text = jsonx_dump(body, REQUEST_MAX_BYTES, e)))
		return err_prefix(e, "%s", operation);
	const struct http_header headers[] = {
		{"Accept", "application/json"},
		{content_type ? "Content-Type" : NULL, content_type},
		{NULL, NULL},
	};
	struct http_request q = {.method = method, .url = buf_str(url), .headers = headers, .body = text, .body_len = text ? strlen(text) : 0,
				 .timeout_ms = c->timeout_ms, .max_response_bytes = RESPONSE_MAX_BYTES};
	struct http_response r;
	if (perform(c, &q, operation, &r, e) < 0)
		return -1;
	int rc = 0;
	if (out) {
		*out = jsonx_parse(buf_str(&r.body), r.body.len, operation, e);
		rc = *out ? 0 : -1;
	}
	http_response_fini(&r);
	return rc;
}

int kube_get(struct kube_client *c, const struct kube_ref *ref, json_t **out, struct err *e)
{
	AUTO_BUF struct buf url;
	build_url(c, ref, &url);
	return call(c, "GET", ref, &url, NULL, NULL, out, e);
}

int kube_create(struct kube_client *c, const struct kube_ref *ref, const json_t *body, json_t **out, struct err *e)
{
	AUTO_BUF struct buf url;
	build_url(c, ref, &url);
	return call(c, "POST", ref, &url, "application/json", body, out, e);
}

int kube_update(struct kube_client *c, const struct kube_ref *ref, const json_t *body, json_t **out, struct err *e)
{
	AUTO_BUF struct buf url;
	build_url(c, ref, &url);
	return call(c, "PUT", ref, &url, "application/json", body, out, e);
}

int kube_patch(struct kube_client *c, const struct kube_ref *ref, enum kube_patch type, const json_t *body, json_t **out, struct err *e)
{
	static const char *const content_type[] = {
		[KUBE_PATCH_MERGE] = "application/merge-patch+json",
		[KUBE_PATCH_JSON] = "application/json-patch+json",
		[KUBE_PATCH_APPLY] = "application/apply-patch+yaml",
	};
	AUTO_BUF struct buf url;
	build_url(c, ref, &url);
	http_url_query(&url, "fieldManager", FIELD_MANAGER);
	if (type == KUBE_PATCH_APPLY)
		http_url_query(&url, "force", "true");
	return call(c, "PATCH", ref, &url, content_type[type], body, out, e);
}

int kube_delete(struct kube_client *c, const struct kube_ref *ref, const char *uid, const char *resource_version, struct err *e)
{
	AUTO_BUF struct buf url;
	build_url(c, ref, &url);
	AUTO_JSON json_t *body = json_pack("{s:s, s:s}", "apiVersion", "v1", "kind", "DeleteOptions");
	json_t *preconditions = json_object();
	if (uid)
		json_object_set_new(preconditions, "uid", json_string(uid));
	if (resource_version)
		json_object_set_new(preconditions, "resourceVersion", json_string(resource_version));
	json_object_set_new(body, "preconditions", preconditions);
	return call(c, "DELETE", ref, &url, "application/json", body, NULL, e);
}

static int each_item(const json_t *page, kube_item_fn *on_item, void *ctx, struct err *e)
{
	const json_t *items = jsonx_at(page, "items");
	size_t i;
	json_t *item;
	json_array_foreach(items, i, item) {
		if (on_item(ctx, item, e) < 0)
			return -1;
	}
	return 0;
}

int kube_list(struct kube_client *c, const struct kube_ref *ref, const char *label_selector, int limit, kube_item_fn *on_item, void *ctx,
	      char rv[64], struct err *e)
{
	AUTO_FREE char *next = NULL;
	char limit_text[16];
	snprintf(limit_text, sizeof limit_text, "%d", limit);
	do {
		AUTO_BUF struct buf url;
		build_url(c, ref, &url);
		http_url_query(&url, "limit", limit_text);
		if (label_selector)
			http_url_query(&url, "labelSelector", label_selector);
		if (next)
			http_url_query(&url, "continue", next);
		AUTO_JSON json_t *page = NULL;
		if (call(c, "GET", ref, &url, NULL, NULL, &page, e) < 0 || each_item(page, on_item, ctx, e) < 0)
			return -1;
		if (rv)
			snprintf(rv, 64, "%s", jsonx_str_at(page, "metadata.resourceVersion", ""));
		const char *more = jsonx_str_at(page, "metadata.continue", "");
		free(next);
		next = more[0] ? mem_strdup(more) : NULL;
	} while (next);
	return 0;
}

int kube_watch_once(struct kube_client *c, const struct kube_ref *ref, const struct kube_watch_request *w, struct err *e)
{
	AUTO_BUF struct buf url;
	build_url(c, ref, &url);
	char timeout[16];
	snprintf(timeout, sizeof timeout, "%d", w->timeout_seconds);
	http_url_query(&url, "watch", "true");
	http_url_query(&url, "allowWatchBookmarks", "true");
	http_url_query(&url, "resourceVersion", w->rv);
	http_url_query(&url, "timeoutSeconds", timeout);
	AUTO_FREE char *operation = describe("WATCH", ref);
	const struct http_header headers[] = {{"Accept", "application/json"}, {NULL, NULL}};
	struct http_request q = {.method = "GET", .url = buf_str(&url), .headers = headers, .stall_timeout_ms = w->stall_timeout_ms,
				 .on_body = w->on_body, .on_body_ctx = w->ctx};
	struct http_response r;
	if (perform(c, &q, operation, &r, e) < 0)
		return -1;
	http_response_fini(&r);
	return 0;
}
