/* The controller's program: options, then its parts put together, then a loop until SIGTERM. Threads: this one (clock, signals),
 * the links' (link_server.h), reviews, the watch, the workers, the election, events, and the certificates'. */
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/crypto.h"
#include "common/base/daemon.h"
#include "common/base/fsio.h"
#include "common/base/http.h"
#include "common/base/mem.h"
#include "common/base/options.h"
#include "common/web/web_pool.h"
#include "controller/daemon/controller_links.h"
#include "controller/triggers/alert_webhook.h"
#include "controller/daemon/controller.h"
#include "controller/daemon/controller_options.h"
#include "controller/link/link_certs.h"
#include "controller/link/link_server.h"
#include "controller/store/object_store.h"
#include "controller/store/report_store.h"
#include "controller/rest/rest_server.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORES_MAX_BYTES (256 * 1024)
#define EXPIRE_EVERY_MS 60000
#define NAME_COUNT 4
#define CERTS_RETRY_MS 500
#define CERTS_RETRY_MOST_MS 4000

struct program {
	const struct controller_settings *settings;
	struct kube_config kube;
	const char *namespace;
	char *names[NAME_COUNT]; /* of the Service, the one that agents verify first */
	char *upload_url, *agent_account;
	struct report_store *reports;
	struct object_stores *stores;
	struct controller *controller;
	struct link_certs *certs, *api_certs; /* the latter: NULL where the API has the link's, or none */
	struct session_index *index;
	struct process_queries *processes;
	struct rest_server *rest;
	struct alert_webhook *alerts;
	struct link_server *server;
	struct web_pool *expiry; /* the thread that removes old reports: a disk that hangs is not waited for */
	atomic_bool expiring;
	int signal_fd;
};

/* stores ------------------------------------------------------------------------------------------------------------ */

static int open_reports(struct program *p, struct err *e)
{
	const struct controller_settings *s = p->settings;
	struct report_store_options o = {
		.folder = s->reports,
		.quota_bytes = s->reports_quota_mib * 1024 * 1024,
		.expiry_seconds = s->reports_expiry_days * 24 * 3600,
		.upload_base = p->upload_url,
		.public_base = s->public_url,
	};
	if (!s->reports)
		return 0;
	p->reports = report_store_new(&o, e);
	p->expiry = p->reports ? web_pool_new(1, e) : NULL;
	return p->expiry ? 0 : -1;
}

static int open_stores(struct program *p, struct err *e)
{
	const char *path = p->settings->stores;
	if (!path) {
		p->stores = p->reports ? object_stores_builtin(p->reports) : NULL;
		return 0;
	}
	AUTO_BUF struct buf text;
	if (fsio_read(AT_FDCWD, path, STORES_MAX_BYTES, &text, e) < 0)
		return -1;
	p->stores = object_stores_parse(text.data, text.len, p->reports, e);
	if (p->stores)
		return 0;
	struct err why = *e;
	return err_set(e, why.kind, 0, "%s: %s", path, why.message);
}

static char *report_url(void *ctx, const struct profiling_session *s, const struct session_pod *pod, const struct link_report *r)
{
	struct program *p = ctx;
	char prefix[512];
	AUTO_BUF struct buf url;
	buf_init(&url, 4096);
	if (!p->stores || !s->spec_valid || session_report_prefix(s->namespace, s->name, s->uid, pod->pod_name, prefix, sizeof prefix, NULL) < 0 ||
	    object_store_public_url(p->stores, s->spec.store, prefix, r->name, &url, NULL) < 0)
		return NULL;
	return buf_steal(&url);
}

/* the link ---------------------------------------------------------------------------------------------------------- */

