#include "controller/rest/rest_access.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "controller/kube/kube_clock.h"
#include "controller/kube/token_review.h"

#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define AUTHENTICATION_API "/apis/authentication.k8s.io/v1"
#define AUTHORIZATION_API "/apis/authorization.k8s.io/v1"

struct answer {
	char *wish; /* "verb group/resource namespace" */
	bool allowed;
	int64_t asked_ms; /* monotonic */
};

struct caller {
	unsigned char key[SHA256_DIGEST_LENGTH];
	json_t *user;
	int64_t reviewed_ms;     /* monotonic */
	int64_t expires_wall_ms; /* of the token; -1: it does not say */
	struct answer answers[REST_ACCESS_MAX_ANSWERS];
	size_t answer_count, oldest;
	UT_hash_handle hh;
};

struct rest_access {
	pthread_mutex_t lock;
	struct caller *callers; /* uthash keeps them in the order of insertion: the first is the oldest */
};

struct rest_access *rest_access_new(void)
{
	struct rest_access *a = mem_alloc(sizeof *a);
	pthread_mutex_init(&a->lock, NULL);
	return a;
}

static void drop_caller(struct rest_access *a, struct caller *c)
{
	HASH_DEL(a->callers, c);
	for (size_t i = 0; i < c->answer_count; i++)
		free(c->answers[i].wish);
	json_decref(c->user);
	free(c);
}

void rest_access_free(struct rest_access *a)
{
	if (!a)
		return;
	struct caller *c, *next;
	HASH_ITER(hh, a->callers, c, next)
		drop_caller(a, c);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

void rest_identity_free(struct rest_identity *i)
{
	if (!i)
		return;
	free(i->name);
	json_decref(i->user);
	free(i);
}

/* Each request has a copy of its own: documents are not shared by threads. */
static struct rest_identity *make_identity(const unsigned char *key, const json_t *user)
{
	struct rest_identity *i = mem_alloc(sizeof *i);
	memcpy(i->key, key, sizeof i->key);
	i->user = json_deep_copy(user);
	i->name = mem_strdup(jsonx_str_at(user, "username", ""));
	return i;
}

/* Who --------------------------------------------------------------------------------------------------------------- */

static bool is_fresh(const struct caller *c)
{
	return clock_mono_ms() - c->reviewed_ms < REST_ACCESS_BELIEVED_MS &&
	       (c->expires_wall_ms < 0 || kube_clock_wall_ms() < c->expires_wall_ms);
}

static struct rest_identity *known(struct rest_access *a, const unsigned char *key)
{
	struct caller *c = NULL;
	struct rest_identity *i = NULL;
	pthread_mutex_lock(&a->lock);
	HASH_FIND(hh, a->callers, key, SHA256_DIGEST_LENGTH, c);
	if (c && is_fresh(c))
		i = make_identity(key, c->user);
	else if (c)
		drop_caller(a, c);
	pthread_mutex_unlock(&a->lock);
	return i;
}

static void remember_caller(struct rest_access *a, const unsigned char *key, const json_t *user, int64_t expires_wall_ms)
{
	struct caller *old = NULL, *c = mem_alloc(sizeof *c);
	memcpy(c->key, key, sizeof c->key);
	c->user = json_deep_copy(user);
	c->reviewed_ms = clock_mono_ms();
	c->expires_wall_ms = expires_wall_ms;
	pthread_mutex_lock(&a->lock);
	HASH_FIND(hh, a->callers, key, SHA256_DIGEST_LENGTH, old);
	if (old)
		drop_caller(a, old);
	if (HASH_COUNT(a->callers) >= REST_ACCESS_MAX_CALLERS)
		drop_caller(a, a->callers);
	HASH_ADD(hh, a->callers, key, SHA256_DIGEST_LENGTH, c);
	pthread_mutex_unlock(&a->lock);
}

static int review_caller_token(struct kube_client *kube, const char *token, json_t **out, struct err *e)
{
	static const struct kube_ref ref = {.api = AUTHENTICATION_API, .plural = "tokenreviews"};
	AUTO_JSON json_t *body = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "authentication.k8s.io/v1", "kind", "TokenReview", "spec",
					   "token", token);
	if (!body)
		return err_set(e, ERR_DENIED, 401, "the token is no text");
	struct err why = ERR_INIT;
	if (kube_create(kube, &ref, body, out, &why) == 0)
		return 0;
	/* It is the controller that was refused, not the caller. */
	return err_set(e, why.kind == ERR_TIMEOUT ? ERR_TIMEOUT : ERR_RETRY, 0, "cannot review the token: %s", why.message);
}

