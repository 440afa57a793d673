#include "controller/kube/token_review.h"

#include "common/api/session_spec.h"
#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "controller/kube/kube_clock.h"
#include "controller/kube/token_cache.h"

#include <stdlib.h>
#include <string.h>

#define AUTHENTICATION_API "/apis/authentication.k8s.io/v1"
#define AUTHORIZATION_API "/apis/authorization.k8s.io/v1"

/* JWT ------------------------------------------------------------------------------------------------------------- */

int64_t token_review_expiry(const char *token)
{
	const char *payload = strchr(token, '.');
	const char *end = payload ? strchr(payload + 1, '.') : NULL;
	if (!end || end - payload > TOKEN_MAX_BYTES)
		return -1;
	payload++;
	size_t len = 0;
	AUTO_FREE char *claims = base64_decode_url(payload, (size_t)(end - payload), TOKEN_MAX_BYTES, &len);
	AUTO_JSON json_t *doc = claims ? jsonx_parse(claims, len, "claims", NULL) : NULL;
	int64_t exp = jsonx_int_at(doc, "exp", -1);
	return exp > 0 && exp < INT64_MAX / 1000 ? exp * 1000 : -1;
}

/* What the review says -------------------------------------------------------------------------------------------- */

static bool has_audience(const json_t *status, const char *audience)
{
	const json_t *list = json_object_get(status, "audiences");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *a = json_string_value(json_array_get(list, i));
		if (a && strcmp(a, audience) == 0)
			return true;
	}
	return false;
}

/* The extra fields are lists; these have one value. Longer or missing ones count as absent. */
static void copy_extra(const json_t *user, const char *key, char *out, size_t size)
{
	const json_t *list = json_object_get(json_object_get(user, "extra"), key);
	const char *value = json_array_size(list) == 1 ? json_string_value(json_array_get(list, 0)) : NULL;
	size_t len = value ? strlen(value) : 0;
	if (len < size)
		memcpy(out, value ? value : "", len + 1);
}

static int check_account(const char *username, const char *service_account, char namespace[64], struct err *e)
{
	static const char prefix[] = "system:serviceaccount:";
	if (strncmp(username, prefix, sizeof prefix - 1) != 0 || strcmp(username + sizeof prefix - 1, service_account) != 0)
		return err_set(e, ERR_DENIED, 403, "'%.200s' is not the agents' service account", username);
	size_t len = strcspn(service_account, ":");
	if (len >= 64)
		return err_set(e, ERR_DENIED, 403, "the service account's namespace is too long");
	memcpy(namespace, service_account, len);
	namespace[len] = '\0';
	return 0;
}

int token_review_parse_agent(const json_t *status, const char *audience, const char *service_account, struct reviewed_agent *out, struct err *e)
{
	*out = (struct reviewed_agent){0};
	if (!json_is_true(json_object_get(status, "authenticated")))
		return err_set(e, ERR_DENIED, 401, "the API server does not know the token: %.200s", jsonx_str_at(status, "error", ""));
	if (!has_audience(status, audience))
		return err_set(e, ERR_DENIED, 401, "the token is not for the audience %s", audience);
	const json_t *user = json_object_get(status, "user");
	if (check_account(jsonx_str_at(user, "username", ""), service_account, out->namespace, e) < 0)
		return -1;
	copy_extra(user, "authentication.kubernetes.io/pod-uid", out->pod_uid, sizeof out->pod_uid);
	copy_extra(user, "authentication.kubernetes.io/pod-name", out->pod, sizeof out->pod);
	copy_extra(user, "authentication.kubernetes.io/node-name", out->node, sizeof out->node);
	if (!out->pod_uid[0] || !out->pod[0])
		return err_set(e, ERR_DENIED, 403, "the token is not bound to a pod");
	return 0;
}

/* Calls ----------------------------------------------------------------------------------------------------------- */

static int create_token_review(struct kube_client *kube, const char *token, const char *audience, json_t **out, struct err *e)
{
	static const struct kube_ref ref = {.api = AUTHENTICATION_API, .plural = "tokenreviews"};
	AUTO_JSON json_t *body = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "authentication.k8s.io/v1", "kind", "TokenReview", "spec",
					   "token", token);
	if (!body)
		return err_set(e, ERR_DENIED, 401, "the token is no text");
	if (audience)
		json_object_set_new(json_object_get(body, "spec"), "audiences", json_pack("[s]", audience));
	if (kube_create(kube, &ref, body, out, e) < 0)
		return err_prefix(e, "cannot review a token");
	return 0;
}

