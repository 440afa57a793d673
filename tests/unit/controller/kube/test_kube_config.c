#include "controller/kube/kube_config.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLUSTER "clusters: [{name: k, cluster: {server: 'https://10.0.0.1:6443///', certificate-authority: ca.crt}}]\n"
#define CONTEXT "contexts: [{name: c, context: {cluster: k, user: u, namespace: shop}}]\ncurrent-context: c\n"
#define USER(text) "users: [{name: u, user: {" text "}}]\n"

static int parse(const char *text, const char *context, struct kube_config *out, struct err *e)
{
	return kube_config_parse(text, strlen(text), "kubeconfig", "/etc/kube", context, out, e);
}

Test(kube_config, each_way_to_say_who_one_is)
{
	static const struct {
		const char *user;
		const char *token, *token_file, *cert_file, *cert_pem, *key_pem;
	} rows[] = {
		{USER("token: abc"), "abc", NULL, NULL, NULL, NULL},
		{USER("tokenFile: /run/token"), NULL, "/run/token", NULL, NULL, NULL},
		{USER("tokenFile: token"), NULL, "/etc/kube/token", NULL, NULL, NULL},
		{USER("client-certificate: a.crt, client-key: /b.key"), NULL, NULL, "/etc/kube/a.crt", NULL, NULL},
		{USER("client-certificate: a.crt, client-certificate-data: aGVsbG8=, client-key-data: d29ybGQ="), NULL, NULL, NULL, "hello", "world"},
		{USER(""), NULL, NULL, NULL, NULL, NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char text[1024];
		snprintf(text, sizeof text, "%s%s%s", CLUSTER, rows[i].user, CONTEXT);
		struct kube_config c;
		struct err e = ERR_INIT;
		cr_assert_eq(parse(text, NULL, &c, &e), 0, "%s: %s", rows[i].user, e.message);
		cr_expect_str_eq(c.server, "https://10.0.0.1:6443");
		cr_expect_str_eq(c.namespace, "shop");
		cr_expect_str_eq(c.ca_file, "/etc/kube/ca.crt");
		const char *got[] = {c.token, c.token_file, c.client_cert_file, c.client_cert_pem, c.client_key_pem};
		const char *wanted[] = {rows[i].token, rows[i].token_file, rows[i].cert_file, rows[i].cert_pem, rows[i].key_pem};
		for (size_t k = 0; k < 5; k++)
			cr_expect((!got[k] && !wanted[k]) || (got[k] && wanted[k] && strcmp(got[k], wanted[k]) == 0), "row %zu field %zu: %s", i, k, got[k]);
		struct http_tls tls;
		kube_config_tls(&c, &tls);
		cr_expect_eq(tls.ca_file, c.ca_file);
		kube_config_fini(&c);
	}
}

Test(kube_config, the_context_chooses)
{
	static const char text[] = "clusters: [{name: a, cluster: {server: 'http://a'}}, {name: b, cluster: {server: 'https://b', tls-server-name: x, "
				   "insecure-skip-tls-verify: true}}]\ncontexts: [{name: one, context: {cluster: a}}, {name: two, context: {cluster: b}}]\n"
				   "current-context: one\n";
	struct kube_config c;
	struct err e = ERR_INIT;
	cr_assert_eq(parse(text, NULL, &c, &e), 0, "%s", e.message);
	cr_expect_str_eq(c.server, "http://a");
	cr_expect_str_eq(c.namespace, "default");
	kube_config_fini(&c);
	cr_assert_eq(parse(text, "two", &c, &e), 0, "%s", e.message);
	cr_expect_str_eq(c.server, "https://b");
	cr_expect_str_eq(c.tls_server_name, "x");
	cr_expect(c.insecure_skip_verify);
	kube_config_fini(&c);
}

Test(kube_config, what_is_wrong_is_named)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{CLUSTER USER("exec: {command: x}") CONTEXT, "kubeconfig: users.user.exec: not supported; use a client certificate, token or tokenFile"},
		{CLUSTER USER("auth-provider: {name: x}") CONTEXT,
		 "kubeconfig: users.user.auth-provider: not supported; use a client certificate, token or tokenFile"},
		{CLUSTER USER("username: x, password: y") CONTEXT,
		 "kubeconfig: users.user.username: not supported; use a client certificate, token or tokenFile"},
		{CLUSTER USER("client-key-data: '*'") CONTEXT, "kubeconfig: client-key-data: not base64 of at most 262144 bytes"},
		{CLUSTER USER("token: [a]") CONTEXT, "kubeconfig: users.user.token: expected a string, found a list"},
		{CLUSTER "users: []\n" CONTEXT, "kubeconfig: users: none is named u"},
		{"clusters: []\n" USER("") CONTEXT, "kubeconfig: clusters: none is named k"},
		{"contexts: []\ncurrent-context: c", "kubeconfig: contexts: none is named c"},
		{"current-context: c", "kubeconfig: contexts: required"},
		{"{}", "kubeconfig: current-context: required"},
		{"clusters: [{name: k, cluster: {server: 'ftp://x'}}]\n" USER("") CONTEXT,
		 "kubeconfig: clusters.cluster.server: expected an http or https URL"},
		{"clusters: [{name: k, cluster: {}}]\n" USER("") CONTEXT, "kubeconfig: clusters.cluster.server: required"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct kube_config c = {0};
		struct err e = ERR_INIT;
		cr_expect_eq(parse(rows[i].text, NULL, &c, &e), -1, "%s", rows[i].text);
		cr_expect_eq(e.kind, ERR_INVALID, "%s", rows[i].message);
		cr_expect_str_eq(e.message, rows[i].message, "found: %s", e.message);
		cr_expect_null(c.server);
	}
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
}

static void remove_file(const char *folder, const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	unlink(path);
}

Test(kube_config, in_a_pod_and_from_a_file)
{
	char folder[] = "/tmp/drdotnet-unit-XXXXXX", path[512];
	cr_assert_not_null(mkdtemp(folder));
	write_file(folder, "namespace", "drdotnet-system\n");
	struct kube_config c;
	struct err e = ERR_INIT;
	cr_assert_eq(kube_config_in_cluster(folder, "fd00::1", "443", &c, &e), 0, "%s", e.message);
	cr_expect_str_eq(c.server, "https://[fd00::1]:443");
	cr_expect_str_eq(c.namespace, "drdotnet-system");
	cr_expect(strstr(c.token_file, "/token"));
	kube_config_fini(&c);
	cr_expect_eq(kube_config_in_cluster(folder, NULL, NULL, &c, &e), -1);
	cr_expect(strstr(e.message, "--kubeconfig"), "%s", e.message);
	write_file(folder, "config", CLUSTER USER("tokenFile: token") CONTEXT);
	snprintf(path, sizeof path, "%s/config", folder);
	e = (struct err)ERR_INIT;
	cr_assert_eq(kube_config_from_file(path, NULL, &c, &e), 0, "%s", e.message);
	cr_expect_eq(strncmp(c.token_file, folder, strlen(folder)), 0, "beside the file: %s", c.token_file);
	kube_config_fini(&c);
	remove_file(folder, "namespace");
	cr_expect_eq(kube_config_in_cluster(folder, "10.0.0.1", "443", &c, &e), -1, "no ServiceAccount is mounted");
	remove_file(folder, "config");
	rmdir(folder);
}
