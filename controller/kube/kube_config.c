#include "controller/kube/kube_config.h"

#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"
#include "common/base/yaml_json.h"

#include <fcntl.h>
#include <string.h>

#define KUBECONFIG_MAX_BYTES (1024 * 1024)
#define PEM_MAX_BYTES (256 * 1024)

void kube_config_fini(struct kube_config *c)
{
	if (!c)
		return;
	char **owned[] = {&c->server, &c->namespace, &c->ca_file, &c->ca_pem, &c->client_cert_file, &c->client_cert_pem,
			  &c->client_key_file, &c->client_key_pem, &c->token, &c->token_file, &c->tls_server_name};
	for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
		free(*owned[i]);
	*c = (struct kube_config){0};
}

void kube_config_tls(const struct kube_config *c, struct http_tls *out)
{
	*out = (struct http_tls){
		.ca_file = c->ca_file,
		.ca_pem = c->ca_pem,
		.client_cert_file = c->client_cert_file,
		.client_key_file = c->client_key_file,
		.client_cert_pem = c->client_cert_pem,
		.client_key_pem = c->client_key_pem,
		.server_name = c->tls_server_name,
		.insecure_skip_verify = c->insecure_skip_verify,
	};
}

/* The entry of a kubeconfig list ("clusters", "users", "contexts") with this name, its inner object under `inner`. */
static int find_named(const json_t *root, const char *list, const char *inner, const char *name, const json_t **out, struct err *e)
{
	const json_t *all = NULL;
	if (jsonx_array(root, "", list, true, &all, e) < 0)
		return -1;
	size_t i;
	json_t *entry;
	json_array_foreach(all, i, entry) {
		if (strcmp(jsonx_str_at(entry, "name", ""), name) == 0)
			return jsonx_object(entry, list, inner, true, out, e);
	}
	return err_set(e, ERR_INVALID, 0, "%s: none is named %s", list, name);
}

static char *decode_base64(const char *text, const char *what, struct err *e)
{
	char *out = base64_decode(text, PEM_MAX_BYTES, NULL);
	if (!out)
		err_set(e, ERR_INVALID, 0, "%s: not base64 of at most %d bytes", what, PEM_MAX_BYTES);
	return out;
}

static char *resolve_path(const char *dir, const char *path)
{
	return path[0] == '/' || !dir || !dir[0] ? mem_strdup(path) : mem_printf("%s/%s", dir, path);
}

/* "key" (a file) or "key-data" (base64 of the file's content). Data win, as in client-go. */
static int read_file_or_data(const json_t *obj, const char *path, const char *key, const char *dir, char **file, char **pem, struct err *e)
{
	const char *name = NULL, *data = NULL;
	AUTO_FREE char *data_key = mem_printf("%s-data", key);
	if (jsonx_string(obj, path, key, false, &name, e) < 0 || jsonx_string(obj, path, data_key, false, &data, e) < 0)
		return -1;
	if (data && data[0]) {
		*pem = decode_base64(data, data_key, e);
		return *pem ? 0 : -1;
	}
	if (name && name[0])
		*file = resolve_path(dir, name);
	return 0;
}

static int read_cluster(const json_t *cluster, const char *dir, struct kube_config *out, struct err *e)
{
	const char *server = NULL, *server_name = NULL;
	if (jsonx_string(cluster, "clusters.cluster", "server", true, &server, e) < 0 ||
	    jsonx_string(cluster, "clusters.cluster", "tls-server-name", false, &server_name, e) < 0 ||
	    jsonx_bool(cluster, "clusters.cluster", "insecure-skip-tls-verify", false, &out->insecure_skip_verify, e) < 0)
		return -1;
	if (strncmp(server, "https://", 8) != 0 && strncmp(server, "http://", 7) != 0)
		return err_set(e, ERR_INVALID, 0, "clusters.cluster.server: expected an http or https URL");
	size_t len = strlen(server);
	while (len > 0 && server[len - 1] == '/')
		len--;
	out->server = mem_strndup(server, len);
	out->tls_server_name = mem_strdup(server_name);
	return read_file_or_data(cluster, "clusters.cluster", "certificate-authority", dir, &out->ca_file, &out->ca_pem, e);
}

