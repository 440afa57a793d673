#include "controller/kubectl/plugin_rest.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/http_url.h"
#include "common/base/mem.h"
#include "controller/kubectl/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#define API_PORT ":8444"
#define SERVICE "drdotnet-controller"
#define DEPLOYMENT "deployment/drdotnet-controller"
#define CA_CONFIG_MAP "drdotnet-link-ca"
#define FORWARD_MS 20000
#define CALL_MS 60000
#define STALL_MS 60000
#define TOKEN_MAX_BYTES 16384
#define JSON_MAX_BYTES (8 * 1024 * 1024)
#define PLUGIN_ROLE "have the Role drdotnet-plugin of namespace %s bound to you, or give --server URL (an Ingress)"
#define HOW_ELSE "; give --server URL (an Ingress), or --help for more"

int plugin_rest_forwarded_port(const char *line)
{
	static const char lead[] = "Forwarding from 127.0.0.1:";
	const char *at = strstr(line, lead);
	char *end;
	long port = at ? strtol(at + sizeof lead - 1, &end, 10) : 0;
	return port > 0 && port < 65536 && strncmp(end, " -> ", 4) == 0 ? (int)port : 0;
}

int plugin_rest_check_server(const char *url, struct err *e)
{
	static const char *const near[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};
	if (strncmp(url, "https://", 8) == 0 && url[8] && url[8] != '/')
		return 0;
	for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
		size_t len = strlen(near[i]);
		if (strncmp(url, near[i], len) == 0 && (!url[len] || url[len] == ':' || url[len] == '/'))
			return 0;
	}
	return err_set(e, ERR_INVALID, 0, "--server: \"%.100s\": expected an https URL (http only to 127.0.0.1): a token goes there", url);
}

static int find_token(const struct plugin_args *a, const struct plugin_connection *c, char **out, struct err *e)
{
	const char *path = a->token_file ? a->token_file : c->config.token ? NULL : c->config.token_file;
	if (path) {
		AUTO_BUF struct buf text = {0};
		if (fsio_read(AT_FDCWD, path, TOKEN_MAX_BYTES, &text, e) < 0)
			return -1;
		*out = mem_strndup(buf_str(&text), strcspn(buf_str(&text), " \r\n"));
		return 0;
	}
	if (!c->config.token)
		return err_set(e, ERR_INVALID, 0, "the kubeconfig's user has no token, which the controller needs to know who asks: give --token-file, "
						  "such as <(kubectl create token NAME)");
	*out = mem_strdup(c->config.token);
	return 0;
}

/* Reads kubectl's first lines until it says its port. */
static int read_port(int fd, struct err *e)
{
	AUTO_BUF struct buf said;
	buf_init(&said, 4096);
	int64_t until_ms = clock_mono_ms() + FORWARD_MS;
	for (int port = 0;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		char piece[256];
		int64_t left = until_ms - clock_mono_ms();
		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return err_set(e, ERR_TIMEOUT, 0, "kubectl port-forward did not begin within %d s" HOW_ELSE, FORWARD_MS / 1000);
		ssize_t n = read(fd, piece, sizeof piece);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || buf_append(&said, piece, (size_t)n) < 0)
			return err_set(e, ERR_RETRY, 0, "kubectl port-forward to %s failed: what it says stands above" HOW_ELSE, SERVICE);
		if (strchr(buf_str(&said), '\n') && (port = plugin_rest_forwarded_port(buf_str(&said))))
			return port;
	}
}

static int start_forward(const struct plugin_args *a, struct plugin_rest *r, struct err *e)
{
	struct child_words words = {0};
	static const char *const fixed[] = {DEPLOYMENT, API_PORT, "--address", "127.0.0.1", "--namespace"};
	child_words_add(&words, "kubectl");
	child_words_add(&words, "port-forward");
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		child_words_add(&words, fixed[i]);
	child_words_add(&words, a->system_namespace);
	if (a->kubeconfig) {
		child_words_add(&words, "--kubeconfig");
		child_words_add(&words, a->kubeconfig);
	}
	if (a->context) {
		child_words_add(&words, "--context");
		child_words_add(&words, a->context);
	}
	int rc = child_start(&words, &r->forward, &r->forward_fd, e);
	child_words_fini(&words);
	int port = rc == 0 ? read_port(r->forward_fd, e) : -1;
	if (port < 0)
		return -1;
	r->base = mem_printf("https://127.0.0.1:%d", port);
	return 0;
}

