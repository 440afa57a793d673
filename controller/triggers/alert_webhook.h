/* POST /api/alertmanager: the receiver of Alertmanager's notifications (alertmanager.h), with a bearer token of its own, that fires the
 * triggers whose matchers hold. Answers:
 *   200  what was done with each alert, as JSON; repeating it would change nothing
 *   400  no notification of version 4: repeating it would not help
 *   401  no token, or another one
 *   404  no token file is configured: the receiver is off
 *   503  with Retry-After: this replica cannot make sure that a session starts. Alertmanager repeats the notification, and what was done
 *        already is recognised by fingerprint and start of the alert. */
#ifndef DRDOTNET_ALERT_WEBHOOK_H
#define DRDOTNET_ALERT_WEBHOOK_H

#include "common/web/web_server.h"
#include "controller/triggers/triggers.h"

#define ALERT_WEBHOOK_PATH "/api/alertmanager"
#define ALERT_WEBHOOK_MAX_FIRINGS 256  /* of one notification; the rest is answered with 503 and comes again */
#define ALERT_WEBHOOK_PATIENCE_MS 8000 /* below Alertmanager's own bound of 10 s */
#define ALERT_WEBHOOK_TOKEN_LEAST 16   /* bytes */

struct alert_webhook;

/* What it does to the world; tests put their own in. The functions are those of triggers.h. */
struct alert_webhook_options {
	const char *token_file; /* read anew for each request; NULL: the receiver is off. Copied */
	void *triggers;
	struct profiling_trigger **(*of_source)(void *triggers, enum trigger_source source, const char *namespace, size_t *count);
	int (*fire)(void *triggers, const struct trigger_firing *f, int64_t timeout_ms, struct trigger_outcome *out, struct err *e);
	bool (*ready)(void *ctx); /* are the triggers known? NULL: always */
	void *ready_ctx;
};

struct alert_webhook *alert_webhook_new(const struct alert_webhook_options *o);
void alert_webhook_free(struct alert_webhook *w); /* after the web server's end; NULL is taken */

/* Of real triggers. */
struct alert_webhook *alert_webhook_of(struct triggers *t, const char *token_file, bool (*ready)(void *ctx), void *ready_ctx);

/* Before the server's start. */
void alert_webhook_route(struct alert_webhook *w, struct web_server *s);

/* What a notification leads to, apart from HTTP. Any thread; may block. The status, and the answer's body: of 200 the JSON (free it), else
 * NULL with *e. */
unsigned alert_webhook_take(struct alert_webhook *w, const char *text, size_t len, char **body, struct err *e);

/* Is it the token? 0; ERR_DENIED; ERR_NOT_FOUND when none is configured; ERR_RETRY when the file cannot be used. */
int alert_webhook_check(const struct alert_webhook *w, const char *token, struct err *e);

#endif
