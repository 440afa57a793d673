/* A person's kubeconfig, as kubectl finds it: --kubeconfig, else the files of $KUBECONFIG (apart by ':', merged: what is named first
 * stays), else ~/.kube/config, else the pod's own service account. Where the context's user has an exec credential plugin, it is run here
 * and its credential put in its place, so that controller/kube/kube_config.h has the rest. */
#ifndef DRDOTNET_KUBECONFIG_FILES_H
#define DRDOTNET_KUBECONFIG_FILES_H

#include "common/base/jsonx.h"
#include "controller/kube/kube_config.h"

/* `path`, `context`: of the command line, or NULL. */
int kubeconfig_files_load(const char *path, const char *context, struct kube_config *out, struct err *e);

/* Takes all of `from` that `into` does not name yet; paths in it become relative to `dir`. Pure. */
int kubeconfig_files_merge(json_t *into, const json_t *from, const char *dir, struct err *e);

/* The object under "user" that a context (NULL: the current one) means; borrowed; NULL: it names none. Pure. */
json_t *kubeconfig_files_user(const json_t *config, const char *context);

#endif
