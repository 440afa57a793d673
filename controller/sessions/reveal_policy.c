#include "controller/sessions/reveal_policy.h"

#include "common/base/cleanup.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct reveal_policy {
	pthread_mutex_t lock;
	bool known, in_force;
	int64_t asked_ms;
};

struct reveal_policy *reveal_policy_new(void)
{
	struct reveal_policy *p = mem_alloc(sizeof *p);
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void reveal_policy_free(struct reveal_policy *p)
{
	if (!p)
		return;
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static bool list_has_text(const json_t *list, const char *text)
{
	size_t i;
	json_t *item;
	json_array_foreach(list, i, item) {
		if (json_is_string(item) && strcmp(json_string_value(item), text) == 0)
			return true;
	}
	return false;
}

static bool checks_reveal(const json_t *validations)
{
	size_t i;
	json_t *item;
	json_array_foreach(validations, i, item) {
		if (strstr(jsonx_str_at(item, "expression", ""), ".check('reveal').allowed()"))
			return true;
	}
	return false;
}

/* A binding to some namespaces, or to some objects, leaves others open. */
bool reveal_policy_holds(const json_t *policy, const json_t *binding)
{
	return policy && binding && strcmp(jsonx_str_at(policy, "spec.failurePolicy", "Fail"), "Fail") == 0 &&
	       !jsonx_at(policy, "spec.matchConditions") && checks_reveal(jsonx_at(policy, "spec.validations")) &&
	       strcmp(jsonx_str_at(binding, "spec.policyName", ""), REVEAL_POLICY_NAME) == 0 && !jsonx_at(binding, "spec.matchResources") &&
	       list_has_text(jsonx_at(binding, "spec.validationActions"), "Deny");
}

/* 0: *out is the object, or NULL when there is none. */
static int get_policy_object(struct kube_client *kube, const char *plural, json_t **out, struct err *e)
{
	struct kube_ref ref = {.api = "/apis/admissionregistration.k8s.io/v1", .plural = plural, .name = REVEAL_POLICY_NAME};
	struct err why = ERR_INIT;
	if (kube_get(kube, &ref, out, &why) == 0 || why.kind == ERR_NOT_FOUND || why.kind == ERR_DENIED)
		return 0;
	*e = why;
	return -1;
}

int reveal_policy_look(struct reveal_policy *p, struct kube_client *kube, int64_t now_mono_ms, bool *in_force, struct err *e)
{
	pthread_mutex_lock(&p->lock);
	bool known = p->known, fresh = known && now_mono_ms - p->asked_ms < REVEAL_POLICY_KEEP_MS;
	*in_force = p->in_force;
	pthread_mutex_unlock(&p->lock);
	if (fresh)
		return 0;
	AUTO_JSON json_t *policy = NULL;
	AUTO_JSON json_t *binding = NULL;
	struct err why = ERR_INIT;
	if (get_policy_object(kube, "validatingadmissionpolicies", &policy, &why) < 0 ||
	    (policy && get_policy_object(kube, "validatingadmissionpolicybindings", &binding, &why) < 0)) {
		if (known)
			return 0;
		*e = why;
		return -1;
	}
	*in_force = reveal_policy_holds(policy, binding);
	pthread_mutex_lock(&p->lock);
	p->known = true;
	p->in_force = *in_force;
	p->asked_ms = now_mono_ms;
	pthread_mutex_unlock(&p->lock);
	return 0;
}