/* The authority that the controller made: it stands in the cluster, and who forged it there owns the installation anyway. */
static int open_forwarded(const struct plugin_args *a, struct plugin_connection *c, struct plugin_rest *r, struct err *e)
{
	struct kube_ref ref = {.api = KUBE_CORE, .plural = "configmaps", .namespace = a->system_namespace, .name = CA_CONFIG_MAP};
	AUTO_JSON json_t *map = NULL;
	if (kube_get(c->client, &ref, &map, e) < 0) {
		struct err why = *e;
		if (why.kind == ERR_DENIED)
			return err_set(e, why.kind, why.code, "%.250s; " PLUGIN_ROLE, why.message, a->system_namespace);
		return err_set(e, why.kind, why.code, "%.300s" HOW_ELSE, why.message);
	}
	const char *pem = json_string_value(json_object_get(jsonx_at(map, "data"), "ca.crt"));
	if (!pem)
		return err_set(e, ERR_NOT_FOUND, 0, "ConfigMap %s/" CA_CONFIG_MAP " has no ca.crt yet: is the controller running? (kubectl drdotnet doctor)",
			       a->system_namespace);
	AUTO_FREE char *name = mem_printf(SERVICE ".%s.svc", a->system_namespace);
	struct http_tls tls = {.ca_pem = pem, .server_name = name};
	r->http = http_client_new(&tls, e);
	return r->http ? start_forward(a, r, e) : -1;
}

static int open_given_server(const struct plugin_args *a, const char *server, struct plugin_rest *r, struct err *e)
{
	struct http_tls tls = {.ca_file = a->server_ca};
	if (plugin_rest_check_server(server, e) < 0)
		return -1;
	size_t len = strlen(server);
	while (len && server[len - 1] == '/')
		len--;
	r->base = mem_strndup(server, len);
	r->http = http_client_new(&tls, e);
	return r->http ? 0 : -1;
}

int plugin_rest_open(const struct plugin_args *a, struct plugin_connection *c, struct plugin_rest *out, struct err *e)
{
	const char *variable = getenv("DRDOTNET_SERVER");
	const char *server = a->server ? a->server : variable && variable[0] ? variable : NULL;
	*out = (struct plugin_rest){.forward_fd = -1};
	int rc = find_token(a, c, &out->token, e);
	if (rc == 0)
		rc = server ? open_given_server(a, server, out, e) : open_forwarded(a, c, out, e);
	if (rc < 0)
		plugin_rest_close(out);
	return rc;
}

void plugin_rest_close(struct plugin_rest *r)
{
	http_client_free(r->http);
	child_stop(r->forward);
	if (r->forward_fd >= 0)
		close(r->forward_fd);
	free(r->base);
	free(r->token);
	*r = (struct plugin_rest){.forward_fd = -1};
}

static int problem(int status, const struct buf *body, struct err *e)
{
	AUTO_JSON json_t *doc = jsonx_parse(buf_str(body), body->len, "problem", NULL);
	const char *detail = jsonx_str_at(doc, "detail", jsonx_str_at(doc, "title", NULL));
	if (detail)
		return err_set(e, http_status_kind(status), status, "%.400s", detail);
	return err_set(e, http_status_kind(status), status, "the controller's REST API answered %d", status);
}

static int get_rest_path(struct plugin_rest *r, const char *const *segments, const char *const *query, struct http_request *q, struct http_response *answer,
			 struct err *e)
{
	AUTO_BUF struct buf url;
	buf_init(&url, 16384);
	http_url_begin(&url, r->base);
	http_url_segment(&url, "api");
	for (; *segments; segments++)
		http_url_segment(&url, *segments);
	for (; query && *query; query += 2)
		http_url_query(&url, query[0], query[1]);
	q->method = "GET";
	q->url = buf_str(&url);
	q->bearer_token = r->token;
	q->cancel_fd = -1;
	if (http_perform(r->http, q, answer, e) < 0) {
		http_response_fini(answer);
		return err_prefix(e, "the controller's REST API at %.100s", r->base);
	}
	if (answer->status >= 200 && answer->status < 300)
		return 0;
	problem(answer->status, &answer->body, e);
	http_response_fini(answer);
	return -1;
}

int plugin_rest_json(struct plugin_rest *r, const char *const *segments, const char *const *query, json_t **out, struct err *e)
{
	struct http_request q = {.timeout_ms = CALL_MS, .max_response_bytes = JSON_MAX_BYTES};
	struct http_response answer;
	if (get_rest_path(r, segments, query, &q, &answer, e) < 0)
		return -1;
	*out = jsonx_parse(buf_str(&answer.body), answer.body.len, "the REST API's answer", e);
	http_response_fini(&answer);
	return *out ? 0 : -1;
}

int plugin_rest_bytes(struct plugin_rest *r, const char *const *segments, http_body_fn *on_body, void *ctx, struct err *e)
{
	struct http_request q = {.stall_timeout_ms = STALL_MS, .on_body = on_body, .on_body_ctx = ctx};
	struct http_response answer;
	if (get_rest_path(r, segments, NULL, &q, &answer, e) < 0)
		return -1;
	http_response_fini(&answer);
	return 0;
}