static int open_certs(struct program *p, struct err *e)
{
	const struct controller_settings *s = p->settings;
	struct link_certs_config c = {
		.cert_file = s->tls_cert,
		.key_file = s->tls_key,
		.kube = &p->kube,
		.namespace = p->namespace,
		.secret = s->tls_secret,
		.config_map = s->tls_config_map,
		.stage_ms = s->tls_stage_seconds * 1000,
		.names = (const char *const *)p->names,
		.name_count = NAME_COUNT,
	};
	p->certs = link_certs_new(&c, e);
	return p->certs ? 0 : -1;
}

/* An API server that is away while we start is waited for: a crash would make us come back later than it. */
static int wait_for_certs(struct program *p, struct err *e)
{
	for (int64_t pause_ms = CERTS_RETRY_MS;; pause_ms = pause_ms < CERTS_RETRY_MOST_MS ? 2 * pause_ms : pause_ms) {
		struct err why = ERR_INIT;
		if (open_certs(p, &why) == 0)
			return 0;
		struct pollfd fd = {.fd = p->signal_fd, .events = POLLIN};
		bool passes = why.kind == ERR_RETRY || why.kind == ERR_TIMEOUT;
		if (passes)
			LOG_WARN("controller", "the API server does not answer; will try again", LOG_S("error", why.message));
		if (passes && poll(&fd, 1, (int)pause_ms) == 0)
			continue;
		*e = why;
		return passes ? err_set(e, ERR_CANCELED, 0, "asked to stop while the API server was away") : -1;
	}
}

static bool program_is_ready(void *ctx, struct buf *why)
{
	const struct program *p = ctx;
	return controller_ready(p->controller, why);
}

static void measure_controller(void *ctx)
{
	const struct program *p = ctx;
	controller_measure(p->controller);
}

static int open_link_server(struct program *p, struct err *e)
{
	const struct controller_settings *s = p->settings;
	const struct link_pair *pair = link_certs_pair(p->certs);
	struct link_server_config c = {
		.bind_address = s->bind,
		.port = (int)s->port,
		.health_port = (int)s->health_port,
		.cert_pem = pair->cert,
		.key_pem = pair->key,
		.kube = &p->kube,
		.agent_account = p->agent_account,
		.starts_closed = true,
		.stores = p->stores,
		.reports = p->reports,
		.ready = program_is_ready,
		.measure = measure_controller,
		.ready_ctx = p,
	};
	controller_hub_callbacks(p->controller, &c.callbacks);
	p->server = link_server_new(&c, e);
	if (!p->server)
		return -1;
	LOG_INFO("controller", "listening", LOG_I("port", link_server_port(p->server)), LOG_I("healthPort", link_server_health_port(p->server)));
	return 0;
}

/* the API ----------------------------------------------------------------------------------------------------------- */

static int open_api_certs(struct program *p, struct err *e)
{
	const struct controller_settings *s = p->settings;
	struct link_certs_config c = {.cert_file = s->api_tls_cert, .key_file = s->api_tls_key};
	if (!s->api_tls_cert)
		return 0;
	p->api_certs = link_certs_new(&c, e);
	return p->api_certs ? 0 : -1;
}

static bool triggers_known(void *ctx)
{
	return triggers_synced(controller_triggers(((struct program *)ctx)->controller));
}

static int open_rest(struct program *p, struct err *e)
{
	const struct controller_settings *s = p->settings;
	if (!s->api_port || (!s->rest_api && !s->alertmanager_token_file))
		return 0;
	if (open_api_certs(p, e) < 0)
		return -1;
	const struct link_pair *pair = link_certs_pair(p->api_certs ? p->api_certs : p->certs);
	struct rest_server_config c = {
		.bind_address = s->bind,
		.port = (int)s->api_port,
		.cert_pem = s->api_plain_http ? NULL : pair->cert,
		.key_pem = s->api_plain_http ? NULL : pair->key,
		.behind_gateway = s->api_plain_http || s->api_behind_gateway,
		.rest_api = s->rest_api,
		.web_ui = s->web_ui,
		.cluster = {&p->kube, p->index, p->processes, link_server_hub(p->server), p->stores, program_is_ready, p,
			    !s->watch_namespaces || !s->watch_namespaces[0]},
	};
	p->rest = rest_server_new(&c);
	p->alerts = alert_webhook_of(controller_triggers(p->controller), s->alertmanager_token_file, triggers_known, p);
	alert_webhook_route(p->alerts, rest_server_web(p->rest));
	if (rest_server_start(p->rest, e) < 0)
		return -1;
	LOG_INFO("controller", "serving the REST API", LOG_I("port", s->api_port), LOG_S("tls", s->api_plain_http ? "no" : "yes"),
		 LOG_S("webPage", s->web_ui ? "yes" : "no"), LOG_S("alertmanager", s->alertmanager_token_file ? "yes" : "no"));
	return 0;
}

