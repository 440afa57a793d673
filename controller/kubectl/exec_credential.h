/* Exec credential plugins of a kubeconfig (client.authentication.k8s.io/v1 and v1beta1), as client-go runs them: a program of the person's
 * own configuration that prints an ExecCredential. One thread. */
#ifndef DRDOTNET_EXEC_CREDENTIAL_H
#define DRDOTNET_EXEC_CREDENTIAL_H

#include "common/base/err.h"
#include "common/base/jsonx.h"

/* Runs what `user`'s "exec" says and puts token or client certificate in its place. */
int exec_credential_apply(json_t *user, const json_t *cluster, struct err *e);

/* Reads what the program printed and puts it into `user`. `version`: the apiVersion that was asked for. Pure. */
int exec_credential_read(json_t *user, const char *text, size_t len, const char *version, struct err *e);

/* The text of KUBERNETES_EXEC_INFO (free it). Pure. */
char *exec_credential_info(const json_t *exec, const json_t *cluster, bool interactive);

#endif