struct rest_identity *rest_access_identify(struct rest_access *a, struct kube_client *kube, const char *token, struct err *e)
{
	unsigned char key[SHA256_DIGEST_LENGTH];
	if (!token[0] || strlen(token) > TOKEN_MAX_BYTES) {
		err_set(e, ERR_DENIED, 401, "no usable token");
		return NULL;
	}
	SHA256((const unsigned char *)token, strlen(token), key);
	struct rest_identity *i = known(a, key);
	if (i)
		return i;
	AUTO_JSON json_t *answer = NULL;
	if (review_caller_token(kube, token, &answer, e) < 0)
		return NULL;
	const json_t *user = jsonx_at(answer, "status.user");
	if (!json_is_true(jsonx_at(answer, "status.authenticated")) || !jsonx_str_at(user, "username", "")[0]) {
		err_set(e, ERR_DENIED, 401, "the API server does not know the token, or it has expired; make a new one: kubectl create token NAME");
		return NULL;
	}
	remember_caller(a, key, user, token_review_expiry(token));
	return make_identity(key, user);
}

/* What ---------------------------------------------------------------------------------------------------------------- */

static char *print_wish(const struct rest_wish *w)
{
	return mem_printf("%s %s/%s %s", w->verb, w->group, w->resource, w->namespace ? w->namespace : "*");
}

/* -1: not asked lately. */
static int known_answer(struct rest_access *a, const struct rest_identity *i, const char *wish)
{
	struct caller *c = NULL;
	int found = -1;
	pthread_mutex_lock(&a->lock);
	HASH_FIND(hh, a->callers, i->key, sizeof i->key, c);
	for (size_t k = 0; c && k < c->answer_count; k++) {
		if (strcmp(c->answers[k].wish, wish) == 0 && clock_mono_ms() - c->answers[k].asked_ms < REST_ACCESS_BELIEVED_MS)
			found = c->answers[k].allowed;
	}
	pthread_mutex_unlock(&a->lock);
	return found;
}

static struct answer *access_answer_slot(struct caller *c, const char *wish)
{
	for (size_t k = 0; k < c->answer_count; k++) {
		if (strcmp(c->answers[k].wish, wish) == 0)
			return &c->answers[k];
	}
	if (c->answer_count < REST_ACCESS_MAX_ANSWERS)
		return &c->answers[c->answer_count++];
	struct answer *oldest = &c->answers[c->oldest++ % REST_ACCESS_MAX_ANSWERS];
	return oldest;
}

static void remember_answer(struct rest_access *a, const struct rest_identity *i, const char *wish, bool allowed)
{
	struct caller *c = NULL;
	pthread_mutex_lock(&a->lock);
	HASH_FIND(hh, a->callers, i->key, sizeof i->key, c);
	if (c) {
		struct answer *place = access_answer_slot(c, wish);
		free(place->wish);
		*place = (struct answer){mem_strdup(wish), allowed, clock_mono_ms()};
	}
	pthread_mutex_unlock(&a->lock);
}

json_t *rest_access_review_body(const json_t *user, const struct rest_wish *w)
{
	static const char *const fields[][2] = {{"username", "user"}, {"uid", "uid"}, {"groups", "groups"}, {"extra", "extra"}};
	json_t *body = json_pack("{s:s, s:s, s:{s:{s:s, s:s, s:s}}}", "apiVersion", "authorization.k8s.io/v1", "kind", "SubjectAccessReview", "spec",
				 "resourceAttributes", "verb", w->verb, "group", w->group, "resource", w->resource);
	json_t *spec = json_object_get(body, "spec");
	if (w->namespace)
		json_object_set_new(json_object_get(spec, "resourceAttributes"), "namespace", json_string(w->namespace));
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		json_t *value = json_object_get(user, fields[i][0]);
		if (value)
			json_object_set(spec, fields[i][1], value);
	}
	return body;
}

int rest_access_allows(struct rest_access *a, struct kube_client *kube, const struct rest_identity *i, const struct rest_wish *w, struct err *e)
{
	static const struct kube_ref ref = {.api = AUTHORIZATION_API, .plural = "subjectaccessreviews"};
	AUTO_FREE char *wish = print_wish(w);
	int found = known_answer(a, i, wish);
	if (found >= 0)
		return found;
	AUTO_JSON json_t *body = rest_access_review_body(i->user, w);
	AUTO_JSON json_t *answer = NULL;
	struct err why = ERR_INIT;
	if (kube_create(kube, &ref, body, &answer, &why) < 0)
		return err_set(e, why.kind == ERR_TIMEOUT ? ERR_TIMEOUT : ERR_RETRY, 0, "cannot review access: %s", why.message);
	bool allowed = json_is_true(jsonx_at(answer, "status.allowed"));
	remember_answer(a, i, wish, allowed);
	return allowed;
}