static void show_session(void *ctx, const char *namespace, const char *name)
{
	rest_server_session_changed(((struct program *)ctx)->rest, namespace, name);
}

static void serve_api_certificate(void *ctx, const char *cert_pem, const char *key_pem)
{
	struct program *p = ctx;
	struct err e = ERR_INIT;
	if (rest_server_set_certificate(p->rest, cert_pem, key_pem, &e) == 0)
		LOG_INFO("certs", "a new certificate is served by the REST API");
	else
		LOG_WARN("certs", "the REST API's new certificate is not usable; the old one is served", LOG_S("error", e.message));
}

static void serve_certificate(void *ctx, const char *cert_pem, const char *key_pem)
{
	struct program *p = ctx;
	struct err e = ERR_INIT;
	if (link_server_set_certificate(p->server, cert_pem, key_pem, &e) == 0)
		LOG_INFO("certs", "a new certificate is served");
	else
		LOG_WARN("certs", "the new certificate is not usable; the old one is served", LOG_S("error", e.message));
	if (p->rest && !p->api_certs && !p->settings->api_plain_http)
		serve_api_certificate(p, cert_pem, key_pem);
}

static int watch_certs(struct program *p, struct err *e)
{
	if (link_certs_watch(p->certs, serve_certificate, p, e) < 0)
		return -1;
	return p->api_certs ? link_certs_watch(p->api_certs, serve_api_certificate, p, e) : 0;
}

/* life -------------------------------------------------------------------------------------------------------------- */

static void name_service(struct program *p)
{
	const struct controller_settings *s = p->settings;
	p->namespace = s->namespace ? s->namespace : p->kube.namespace;
	p->names[0] = mem_printf("%s.%s.svc", s->service, p->namespace);
	p->names[1] = mem_printf("%s.%s.svc.cluster.local", s->service, p->namespace);
	p->names[2] = mem_printf("%s.%s", s->service, p->namespace);
	p->names[3] = mem_strdup(s->service);
	p->upload_url = s->upload_url ? mem_strdup(s->upload_url) : mem_printf("https://%s:%lld", p->names[0], (long long)s->port);
	p->agent_account = mem_printf("%s:%s", p->namespace, s->agent_account);
}

static int open_controller(struct program *p, struct err *e)
{
	const struct controller_settings *s = p->settings;
	struct controller_options o = {
		.kube = &p->kube,
		.namespaces = s->watch_namespaces,
		.lease_namespace = p->namespace,
		.lease_name = s->lease_name,
		.worker_count = (int)s->workers,
		.max_pods = s->max_pods,
		.max_pods_per_node = s->max_pods_per_node,
		.no_starts = !s->container_starts,
		.report_url = report_url,
		.report_url_ctx = p,
		.stores = p->stores,
		.on_session = show_session,
		.on_session_ctx = p,
	};
	p->index = o.index = session_index_new();
	p->processes = o.processes = process_queries_new();
	p->controller = controller_new(&o, e);
	return p->controller ? 0 : -1;
}

