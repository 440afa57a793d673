/* /api/sessions/{id}/events: the session at each change, as server-sent events, until it has completed. A subscriber costs a little memory
 * and no thread; many changes may become one event. */
#include "common/rest/rest_events.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/rest/rest_private.h"
#include "common/rest/rest_sessions.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct rest_subscriber {
	struct rest_api *api;
	struct rest_session_id id;
	char *token;
	struct web_waker *waker;
	unsigned char last[SHA256_DIGEST_LENGTH]; /* of what was sent last; changes within it are not repeated */
	struct rest_subscriber *prev, *next;
};

static void append_problem(struct buf *out, const struct rest_problem *p)
{
	json_t *doc = json_pack("{s:s, s:i, s:s}", "type", "about:blank", "status", (int)p->status, "detail", p->detail);
	if (doc && p->reason[0])
		json_object_set_new(doc, "reason", json_string(p->reason));
	AUTO_FREE char *text = doc ? jsonx_dump(doc, 16384, NULL) : NULL;
	web_events_append(out, "problem", text ? text : "{}");
	json_decref(doc);
}

/* Rights are looked at each time: they may have been taken away since. */
static int get_subscribed_session(struct rest_subscriber *s, json_t **out, struct rest_problem *p)
{
	const struct rest_backend *b = &s->api->backend;
	struct rest_caller caller;
	if (rest_authenticate(b, s->token, &caller, p) < 0)
		return -1;
	int rc = b->session_get(b->ctx, &caller, &s->id, out, p);
	rest_caller_fini(b, &caller);
	return rc;
}

static void append_session(struct rest_subscriber *s, const json_t *session, struct buf *out)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	AUTO_FREE char *text = jsonx_dump(session, REST_ANSWER_MAX_BYTES, NULL);
	if (!text)
		return;
	SHA256((const unsigned char *)text, strlen(text), hash);
	if (memcmp(hash, s->last, sizeof hash) == 0)
		return;
	memcpy(s->last, hash, sizeof hash);
	web_events_append(out, "session", text);
}

static bool next_session_events(void *ctx, struct buf *out)
{
	struct rest_subscriber *s = ctx;
	struct rest_problem p = REST_PROBLEM_INIT;
	AUTO_JSON json_t *session = NULL;
	if (get_subscribed_session(s, &session, &p) < 0) {
		if (p.status == 404 || p.status == 410)
			web_events_append(out, "end", "{\"reason\":\"Deleted\"}");
		else
			append_problem(out, &p);
		return true;
	}
	append_session(s, session, out);
	if (!rest_session_completed(session))
		return false;
	web_events_append(out, "end", "{\"reason\":\"Completed\"}");
	return true;
}

static void unsubscribe(void *ctx)
{
	struct rest_subscriber *s = ctx;
	if (s->waker) { /* else it never got so far */
		pthread_mutex_lock(&s->api->lock);
		DL_DELETE(s->api->subscribers, s);
		pthread_mutex_unlock(&s->api->lock);
		web_waker_unref(s->waker);
	}
	OPENSSL_cleanse(s->token, strlen(s->token));
	free(s->token);
	free(s);
}

int rest_events_get(struct rest_call *c)
{
	struct rest_session_id id;
	AUTO_JSON json_t *session = NULL;
	if (rest_path_id(c, &id) < 0 || c->backend->session_get(c->backend->ctx, &c->caller, &id, &session, &c->problem) < 0)
		return -1;
	struct rest_subscriber *s = mem_alloc(sizeof *s);
	s->api = c->api;
	s->id = id;
	s->token = mem_strdup(c->caller.token);
	struct web_waker *waker = web_respond_events(c->r, (struct web_events){next_session_events, unsubscribe, s});
	if (!waker)
		return 0;
	/* Nothing asks for events or closes them before this handler has returned. */
	s->waker = waker;
	pthread_mutex_lock(&c->api->lock);
	DL_APPEND(c->api->subscribers, s);
	pthread_mutex_unlock(&c->api->lock);
	return 0;
}

/* A wake only makes a note: nothing runs here with the lock held. */
void rest_api_session_changed(struct rest_api *api, const char *namespace, const char *name)
{
	struct rest_subscriber *s;
	pthread_mutex_lock(&api->lock);
	DL_FOREACH(api->subscribers, s)
		if (strcmp(s->id.name, name) == 0 && strcmp(s->id.namespace, namespace) == 0)
			web_waker_wake(s->waker);
	pthread_mutex_unlock(&api->lock);
}
