/* Is the shipped ValidatingAdmissionPolicy (deploy/manifests/60-admission.yaml) in force? It alone vouches for who asked for a session, and for
 * the right to reveal contents. Asked again now and then; any thread. */
#ifndef DRDOTNET_REVEAL_POLICY_H
#define DRDOTNET_REVEAL_POLICY_H

#include "controller/kube/kube_client.h"

#include <stdbool.h>

#define REVEAL_POLICY_NAME "sessions.drdotnet.dev"
#define REVEAL_POLICY_KEEP_MS 30000

struct reveal_policy;

struct reveal_policy *reveal_policy_new(void);
void reveal_policy_free(struct reveal_policy *p);

/* An API server that knows no such thing, or lets us not look: *in_force is false. -1: it did not answer, and was not asked before. */
int reveal_policy_look(struct reveal_policy *p, struct kube_client *kube, int64_t now_mono_ms, bool *in_force, struct err *e);

/* Whether these two objects (NULL: absent) refuse what they are to refuse. Pure. */
bool reveal_policy_holds(const json_t *policy, const json_t *binding);

#endif
