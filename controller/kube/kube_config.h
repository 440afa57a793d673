/* Where the API server is and how to speak to it: from a kubeconfig file (YAML or JSON) or from inside a pod.
 *
 * Of a kubeconfig the current context counts; certificate-authority, client-certificate, client-key (each with -data),
 * token, tokenFile, tls-server-name, insecure-skip-tls-verify and the context's namespace are read. Exec plugins, auth
 * providers and passwords are refused with ERR_INVALID that names them. Immutable once loaded, so any thread may read it;
 * credentials that live in files are read again by kube_client. */
#ifndef DRDOTNET_KUBE_CONFIG_H
#define DRDOTNET_KUBE_CONFIG_H

#include "common/base/err.h"
#include "common/base/http.h"

#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

struct kube_config {
	char *server;        /* "https://host:port", no slash at its end */
	char *namespace;     /* of the context or the pod; never NULL ("default") */
	char *ca_file, *ca_pem;
	char *client_cert_file, *client_cert_pem;
	char *client_key_file, *client_key_pem;
	char *token, *token_file;
	char *tls_server_name;
	bool insecure_skip_verify;
};

/* Pure: file names in the text are taken relative to `dir`, nothing is opened. `context` NULL: the current one. */
int kube_config_parse(const char *text, size_t len, const char *what, const char *dir, const char *context,
		      struct kube_config *out, struct err *e);

int kube_config_from_file(const char *path, const char *context, struct kube_config *out, struct err *e);

/* `dir` is normally KUBE_SERVICE_ACCOUNT_DIR; host and port those of KUBERNETES_SERVICE_HOST and _PORT. */
int kube_config_in_cluster(const char *dir, const char *host, const char *port, struct kube_config *out, struct err *e);

/* The file when `path` is not NULL, else $KUBECONFIG when set, else in-cluster. */
int kube_config_load(const char *path, const char *context, struct kube_config *out, struct err *e);

void kube_config_fini(struct kube_config *c);

/* Borrowed views for http_client_new. */
void kube_config_tls(const struct kube_config *c, struct http_tls *out);

#endif
