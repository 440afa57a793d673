#include "controller/kubectl/child.h"
#include "controller/kubectl/exec_credential.h"
#include "controller/kubectl/kubeconfig_files.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *json(const char *text)
{
	json_error_t why;
	json_t *doc = json_loads(text, 0, &why);
	cr_assert_not_null(doc, "%s at %d", why.text, why.position);
	return doc;
}

Test(kubeconfig_files, what_is_named_first_stays)
{
	AUTO_JSON json_t *merged = json_object();
	AUTO_JSON json_t *first = json("{\"current-context\":\"c\",\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":\"https://a\","
				       "\"certificate-authority\":\"ca.crt\"}}]}");
	AUTO_JSON json_t *second = json("{\"current-context\":\"d\",\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":\"https://b\"}}],"
					"\"users\":[{\"name\":\"u\",\"user\":{\"tokenFile\":\"/t\",\"client-key\":\"k\",\"exec\":{\"command\":\"./x\"}}},"
					"{\"name\":\"v\",\"user\":{\"exec\":{\"command\":\"x\"}}}],"
					"\"contexts\":[{\"name\":\"c\",\"context\":{\"user\":\"u\"}},{\"name\":\"d\",\"context\":{\"user\":\"v\"}}]}");
	cr_assert_eq(kubeconfig_files_merge(merged, first, "/one", NULL), 0);
	cr_assert_eq(kubeconfig_files_merge(merged, second, "/two", NULL), 0);
	cr_expect_str_eq(jsonx_str_at(merged, "current-context", ""), "c");
	const json_t *cluster = json_array_get(jsonx_at(merged, "clusters"), 0);
	cr_expect_str_eq(jsonx_str_at(cluster, "cluster.server", ""), "https://a");
	cr_expect_str_eq(jsonx_str_at(cluster, "cluster.certificate-authority", ""), "/one/ca.crt");
	json_t *user = kubeconfig_files_user(merged, NULL);
	cr_expect_str_eq(jsonx_str_at(user, "tokenFile", ""), "/t");
	cr_expect_str_eq(jsonx_str_at(user, "client-key", ""), "/two/k");
	cr_expect_str_eq(jsonx_str_at(user, "exec.command", ""), "/two/./x");
	cr_expect_str_eq(jsonx_str_at(kubeconfig_files_user(merged, "d"), "exec.command", ""), "x", "found by PATH");
	cr_expect_null(kubeconfig_files_user(merged, "e"));
	AUTO_JSON json_t *wrong = json("{\"users\":{}}");
	struct err e = ERR_INIT;
	cr_expect_eq(kubeconfig_files_merge(merged, wrong, "/", &e), -1);
	cr_expect(strstr(e.message, "users: expected a list"), "%s", e.message);
}

#define V1 "client.authentication.k8s.io/v1"
#define CREDENTIAL(status) "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":" status "}"

Test(exec_credential, takes_token_or_certificate)
{
	static const struct {
		const char *text, *key, *value; /* key NULL: refused, value: why */
	} rows[] = {
		{CREDENTIAL("{\"token\":\"t\"}"), "token", "t"},
		{CREDENTIAL("{\"clientCertificateData\":\"abc\",\"clientKeyData\":\"k\"}"), "client-certificate-data", "YWJj"},
		{CREDENTIAL("{\"clientCertificateData\":\"abc\"}"), NULL, "neither a token nor"}, {CREDENTIAL("{}"), NULL, "neither a token nor"},
		{CREDENTIAL("{\"token\":7}"), NULL, "status.token: expected a string"}, {"", NULL, "its output"},
		{"{\"kind\":\"ExecCredential\",\"apiVersion\":\"x\"}", NULL, "expected an ExecCredential of " V1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_JSON json_t *user = json("{\"exec\":{}}");
		struct err e = ERR_INIT;
		int rc = exec_credential_read(user, rows[i].text, strlen(rows[i].text), V1, &e);
		cr_expect_eq(rc == 0, rows[i].key != NULL, "row %zu: %s", i, e.message);
		if (rc == 0)
			cr_expect_str_eq(jsonx_str_at(user, rows[i].key, ""), rows[i].value);
		else
			cr_expect(strstr(e.message, rows[i].value), "%s", e.message);
		cr_expect_eq(json_object_get(user, "exec") == NULL, rc == 0);
	}
}

static int output_of(const char *command, struct buf *out, struct err *e)
{
	struct child_words words = {0};
	child_words_add(&words, "sh");
	child_words_add(&words, "-c");
	child_words_add(&words, command);
	child_words_env(&words, "COLOUR", "blue");
	int rc = child_output(&words, out, e);
	child_words_fini(&words);
	return rc;
}

Test(child, gives_output_and_ends)
{
	static const struct {
		const char *command, *message; /* NULL: good */
	} rows[] = {
		{"echo $COLOUR; cat /dev/null", NULL}, {"exit 3", "sh ended with code 3"}, {"kill -9 $$", "sh ended with signal 9"},
		{"while :; do echo more; done", "printed more than 64 bytes"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf out;
		buf_init(&out, 64);
		struct err e = ERR_INIT;
		cr_expect_eq(output_of(rows[i].command, &out, &e) == 0, rows[i].message == NULL, "row %zu: %s", i, e.message);
		if (rows[i].message)
			cr_expect(strstr(e.message, rows[i].message), "%s", e.message);
		else
			cr_expect_str_eq(buf_str(&out), "blue\n");
	}
	struct child_words words = {0};
	struct err e = ERR_INIT;
	pid_t pid = 0;
	int fd = -1;
	child_words_add(&words, "/no/such/program");
	cr_expect_eq(child_start(&words, &pid, &fd, &e), -1);
	cr_expect_eq(e.kind, ERR_NOT_FOUND, "%s", e.message);
	child_words_fini(&words);
	child_words_add(&words, "sleep");
	child_words_add(&words, "1000");
	cr_assert_eq(child_start(&words, &pid, &fd, NULL), 0);
	child_stop(pid);
	close(fd);
	child_words_fini(&words);
}
