#include "controller/kubectl/exec_credential.h"

#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "controller/kubectl/child.h"

#include <string.h>

#define OUTPUT_MAX_BYTES (1024 * 1024)
#define INFO_MAX_BYTES (64 * 1024)

static const char *const versions[] = {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"};

char *exec_credential_info(const json_t *exec, const json_t *cluster, bool interactive)
{
	AUTO_JSON json_t *info = json_pack("{s:s, s:s, s:{s:b}}", "kind", "ExecCredential", "apiVersion", jsonx_str_at(exec, "apiVersion", versions[0]),
					   "spec", "interactive", interactive);
	json_t *spec = json_object_get(info, "spec");
	if (json_is_true(json_object_get(exec, "provideClusterInfo"))) {
		json_t *about = json_object();
		static const char *const keys[] = {"server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data"};
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
			if (json_object_get(cluster, keys[i]))
				json_object_set(about, keys[i], json_object_get(cluster, keys[i]));
		json_object_set_new(spec, "cluster", about);
	}
	return jsonx_dump(info, INFO_MAX_BYTES, NULL);
}

static void put_encoded(json_t *user, const char *key, const char *pem)
{
	AUTO_FREE char *text = base64_encode(pem, strlen(pem));
	json_object_set_new(user, key, json_string(text));
}

int exec_credential_read(json_t *user, const char *text, size_t len, const char *version, struct err *e)
{
	const char *token = NULL, *certificate = NULL, *key = NULL;
	const json_t *status = NULL;
	AUTO_JSON json_t *doc = jsonx_parse(text, len, "its output", e);
	if (!doc)
		return -1;
	if (strcmp(jsonx_str_at(doc, "kind", ""), "ExecCredential") != 0 || strcmp(jsonx_str_at(doc, "apiVersion", ""), version) != 0)
		return err_set(e, ERR_INVALID, 0, "its output: expected an ExecCredential of %s", version);
	if (jsonx_object(doc, "", "status", true, &status, e) < 0 || jsonx_string(status, "status", "token", false, &token, e) < 0 ||
	    jsonx_string(status, "status", "clientCertificateData", false, &certificate, e) < 0 ||
	    jsonx_string(status, "status", "clientKeyData", false, &key, e) < 0)
		return -1;
	if (!token && !(certificate && key))
		return err_set(e, ERR_INVALID, 0, "its output: neither a token nor a client certificate with its key");
	json_object_del(user, "exec");
	if (token)
		json_object_set_new(user, "token", json_string(token));
	if (certificate && key) {
		put_encoded(user, "client-certificate-data", certificate);
		put_encoded(user, "client-key-data", key);
	}
	return 0;
}

static int read_words(const json_t *exec, struct child_words *words, struct err *e)
{
	const char *command = NULL;
	const json_t *args = NULL, *env = NULL;
	size_t i;
	json_t *item;
	if (jsonx_string(exec, "users.user.exec", "command", true, &command, e) < 0 ||
	    jsonx_array(exec, "users.user.exec", "args", false, &args, e) < 0 || jsonx_array(exec, "users.user.exec", "env", false, &env, e) < 0)
		return -1;
	child_words_add(words, command);
	json_array_foreach(args, i, item) {
		if (!json_is_string(item))
			return err_set(e, ERR_INVALID, 0, "users.user.exec.args[%zu]: expected a string", i);
		child_words_add(words, json_string_value(item));
	}
	json_array_foreach(env, i, item) {
		const char *name = jsonx_str_at(item, "name", ""), *value = jsonx_str_at(item, "value", NULL);
		if (!name[0] || !value || strchr(name, '='))
			return err_set(e, ERR_INVALID, 0, "users.user.exec.env[%zu]: expected a name and a value", i);
		child_words_env(words, name, value);
	}
	return 0;
}

static int run_credential_plugin(json_t *user, const json_t *exec, const json_t *cluster, const char *version, struct err *e)
{
	struct child_words words = {0};
	AUTO_FREE char *info = exec_credential_info(exec, cluster, isatty(STDIN_FILENO));
	AUTO_BUF struct buf output;
	buf_init(&output, OUTPUT_MAX_BYTES);
	int rc = info ? read_words(exec, &words, e) : err_set(e, ERR_INTERNAL, 0, "the cluster's data are too long");
	if (rc == 0) {
		child_words_env(&words, "KUBERNETES_EXEC_INFO", info);
		rc = child_output(&words, &output, e);
	}
	if (rc == 0 && exec_credential_read(user, buf_str(&output), output.len, version, e) < 0)
		rc = err_prefix(e, "%.200s", words.items[0]);
	child_words_fini(&words);
	return rc;
}

int exec_credential_apply(json_t *user, const json_t *cluster, struct err *e)
{
	AUTO_JSON json_t *exec = json_incref(json_object_get(user, "exec"));
	const char *asked = jsonx_str_at(exec, "apiVersion", "");
	const char *hint = jsonx_str_at(exec, "installHint", "");
	const char *version = NULL;
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		if (strcmp(asked, versions[i]) == 0)
			version = versions[i];
	if (!version)
		return err_set(e, ERR_INVALID, 0, "kubeconfig: users.user.exec.apiVersion: \"%.80s\" is not supported; known are %s and v1beta1", asked,
			       versions[0]);
	if (run_credential_plugin(user, exec, cluster, version, e) == 0)
		return 0;
	struct err why = *e;
	return err_set(e, why.kind, why.code, "kubeconfig: the credential plugin failed: %s%s%.200s", why.message,
		       why.kind == ERR_NOT_FOUND && hint[0] ? ". " : "", why.kind == ERR_NOT_FOUND ? hint : "");
}
