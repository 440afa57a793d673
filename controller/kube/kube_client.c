#include "controller/kube/kube_client.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/http_url.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "controller/kube/kube_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <string.h>

#define TOKEN_RELOAD_MS 60000
#define TOKEN_MAX_BYTES 16384
#define REQUEST_MAX_BYTES (1536 * 1024)
#define RESPONSE_MAX_BYTES (8 * 1024 * 1024) /* an object has 1.5 MiB at most; pages of lists are made smaller when they are larger */
#define RETRY_LEAST_MS 200                   /* "Retry-After: 0" is no invitation to a loop */
#define HOLD_MOST_MS 60000
#define WATCH_GRACE_SECONDS 30 /* a server that does not end a watch by itself */
#define FIELD_MANAGER "drdotnet-controller"

struct kube_client {
	const struct kube_config *config;
	struct http_client *http;
	int cancel_fd;
	char *token;
	int64_t token_read_ms; /* monotonic; 0: never */
	int64_t timeout_ms;
	int64_t hold_until_ms; /* monotonic: the server asked for no call before; 0: it did not */
	struct kube_refusal refusal;
	const char *manager, *accept;
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
				   .timeout_ms = KUBE_TIMEOUT_MS, .manager = FIELD_MANAGER, .accept = "application/json"};
	return c;
}

static void drop_token(struct kube_client *c)
{
	if (c->token)
		OPENSSL_cleanse(c->token, strlen(c->token));
	free(c->token);
	c->token = NULL;
}

void kube_client_free(struct kube_client *c)
{
	if (!c)
		return;
	http_client_free(c->http);
	drop_token(c);
	free(c);
}

void kube_client_set_token(struct kube_client *c, const char *token)
{
	drop_token(c);
	c->token = mem_strdup(token);
	c->hold_until_ms = 0; /* it was said to another one */
}

const struct kube_refusal *kube_client_refusal(const struct kube_client *c)
{
	return &c->refusal;
}

void kube_client_set_timeout(struct kube_client *c, int64_t timeout_ms)
{
	c->timeout_ms = timeout_ms;
}