static int start_program(struct program *p, struct err *e)
{
	const struct controller_settings *s = p->settings;
	if (kube_config_load(s->kubeconfig, s->context, &p->kube, e) < 0)
		return -1;
	name_service(p);
	LOG_INFO("controller", "starting", LOG_S("version", DRDOTNET_VERSION), LOG_S("server", p->kube.server), LOG_S("namespace", p->namespace));
	if (open_reports(p, e) < 0 || open_stores(p, e) < 0 || open_controller(p, e) < 0 || wait_for_certs(p, e) < 0 || open_link_server(p, e) < 0)
		return -1;
	if (open_rest(p, e) < 0 || watch_certs(p, e) < 0)
		return -1;
	if (controller_start(p->controller, link_server_hub(p->server), p->signal_fd, e) < 0)
		return -1;
	/* A fleet that comes back at once would slow down the lists without which nothing can be done for it. */
	link_server_open(p->server);
	return 0;
}

static void expire_reports(void *arg)
{
	struct program *p = arg;
	report_store_expire(p->reports, clock_wall_ms());
	atomic_store(&p->expiring, false);
}

static void serve_until_signal(struct program *p)
{
	struct pollfd fd = {.fd = p->signal_fd, .events = POLLIN};
	int64_t expired_ms = clock_mono_ms();
	for (int64_t pause_ms = 0; poll(&fd, 1, (int)pause_ms) <= 0;) {
		pause_ms = controller_tick(p->controller);
		if (p->reports && clock_mono_ms() - expired_ms >= EXPIRE_EVERY_MS) {
			if (!atomic_exchange(&p->expiring, true))
				web_pool_submit(p->expiry, expire_reports, p, 0);
			expired_ms = clock_mono_ms();
		}
	}
	LOG_INFO("controller", "stopping: what runs on the nodes goes on");
}

/* First nothing gives orders, then nothing touches the server, then what both used goes. */
static void stop_program(struct program *p)
{
	if (p->controller)
		controller_stop(p->controller);
	link_certs_free(p->certs);
	link_certs_free(p->api_certs);
	rest_server_free(p->rest);
	alert_webhook_free(p->alerts);
	link_server_free(p->server);
	controller_free(p->controller);
	process_queries_free(p->processes);
	session_index_free(p->index);
	object_stores_free(p->stores);
	web_pool_free(p->expiry);
	report_store_free(p->reports);
	for (int i = 0; i < NAME_COUNT; i++)
		free(p->names[i]);
	free(p->upload_url);
	free(p->agent_account);
	kube_config_fini(&p->kube);
}

static int run_program(const struct controller_settings *settings)
{
	daemon_block_signals();
	struct program p = {.settings = settings};
	struct err e = ERR_INIT;
	AUTO_FD int signal_fd = daemon_signal_fd(&e);
	p.signal_fd = signal_fd;
	int rc = signal_fd < 0 ? -1 : http_global_init(&e);
	if (rc == 0)
		rc = start_program(&p, &e);
	if (rc == 0)
		serve_until_signal(&p);
	stop_program(&p);
	if (rc == 0 || e.kind == ERR_CANCELED)
		return 0;
	LOG_ERROR("controller", "cannot run", LOG_S("error", e.message));
	return e.kind == ERR_INVALID ? 2 : 1;
}

static const char *read_environment(const char *name)
{
	return getenv(name);
}

int main(int argc, char *argv[])
{
	daemon_keep_memory_small();
	crypto_stay();
	struct controller_settings s;
	struct err e = ERR_INIT;
	if (controller_options_parse(argc, argv, read_environment, &s, &e) < 0) {
		options_print_error("drdotnet-controller", NULL, &e, stderr);
		return 2;
	}
	switch (s.command) {
	case CONTROLLER_HELP:
		controller_options_usage(stdout);
		return 0;
	case CONTROLLER_VERSION:
		puts("drdotnet-controller " DRDOTNET_VERSION);
		return 0;
	case CONTROLLER_RUN:
		break;
	}
	log_configure(s.log_level, s.log_format);
	return run_program(&s);
}
