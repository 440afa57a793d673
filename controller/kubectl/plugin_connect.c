#include "controller/kubectl/plugin_connect.h"

#include "controller/kubectl/kubeconfig_files.h"

#include <string.h>

int plugin_connect(const struct plugin_args *a, int cancel_fd, struct plugin_connection *out, struct err *e)
{
	*out = (struct plugin_connection){0};
	if (kubeconfig_files_load(a->kubeconfig, a->context, &out->config, e) < 0)
		return -1;
	out->namespace = a->all_namespaces ? NULL : a->namespace ? a->namespace : out->config.namespace;
	out->client = kube_client_new(&out->config, cancel_fd, e);
	if (!out->client) {
		plugin_connection_fini(out);
		return -1;
	}
	kube_client_set_manager(out->client, "kubectl-drdotnet");
	return 0;
}

void plugin_connection_fini(struct plugin_connection *c)
{
	kube_client_free(c->client);
	kube_config_fini(&c->config);
	*c = (struct plugin_connection){0};
}

struct kube_ref plugin_connect_sessions(const struct plugin_connection *c, const char *name)
{
	return (struct kube_ref){.api = KUBE_SESSIONS, .plural = SESSION_PLURAL, .namespace = c->namespace, .name = name};
}

int plugin_connect_explain(struct err *e)
{
	struct err why = *e;
	if (why.kind == ERR_NOT_FOUND && (strstr(why.message, "could not find the requested resource") || strstr(why.message, "answered 404")))
		return err_set(e, ERR_NOT_FOUND, why.code, "%.300s. Install Dr-Dotnet's CustomResourceDefinitions; kubectl drdotnet doctor says more",
			       why.message);
	if (why.code == 401)
		return err_set(e, ERR_DENIED, 401, "%.300s. The API server does not take the kubeconfig's credential: log in again", why.message);
	return -1;
}