void kube_client_set_manager(struct kube_client *c, const char *manager)
{
	c->manager = manager;
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

static void note_kube_refusal(struct kube_client *c, const struct buf *body)
{
	struct err ignored = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(buf_str(body), body->len, "Status", &ignored);
	const json_t *cause = json_array_get(jsonx_at(doc, "details.causes"), 0);
	jsonx_copy_at(doc, "reason", c->refusal.reason, sizeof c->refusal.reason);
	jsonx_copy_at(cause, "field", c->refusal.field, sizeof c->refusal.field);
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
	if (ref->field_selector)
		http_url_query(url, "fieldSelector", ref->field_selector);
	if (ref->label_selector)
		http_url_query(url, "labelSelector", ref->label_selector);
}

/* Waits until then; -1 when that is past the deadline, or we are asked to stop. */
static int wait_or_cancel(const struct kube_client *c, int64_t until_ms, int64_t deadline_ms)
{
	int64_t wait_ms = until_ms - clock_mono_ms();
	if (wait_ms <= 0)
		return 0;
	struct pollfd p = {.fd = c->cancel_fd, .events = POLLIN};
	return until_ms <= deadline_ms && poll(&p, 1, (int)wait_ms) == 0 ? 0 : -1;
}

/* No call of this client before the time that a 429 names: longer than one call may wait, the next ones fail at once until then. */
static void hold_calls(struct kube_client *c, int64_t retry_after_ms)
{
	int64_t ms = retry_after_ms < 0 ? 1000 : retry_after_ms < RETRY_LEAST_MS ? RETRY_LEAST_MS : retry_after_ms;
	c->hold_until_ms = clock_mono_ms() + (ms > HOLD_MOST_MS ? HOLD_MOST_MS : ms);
}

static int send_once(struct kube_client *c, struct http_request *q, int64_t deadline_ms, struct http_response *r, struct err *e)
{
	int64_t begun_ms = clock_mono_ms();
	q->bearer_token = c->token;
	q->cancel_fd = c->cancel_fd;
	if (!q->on_body)
		q->timeout_ms = deadline_ms > begun_ms ? deadline_ms - begun_ms : 1;
	int rc = http_perform(c->http, q, r, e);
	if (rc == 0 && !q->on_body) /* a watch's answer begins long before its end */
		kube_clock_note(r->date_wall_ms, begun_ms);
	return rc;
}

/* One call with its repetitions: 401 once with a fresh token, 429 as long as the server's Retry-After fits the time. */
static int perform(struct kube_client *c, struct http_request *q, const char *operation, struct http_response *r, struct err *e)
{
	int64_t deadline_ms = clock_mono_ms() + c->timeout_ms;
	bool fresh = false;
	refresh_token(c, false);
	c->refusal = (struct kube_refusal){.reason = ""};
	for (;;) {
		if (wait_or_cancel(c, c->hold_until_ms, deadline_ms) < 0)
			return err_set(e, ERR_RETRY, 429, "%s: the API server asked to wait", operation);
		if (send_once(c, q, deadline_ms, r, e) < 0) {
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
			hold_calls(c, r->retry_after_ms);
			again = c->hold_until_ms < deadline_ms;
		}
		if (!again) {
			kube_status_error(r->status, buf_str(&r->body), r->body.len, operation, e);
			note_kube_refusal(c, &r->body);
			http_response_fini(r);
			return -1;
		}
		http_response_fini(r);
	}
}

static char *describe_call(const char *method, const struct kube_ref *ref)
{
	return mem_printf("%s %s%s%s%s%s%s%s", method, ref->plural, ref->namespace ? " " : "", ref->namespace ? ref->namespace : "",
			  ref->name ? "/" : "", ref->name ? ref->name : "", ref->subresource ? "/" : "",
			  ref->subresource ? ref->subresource : "");
}

/* What answers in the API server's place (a proxy, a captive portal) must not pass for "there is nothing" or "it is another one". */
static int check_answer(const struct kube_ref *ref, const json_t *answer, const char *operation, struct err *e)
{
	const char *name = jsonx_str_at(answer, "metadata.name", ""), *namespace = jsonx_str_at(answer, "metadata.namespace", "");
	if (ref->name && (strcmp(name, ref->name) != 0 || (ref->namespace && strcmp(namespace, ref->namespace) != 0)))
		return err_set(e, ERR_PROTOCOL, 0, "%s: the answer is another object than was asked for", operation);
	return 0;
}

static int kube_call(struct kube_client *c, const char *method, const struct kube_ref *ref, struct buf *url, const char *content_type,
		     const json_t *body, json_t **out, struct err *e)
{
	AUTO_FREE char *operation = describe_call(method, ref);
	AUTO_FREE char *text = NULL;
	if (body && !(text = jsonx_dump(body, REQUEST_MAX_BYTES, e)))
		return err_prefix(e, "%s", operation);
	const struct http_header headers[] = {
		{"Accept", c->accept},
		{content_type ? "Content-Type" : NULL, content_type},
		{NULL, NULL},
	};
	struct http_request q = {.method = method, .url = buf_str(url), .headers = headers, .body = text, .body_len = text ? strlen(text) : 0,
				 .max_response_bytes = RESPONSE_MAX_BYTES};
	struct http_response r;
	if (perform(c, &q, operation, &r, e) < 0)
		return -1;
	int rc = 0;
	if (out) {
		*out = jsonx_parse(buf_str(&r.body), r.body.len, operation, e);
		rc = *out ? check_answer(ref, *out, operation, e) : -1;
		if (rc < 0 && *out) {
			json_decref(*out);
			*out = NULL;
		}
	}
	http_response_fini(&r);
	return rc;
}

int kube_get(struct kube_client *c, const struct kube_ref *ref, json_t **out, struct err *e)
{
	AUTO_BUF struct buf url;
	build_url(c, ref, &url);
	return kube_call(c, "GET", ref, &url, NULL, NULL, out, e);
}

int kube_get_table(struct kube_client *c, const struct kube_ref *ref, json_t **out, struct err *e)
{
	struct kube_ref table = *ref;
	char selector[300];
	if (ref->name) { /* a Table has no name of its own, so it is asked for as a collection of one */
		snprintf(selector, sizeof selector, "metadata.name=%s", ref->name);
		table.name = NULL;
		table.field_selector = selector;
	}
	AUTO_BUF struct buf url;
	build_url(c, &table, &url);
	const char *before = c->accept;
	c->accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
	int rc = kube_call(c, "GET", &table, &url, NULL, NULL, out, e);
	c->accept = before;
	if (rc == 0 && strcmp(jsonx_str_at(*out, "kind", ""), "Table") != 0) {
		json_decref(*out);
		*out = NULL;
		return err_set(e, ERR_PROTOCOL, 0, "GET %s: the answer is no Table", ref->plural);
	}
	return rc;
}

int kube_create(struct kube_client *c, const struct kube_ref *ref, const json_t *body, json_t **out, struct err *e)
{
	AUTO_BUF struct buf url;
	build_url(c, ref, &url);
	return kube_call(c, "POST", ref, &url, "application/json", body, out, e);
}

int kube_update(struct kube_client *c, const struct kube_ref *ref, const json_t *body, json_t **out, struct err *e)
{
	AUTO_BUF struct buf url;
	build_url(c, ref, &url);
	return kube_call(c, "PUT", ref, &url, "application/json", body, out, e);
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
	http_url_query(&url, "fieldManager", c->manager);
	if (type == KUBE_PATCH_APPLY)
		http_url_query(&url, "force", "true");
	return kube_call(c, "PATCH", ref, &url, content_type[type], body, out, e);
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
	return kube_call(c, "DELETE", ref, &url, "application/json", body, NULL, e);
}

/* A page that is no list is an error: taken for an empty one, it would say that nothing exists. */
static int each_item(const json_t *page, kube_item_fn *on_item, void *ctx, struct err *e)
{
	const json_t *items = jsonx_at(page, "items");
	const char *kind = jsonx_str_at(page, "kind", "");
	size_t i, len = strlen(kind);
	json_t *item;
	if (!json_is_array(items) || len < 4 || strcmp(kind + len - 4, "List") != 0 || !jsonx_str_at(page, "metadata.resourceVersion", "")[0])
		return err_set(e, ERR_PROTOCOL, 0, "the answer is no list");
	json_array_foreach(items, i, item) {
		if (on_item(ctx, item, e) < 0)
			return -1;
	}
	return 0;
}

/* One page. Objects may be large: a page that does not fit is asked for again with half as many. */
static int get_page(struct kube_client *c, const struct kube_ref *ref, int *limit, const char *next, json_t **page, struct err *e)
{
	for (;;) {
		char limit_text[16];
		snprintf(limit_text, sizeof limit_text, "%d", *limit);
		AUTO_BUF struct buf url;
		build_url(c, ref, &url);
		http_url_query(&url, "limit", limit_text);
		if (next)
			http_url_query(&url, "continue", next);
		struct err why = ERR_INIT;
		if (kube_call(c, "GET", ref, &url, NULL, NULL, page, &why) == 0)
			return 0;
		if (why.kind != ERR_PROTOCOL || why.code != EMSGSIZE || *limit == 1) {
			*e = why;
			return -1;
		}
		*limit /= 2;
	}
}

static int list_pages(struct kube_client *c, const struct kube_ref *ref, int limit, int64_t most, kube_item_fn *on_item, void *ctx, char rv[64],
		      struct err *e)
{
	AUTO_FREE char *next = NULL;
	do {
		AUTO_JSON json_t *page = NULL;
		if (get_page(c, ref, &limit, next, &page, e) < 0)
			return -1;
		if (jsonx_int_at(page, "metadata.remainingItemCount", 0) > most)
			return 1;
		if (each_item(page, on_item, ctx, e) < 0)
			return -1;
		if (rv)
			snprintf(rv, 64, "%s", jsonx_str_at(page, "metadata.resourceVersion", ""));
		const char *more = jsonx_str_at(page, "metadata.continue", "");
		free(next);
		next = more[0] ? mem_strdup(more) : NULL;
	} while (next);
	return 0;
}

int kube_list(struct kube_client *c, const struct kube_ref *ref, int limit, kube_item_fn *on_item, void *ctx, char rv[64], struct err *e)
{
	return list_pages(c, ref, limit, INT64_MAX, on_item, ctx, rv, e);
}

int kube_list_few(struct kube_client *c, const struct kube_ref *ref, int limit, int64_t most, kube_item_fn *on_item, void *ctx, char rv[64],
		  struct err *e)
{
	return list_pages(c, ref, limit, most, on_item, ctx, rv, e);
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
	if (w->initial_events) {
		http_url_query(&url, "sendInitialEvents", "true");
		http_url_query(&url, "resourceVersionMatch", "NotOlderThan");
	}
	AUTO_FREE char *operation = describe_call("WATCH", ref);
	const struct http_header headers[] = {{"Accept", "application/json"}, {NULL, NULL}};
	struct http_request q = {.method = "GET", .url = buf_str(&url), .headers = headers, .stall_timeout_ms = w->stall_timeout_ms,
				 .timeout_ms = ((int64_t)w->timeout_seconds + WATCH_GRACE_SECONDS) * 1000, .on_body = w->on_body, .on_body_ctx = w->ctx};
	struct http_response r;
	if (perform(c, &q, operation, &r, e) < 0)
		return -1;
	http_response_fini(&r);
	return 0;
}