static int read_user(const json_t *user, const char *dir, struct kube_config *out, struct err *e)
{
	static const char *const refused[] = {"exec", "auth-provider", "username", "password", "as", "as-uid"};
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		if (json_object_get(user, refused[i]))
			return err_set(e, ERR_INVALID, 0,
				       "users.user.%s: not supported; use a client certificate, token or tokenFile", refused[i]);
	}
	const char *token = NULL, *token_file = NULL;
	if (jsonx_string(user, "users.user", "token", false, &token, e) < 0 ||
	    jsonx_string(user, "users.user", "tokenFile", false, &token_file, e) < 0)
		return -1;
	out->token = mem_strdup(token);
	if (token_file)
		out->token_file = resolve_path(dir, token_file);
	if (read_file_or_data(user, "users.user", "client-certificate", dir, &out->client_cert_file, &out->client_cert_pem, e) < 0)
		return -1;
	return read_file_or_data(user, "users.user", "client-key", dir, &out->client_key_file, &out->client_key_pem, e);
}

static int read_kubeconfig_root(const json_t *root, const char *dir, const char *context, struct kube_config *out, struct err *e)
{
	const char *cluster_name = NULL, *user_name = NULL, *ns = NULL;
	if (!context && jsonx_string(root, "", "current-context", true, &context, e) < 0)
		return -1;
	const json_t *ctx = NULL, *cluster = NULL, *user = NULL;
	if (find_named(root, "contexts", "context", context, &ctx, e) < 0 ||
	    jsonx_string(ctx, "contexts.context", "cluster", true, &cluster_name, e) < 0 ||
	    jsonx_string(ctx, "contexts.context", "user", false, &user_name, e) < 0 ||
	    jsonx_string(ctx, "contexts.context", "namespace", false, &ns, e) < 0)
		return -1;
	if (find_named(root, "clusters", "cluster", cluster_name, &cluster, e) < 0 || read_cluster(cluster, dir, out, e) < 0)
		return -1;
	if (user_name && (find_named(root, "users", "user", user_name, &user, e) < 0 || read_user(user, dir, out, e) < 0))
		return -1;
	out->namespace = mem_strdup(ns && ns[0] ? ns : "default");
	return 0;
}

int kube_config_parse(const char *text, size_t len, const char *what, const char *dir, const char *context,
		      struct kube_config *out, struct err *e)
{
	AUTO_JSON json_t *root = jsonx_parse_yaml(text, len, what, e);
	if (!root)
		return -1;
	struct kube_config got = {0};
	if (read_kubeconfig_root(root, dir, context, &got, e) < 0) {
		kube_config_fini(&got);
		return err_prefix(e, "%s", what);
	}
	*out = got;
	return 0;
}

int kube_config_from_file(const char *path, const char *context, struct kube_config *out, struct err *e)
{
	AUTO_BUF struct buf text = {0};
	if (fsio_read(AT_FDCWD, path, KUBECONFIG_MAX_BYTES, &text, e) < 0)
		return -1;
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + (slash == path)) : NULL;
	return kube_config_parse(buf_str(&text), text.len, path, dir, context, out, e);
}

int kube_config_in_cluster(const char *dir, const char *host, const char *port, struct kube_config *out, struct err *e)
{
	if (!host || !host[0] || !port || !port[0])
		return err_set(e, ERR_INVALID, 0, "not in a cluster (no KUBERNETES_SERVICE_HOST) and no --kubeconfig given");
	AUTO_FREE char *ns_path = mem_printf("%s/namespace", dir);
	AUTO_BUF struct buf ns = {0};
	if (fsio_read(AT_FDCWD, ns_path, 256, &ns, e) < 0)
		return -1;
	bool v6 = strchr(host, ':') != NULL;
	size_t ns_len = strcspn(buf_str(&ns), " \r\n");
	*out = (struct kube_config){
		.server = mem_printf("https://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port),
		.namespace = mem_strndup(buf_str(&ns), ns_len),
		.ca_file = mem_printf("%s/ca.crt", dir),
		.token_file = mem_printf("%s/token", dir),
	};
	return 0;
}

int kube_config_load(const char *path, const char *context, struct kube_config *out, struct err *e)
{
	if (!path)
		path = getenv("KUBECONFIG");
	if (path && path[0])
		return kube_config_from_file(path, context, out, e);
	return kube_config_in_cluster(KUBE_SERVICE_ACCOUNT_DIR, getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"), out, e);
}
