#include "controller/triggers/alert_webhook.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/jsonx.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "controller/triggers/alert_match.h"
#include "controller/triggers/alertmanager.h"
#include "controller/base/metrics.h"

#include <ctype.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_MAX_BYTES 4096
#define ANSWER_MAX_BYTES (1024 * 1024)
#define RETRY_AFTER "5"

struct alert_webhook {
	struct alert_webhook_options options;
	char *token_file;
};

/* One notification under way. */
struct work {
	struct alert_webhook *webhook;
	struct profiling_trigger **triggers;
	size_t trigger_count, firings;
	int64_t deadline_ms;
	bool again;                 /* something could not be made sure */
	char again_why[ERR_MESSAGE_SIZE];
};

static void count_alert(const char *result)
{
	metrics_count(METRIC_ALERTS, result);
}

/* Firing ----------------------------------------------------------------------------------------------------------- */

static void come_again(struct work *w, const char *why)
{
	if (!w->again)
		snprintf(w->again_why, sizeof w->again_why, "%s", why);
	w->again = true;
	count_alert("retry");
}

static const char *verdict_name(enum trigger_verdict v)
{
	static const char *const names[] = {
		[TRIGGER_FIRED] = "Fired", [TRIGGER_SUPPRESSED] = "Suppressed", [TRIGGER_REFUSED] = "Refused", [TRIGGER_TRY_AGAIN] = "TryAgain"};
	return names[v];
}

static void put_entry_text(json_t *obj, const char *key, const char *text)
{
	if (text && text[0])
		json_object_set_new(obj, key, json_string(text));
}

static void note_alert_outcome(struct work *w, json_t *entry, const struct trigger_outcome *o)
{
	put_entry_text(entry, "result", verdict_name(o->verdict));
	put_entry_text(entry, "reason", o->reason);
	put_entry_text(entry, "session", o->session);
	put_entry_text(entry, "message", o->message);
	if (o->verdict == TRIGGER_TRY_AGAIN)
		come_again(w, o->message[0] ? o->message : "the API server does not answer");
	else
		count_alert(o->verdict == TRIGGER_FIRED ? "fired" : o->verdict == TRIGGER_SUPPRESSED ? "suppressed" : "refused");
}

static void note_alert_refusal(json_t *entry, const char *reason, const char *message)
{
	put_entry_text(entry, "result", "Refused");
	put_entry_text(entry, "reason", reason);
	put_entry_text(entry, "message", message);
	count_alert("refused");
}

static void fire_alert_trigger(struct work *w, const struct alert *a, const struct profiling_trigger *t, json_t *entry)
{
	AUTO_ALERT_TARGET struct alert_target target;
	struct err e = ERR_INIT;
	if (alertmanager_target(a, t, &target, &e) < 0) {
		note_alert_refusal(entry, "InvalidLabel", e.message);
		return;
	}
	struct trigger_firing f = {t->namespace, t->name, TRIGGER_ALERTMANAGER, target.dedup, target.pod_name, target.container, target.message};
	struct trigger_outcome outcome = {0};
	int64_t left_ms = w->deadline_ms - clock_mono_ms();
	if (w->firings++ == ALERT_WEBHOOK_MAX_FIRINGS || left_ms <= 0) {
		come_again(w, "too much at once");
		return;
	}
	if (w->webhook->options.fire(w->webhook->options.triggers, &f, left_ms, &outcome, &e) == 0)
		note_alert_outcome(w, entry, &outcome);
	else if (e.kind == ERR_NOT_FOUND) /* deleted a moment ago */
		note_alert_refusal(entry, "TriggerNotFound", e.message);
	else
		come_again(w, e.message);
}

static void try_trigger(struct work *w, const struct alert *a, const struct profiling_trigger *t, json_t *results)
{
	struct err e = ERR_INIT;
	int rc = alertmanager_matches(a, t, &e);
	if (rc == 0)
		return;
	json_t *entry = json_object();
	json_array_append_new(results, entry);
	put_entry_text(entry, "namespace", t->namespace);
	put_entry_text(entry, "trigger", t->name);
	if (rc > 0)
		fire_alert_trigger(w, a, t, entry);
	else
		note_alert_refusal(entry, "InvalidMatcher", e.message);
}

