#include "controller/kubectl/kubeconfig_files.h"

#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"
#include "common/base/yaml_json.h"
#include "controller/kubectl/exec_credential.h"

#include <fcntl.h>
#include <string.h>

#define FILE_MAX_BYTES (1024 * 1024)
#define MERGED_MAX_BYTES (4 * 1024 * 1024)

static json_t *entry_named(const json_t *list, const char *name)
{
	size_t i;
	json_t *entry;
	json_array_foreach(list, i, entry) {
		if (strcmp(jsonx_str_at(entry, "name", ""), name) == 0)
			return entry;
	}
	return NULL;
}

static void resolve_member_path(json_t *obj, const char *key, const char *dir, bool only_with_slash)
{
	const char *path = json_string_value(json_object_get(obj, key));
	if (!path || !path[0] || path[0] == '/' || (only_with_slash && !strchr(path, '/')))
		return;
	AUTO_FREE char *whole = mem_printf("%s/%s", dir, path);
	json_object_set_new(obj, key, json_string(whole));
}

static void resolve_paths(json_t *entry, const char *dir)
{
	json_t *cluster = json_object_get(entry, "cluster"), *user = json_object_get(entry, "user");
	resolve_member_path(cluster, "certificate-authority", dir, false);
	resolve_member_path(user, "client-certificate", dir, false);
	resolve_member_path(user, "client-key", dir, false);
	resolve_member_path(user, "tokenFile", dir, false);
	resolve_member_path(json_object_get(user, "exec"), "command", dir, true);
}

static int merge_list(json_t *into, const json_t *from, const char *name, const char *dir, struct err *e)
{
	const json_t *entries = NULL;
	if (jsonx_array(from, "", name, false, &entries, e) < 0)
		return -1;
	json_t *all = json_object_get(into, name);
	if (!all)
		json_object_set_new(into, name, all = json_array());
	size_t i;
	json_t *entry;
	json_array_foreach(entries, i, entry) {
		if (entry_named(all, jsonx_str_at(entry, "name", "")))
			continue;
		json_t *copy = json_deep_copy(entry);
		resolve_paths(copy, dir);
		json_array_append_new(all, copy);
	}
	return 0;
}

int kubeconfig_files_merge(json_t *into, const json_t *from, const char *dir, struct err *e)
{
	static const char *const lists[] = {"clusters", "users", "contexts"};
	const char *current = jsonx_str_at(from, "current-context", "");
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (merge_list(into, from, lists[i], dir, e) < 0)
			return -1;
	if (current[0] && !json_object_get(into, "current-context"))
		json_object_set_new(into, "current-context", json_string(current));
	return 0;
}

static int read_into(json_t *into, const char *path, struct err *e)
{
	AUTO_BUF struct buf text = {0};
	if (fsio_read(AT_FDCWD, path, FILE_MAX_BYTES, &text, e) < 0)
		return -1;
	AUTO_JSON json_t *doc = jsonx_parse_yaml(buf_str(&text), text.len, path, e);
	if (!doc)
		return -1;
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + (slash == path)) : mem_strdup(".");
	return kubeconfig_files_merge(into, doc, dir, e) < 0 ? err_prefix(e, "%s", path) : 0;
}

/* $KUBECONFIG may name files that are not there; one that is given by the command line must be. */
static int read_kubeconfigs(json_t *into, const char *list, size_t *found, struct err *e)
{
	for (const char *at = list; *at;) {
		size_t len = strcspn(at, ":");
		AUTO_FREE char *path = mem_strndup(at, len);
		struct err why = ERR_INIT;
		at += len + (at[len] == ':');
		if (!path[0])
			continue;
		if (read_into(into, path, &why) == 0) {
			(*found)++;
		} else if (why.kind != ERR_NOT_FOUND) {
			*e = why;
			return -1;
		}
	}
	return 0;
}

json_t *kubeconfig_files_user(const json_t *config, const char *context)
{
	const json_t *entry = entry_named(json_object_get(config, "contexts"), context ? context : jsonx_str_at(config, "current-context", ""));
	const char *user = jsonx_str_at(entry, "context.user", NULL);
	return user ? json_object_get(entry_named(json_object_get(config, "users"), user), "user") : NULL;
}

static const json_t *cluster_of(const json_t *config, const char *context)
{
	const json_t *entry = entry_named(json_object_get(config, "contexts"), context ? context : jsonx_str_at(config, "current-context", ""));
	return json_object_get(entry_named(json_object_get(config, "clusters"), jsonx_str_at(entry, "context.cluster", "")), "cluster");
}

static int use(json_t *config, const char *context, struct kube_config *out, struct err *e)
{
	json_t *user = kubeconfig_files_user(config, context);
	const json_t *cluster = cluster_of(config, context);
	if (jsonx_str_at(cluster, "proxy-url", "")[0])
		return err_set(e, ERR_INVALID, 0, "kubeconfig: clusters.cluster.proxy-url: not supported; set HTTPS_PROXY in its place");
	if (json_object_get(user, "exec") && exec_credential_apply(user, cluster, e) < 0)
		return -1;
	AUTO_FREE char *text = jsonx_dump(config, MERGED_MAX_BYTES, e);
	return text ? kube_config_parse(text, strlen(text), "kubeconfig", "", context, out, e) : -1;
}

static bool in_a_pod(void)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	return host && host[0];
}

int kubeconfig_files_load(const char *path, const char *context, struct kube_config *out, struct err *e)
{
	AUTO_JSON json_t *config = json_object();
	const char *variable = getenv("KUBECONFIG"), *home = getenv("HOME");
	AUTO_FREE char *usual = mem_printf("%s/.kube/config", home && home[0] ? home : "");
	size_t found = 0;
	if (path) {
		if (read_into(config, path, e) < 0)
			return -1;
		return use(config, context, out, e);
	}
	if (read_kubeconfigs(config, variable && variable[0] ? variable : usual, &found, e) < 0)
		return -1;
	if (found)
		return use(config, context, out, e);
	if (in_a_pod())
		return kube_config_in_cluster(KUBE_SERVICE_ACCOUNT_DIR, getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"), out, e);
	return err_set(e, ERR_INVALID, 0, "no kubeconfig: %s is not there; give --kubeconfig FILE or set KUBECONFIG",
		       variable && variable[0] ? variable : usual);
}