static int node_of_pod(struct kube_client *kube, const struct reviewed_agent *a, char node[254], struct err *e)
{
	const struct kube_ref ref = {.api = KUBE_CORE, .plural = "pods", .namespace = a->namespace, .name = a->pod};
	AUTO_JSON json_t *pod = NULL;
	if (kube_get(kube, &ref, &pod, e) < 0)
		return err_prefix(e, "cannot find the agent's pod");
	if (strcmp(jsonx_str_at(pod, "metadata.uid", ""), a->pod_uid) != 0)
		return err_set(e, ERR_DENIED, 403, "the token's pod %s/%s has been replaced by another", a->namespace, a->pod);
	const char *name = jsonx_str_at(pod, "spec.nodeName", "");
	if (!name[0] || strlen(name) > 253)
		return err_set(e, ERR_DENIED, 403, "the agent's pod %s/%s has no node", a->namespace, a->pod);
	strcpy(node, name);
	return 0;
}

static int review_uncached(const struct token_review *r, struct kube_client *kube, const char *token, struct agent_identity *out, struct err *e)
{
	AUTO_JSON json_t *answer = NULL;
	if (create_token_review(kube, token, r->audience, &answer, e) < 0)
		return -1;
	struct reviewed_agent a;
	if (token_review_parse_agent(json_object_get(answer, "status"), r->audience, r->service_account, &a, e) < 0)
		return -1;
	if (!a.node[0] && node_of_pod(kube, &a, a.node, e) < 0)
		return -1;
	memcpy(out->node, a.node, sizeof out->node);
	memcpy(out->pod_uid, a.pod_uid, sizeof out->pod_uid);
	int64_t expires = token_review_expiry(token);
	out->expires_wall_ms = expires > 0 ? expires : kube_clock_wall_ms() + TOKEN_REVIEW_DEFAULT_LIFE_MS;
	return 0;
}

int token_review_agent(const struct token_review *r, struct kube_client *kube, const char *token, struct agent_identity *out, struct err *e)
{
	*out = (struct agent_identity){0};
	if (!token[0] || strlen(token) > TOKEN_MAX_BYTES)
		return err_set(e, ERR_DENIED, 401, "no usable token");
	if (r->cache && token_cache_get(r->cache, token, kube_clock_wall_ms(), out))
		return 0;
	if (review_uncached(r, kube, token, out, e) < 0)
		return -1;
	if (r->cache)
		token_cache_put(r->cache, token, kube_clock_wall_ms(), out);
	return 0;
}

int token_review_access(struct kube_client *kube, const char *token, const char *verb, const char *namespace, const char *session, struct err *e)
{
	static const struct kube_ref ref = {.api = AUTHORIZATION_API, .plural = "subjectaccessreviews"};
	if (!token[0] || strlen(token) > TOKEN_MAX_BYTES)
		return err_set(e, ERR_DENIED, 401, "no usable token");
	AUTO_JSON json_t *who = NULL;
	if (create_token_review(kube, token, NULL, &who, e) < 0)
		return -1;
	const json_t *status = json_object_get(who, "status");
	if (!json_is_true(json_object_get(status, "authenticated")))
		return err_set(e, ERR_DENIED, 401, "the API server does not know the token");
	AUTO_JSON json_t *body =
		json_pack("{s:s, s:s, s:{s:{s:s, s:s, s:s, s:s, s:s}}}", "apiVersion", "authorization.k8s.io/v1", "kind", "SubjectAccessReview",
			  "spec", "resourceAttributes", "namespace", namespace, "name", session, "verb", verb, "group", API_GROUP, "resource",
			  SESSION_PLURAL);
	json_t *spec = json_object_get(body, "spec"), *user = json_object_get(status, "user");
	if (!spec)
		return err_set(e, ERR_DENIED, 403, "the session's name is no text");
	static const char *const fields[][2] = {{"username", "user"}, {"uid", "uid"}, {"groups", "groups"}, {"extra", "extra"}};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (json_object_get(user, fields[i][0]))
			json_object_set(spec, fields[i][1], json_object_get(user, fields[i][0]));
	}
	AUTO_JSON json_t *answer = NULL;
	if (kube_create(kube, &ref, body, &answer, e) < 0)
		return err_prefix(e, "cannot review access");
	if (!json_is_true(jsonx_at(answer, "status.allowed")))
		return err_set(e, ERR_DENIED, 403, "not allowed to %s profilingsessions/%s in %s", verb, session, namespace);
	return 0;
}