/* Why no trigger has taken it, for the person who reads Alertmanager's or a test's answer. */
static const char *why_none(const struct alert *a)
{
	if (a->problem)
		return a->problem;
	if (!a->firing)
		return "resolved: nothing to start";
	if (!alert_label(a, "namespace")[0])
		return "it has no label namespace: only alerts of a trigger's own namespace start sessions";
	return "no trigger of its namespace has matchers that hold";
}

static json_t *take_alert(struct work *w, const struct alert *a)
{
	json_t *entry = json_object(), *results = json_array();
	put_entry_text(entry, "alertname", alert_label(a, "alertname"));
	put_entry_text(entry, "fingerprint", a->fingerprint);
	put_entry_text(entry, "status", a->problem ? NULL : a->firing ? "firing" : "resolved");
	for (size_t i = 0; i < w->trigger_count && a->firing && !a->problem && !w->again; i++)
		try_trigger(w, a, w->triggers[i], results);
	json_object_set_new(entry, "triggers", results);
	if (json_array_size(results))
		return entry;
	put_entry_text(entry, "message", why_none(a));
	count_alert(a->problem ? "malformed" : a->firing ? "unmatched" : "resolved");
	return entry;
}

static char *webhook_answer(struct work *w, const struct alert_notification *n, struct err *e)
{
	AUTO_JSON json_t *doc = json_object();
	json_t *alerts = json_array();
	json_object_set_new(doc, "alerts", alerts);
	for (size_t i = 0; i < n->count && !w->again; i++)
		json_array_append_new(alerts, take_alert(w, &n->alerts[i]));
	if (n->truncated)
		json_object_set_new(doc, "truncatedAlerts", json_integer(n->truncated));
	if (w->again) {
		err_set(e, ERR_RETRY, 0, "not every session could be started (%s); send the notification again", w->again_why);
		return NULL;
	}
	return jsonx_dump(doc, ANSWER_MAX_BYTES, e);
}

unsigned alert_webhook_take(struct alert_webhook *w, const char *text, size_t len, char **body, struct err *e)
{
	AUTO_ALERT_NOTIFICATION struct alert_notification n;
	*body = NULL;
	if (alertmanager_parse(text, len, &n, e) < 0)
		return 400;
	if (w->options.ready && !w->options.ready(w->options.ready_ctx)) {
		err_set(e, ERR_RETRY, 0, "this replica does not know the triggers yet; send the notification again");
		return 503;
	}
	struct work work = {.webhook = w, .deadline_ms = clock_mono_ms() + ALERT_WEBHOOK_PATIENCE_MS};
	work.triggers = w->options.of_source(w->options.triggers, TRIGGER_ALERTMANAGER, NULL, &work.trigger_count);
	*body = webhook_answer(&work, &n, e);
	for (size_t i = 0; i < work.trigger_count; i++)
		trigger_unref(work.triggers[i]);
	free(work.triggers);
	return *body ? 200 : work.again ? 503 : 500;
}

/* The token -------------------------------------------------------------------------------------------------------- */

/* By their digests, so that neither content nor length shows in the time it takes. */
static bool equal_in_constant_time(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned char x[SHA256_DIGEST_LENGTH], y[SHA256_DIGEST_LENGTH];
	SHA256((const unsigned char *)a, a_len, x);
	SHA256((const unsigned char *)b, b_len, y);
	return CRYPTO_memcmp(x, y, sizeof x) == 0;
}

int alert_webhook_check(const struct alert_webhook *w, const char *token, struct err *e)
{
	char wanted[TOKEN_MAX_BYTES];
	if (!w->token_file)
		return err_set(e, ERR_NOT_FOUND, 0, "the receiver is off: start the controller with --alertmanager-token-file");
	ssize_t len = fsio_read_small(AT_FDCWD, w->token_file, wanted, sizeof wanted);
	while (len > 0 && isspace((unsigned char)wanted[len - 1]))
		len--;
	if (len < ALERT_WEBHOOK_TOKEN_LEAST)
		return err_set(e, ERR_RETRY, 0, "the receiver's token file %s; it must hold at least %d characters",
			       len < 0 ? "cannot be read" : len == 0 ? "is empty" : "is too short", ALERT_WEBHOOK_TOKEN_LEAST);
	bool good = token && equal_in_constant_time(token, strlen(token), wanted, (size_t)len);
	OPENSSL_cleanse(wanted, sizeof wanted);
	return good ? 0 : err_set(e, ERR_DENIED, 0, "%s bearer token; Alertmanager's http_config.authorization must have that of the receiver's token file",
				  token ? "wrong" : "no");
}

/* HTTP ------------------------------------------------------------------------------------------------------------- */

static bool admitted(struct alert_webhook *w, const struct web_request *q, struct web_response *r)
{
	struct err e = ERR_INIT;
	if (alert_webhook_check(w, web_request_bearer(q), &e) == 0)
		return true;
	if (e.kind == ERR_DENIED) {
		count_alert("unauthorized");
		web_respond_header(r, "WWW-Authenticate", "Bearer realm=\"drdotnet alertmanager\"");
		web_respond_problem(r, 401, "Unauthorized", NULL, "%s", e.message);
	} else if (e.kind == ERR_NOT_FOUND) {
		web_respond_problem(r, 404, "AlertmanagerOff", NULL, "%s", e.message);
	} else {
		LOG_WARN("alerts", "notifications are refused", LOG_S("error", e.message));
		web_respond_header(r, "Retry-After", RETRY_AFTER);
		web_respond_problem(r, 503, "TokenFileUnusable", NULL, "%s", e.message);
	}
	return false;
}

static void handle_webhook(void *ctx, const struct web_request *q, struct web_response *r)
{
	struct alert_webhook *w = ctx;
	struct err e = ERR_INIT;
	char *body = NULL;
	size_t len;
	if (!admitted(w, q, r))
		return;
	const char *text = web_request_body(q, &len);
	unsigned status = alert_webhook_take(w, text ? text : "", text ? len : 0, &body, &e);
	if (body) {
		web_respond_take(r, status, "application/json", body, strlen(body));
		return;
	}
	LOG_WARN("alerts", "a notification was not taken", LOG_I("status", status), LOG_S("error", e.message));
	if (status == 503)
		web_respond_header(r, "Retry-After", RETRY_AFTER);
	web_respond_problem(r, status, status == 400 ? "InvalidNotification" : "TryAgain", NULL, "%s", e.message);
}

struct alert_webhook *alert_webhook_new(const struct alert_webhook_options *o)
{
	struct alert_webhook *w = mem_alloc(sizeof *w);
	w->options = *o;
	w->token_file = mem_strdup(o->token_file);
	return w;
}

void alert_webhook_free(struct alert_webhook *w)
{
	if (!w)
		return;
	free(w->token_file);
	free(w);
}

static struct profiling_trigger **real_of_source(void *triggers, enum trigger_source source, const char *namespace, size_t *count)
{
	return triggers_of_source(triggers, source, namespace, count);
}

static int real_fire(void *triggers, const struct trigger_firing *f, int64_t timeout_ms, struct trigger_outcome *out, struct err *e)
{
	return triggers_fire_wait(triggers, f, timeout_ms, out, e);
}

struct alert_webhook *alert_webhook_of(struct triggers *t, const char *token_file, bool (*ready)(void *ctx), void *ready_ctx)
{
	return alert_webhook_new(&(struct alert_webhook_options){
		.token_file = token_file, .triggers = t, .of_source = real_of_source, .fire = real_fire, .ready = ready, .ready_ctx = ready_ctx});
}

void alert_webhook_route(struct alert_webhook *w, struct web_server *s)
{
	web_server_route(s, &(struct web_route){.methods = WEB_POST, .pattern = ALERT_WEBHOOK_PATH, .handler = handle_webhook, .ctx = w});
}
