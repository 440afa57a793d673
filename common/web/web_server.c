/* The server's life and its network thread. */
#include "common/base/thread.h"
#include "common/web/web_server.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/web/web_net.h"
#include "common/web/web_private.h"
#include "common/web/web_tls.h"

#include <stdlib.h>
#include <string.h>

#define OTHER_DESCRIPTORS 64

void web_server_count(struct web_server *s, enum web_event event, unsigned status)
{
	if (s->config.count)
		s->config.count(s->config.count_ctx, event, status);
}

/* From other threads ---------------------------------------------------------------------------------------------- */

static void deliver_done(struct web_server *s)
{
	pthread_mutex_lock(&s->lock);
	struct web_exchange *x = s->done_first;
	s->done_first = s->done_last = NULL;
	pthread_mutex_unlock(&s->lock);
	while (x) {
		struct web_exchange *next = x->done_next;
		web_conn_done(x);
		x = next;
	}
}

static void forget_key(char *pem)
{
	if (pem)
		OPENSSL_cleanse(pem, strlen(pem));
	free(pem);
}

static void use_new_certificate(struct web_server *s)
{
	pthread_mutex_lock(&s->lock);
	AUTO_FREE char *cert = steal_ptr(&s->new_cert);
	char *key = steal_ptr(&s->new_key);
	pthread_mutex_unlock(&s->lock);
	struct err e = ERR_INIT;
	if (cert && web_tls_use(s->tls, cert, key, &e) < 0)
		LOG_ERROR("web", "the new certificate is not used", LOG_S("error", e.message));
	else if (cert)
		LOG_INFO("web", "new connections get the new certificate");
	forget_key(key);
}

static void handle_web_wakeup(struct web_server *s)
{
	use_new_certificate(s);
	deliver_done(s);
	web_waker_deliver(s);
}

int web_server_set_certificate(struct web_server *s, const char *cert_pem, const char *key_pem, struct err *e)
{
	if (!s->tls)
		return err_set(e, ERR_INVALID, 0, "this server speaks plain HTTP and has no certificate");
	if (web_tls_check(cert_pem, key_pem, e) < 0)
		return -1;
	pthread_mutex_lock(&s->lock);
	free(s->new_cert);
	forget_key(s->new_key);
	s->new_cert = mem_strdup(cert_pem);
	s->new_key = mem_strdup(key_pem);
	pthread_mutex_unlock(&s->lock);
	lws_cancel_service(s->context);
	return 0;
}

/* Connections ----------------------------------------------------------------------------------------------------- */

static void set_up_web_tls(struct web_server *s, SSL_CTX *tls)
{
	s->tls = tls;
	web_net_set_up_tls(tls);
	web_tls_use(tls, s->config.cert_pem, s->config.key_pem, &s->tls_error);
}

/* Before anything is spent on a new connection. lws makes the connection right after it, in the same thread. */
static int admit_web_connection(struct web_server *s, int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer;
	s->arriving = NULL;
	if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0)
		s->arriving = web_limits_admit(&s->limits, (struct sockaddr *)&peer, clock_mono_ms());
	if (s->arriving && !atomic_load(&s->stopping))
		return 0;
	web_server_count(s, WEB_EVENT_REFUSED_CONNECTION, 0);
	return -1;
}

/* Not when the wsi is made: lws forgets then whose it is. */
static void connected(struct web_server *s, struct lws *wsi)
{
	if (!s->arriving)
		return;
	lws_set_opaque_user_data(wsi, s->arriving);
	lws_set_timer_usecs(wsi, (s->config.headers_timeout_s + 1) * LWS_US_PER_SEC); /* CONNECT is a state that lws keeps for ever */
	web_limits_connected(&s->limits, s->arriving);
	struct web_peer *p = mem_alloc(sizeof *p);
	*p = (struct web_peer){.wsi = wsi, .client = s->arriving};
	HASH_ADD_PTR(s->peers, wsi, p);
	s->arriving = NULL;
}

static void disconnected(struct web_server *s, struct lws *wsi)
{
	struct web_peer *p = NULL;
	HASH_FIND_PTR(s->peers, &wsi, p);
	if (!p)
		return;
	web_limits_disconnected(&s->limits, p->client);
	HASH_DEL(s->peers, p);
	free(p);
}

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct web_server *s = wsi ? web_server_of(wsi) : NULL;
	if (!s)
		return reason == LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS;
	switch (reason) {
	case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
		set_up_web_tls(s, user);
		return s->tls_error.kind == ERR_NONE ? 0 : 1;
	case LWS_CALLBACK_FILTER_NETWORK_CONNECTION:
		return admit_web_connection(s, (int)(intptr_t)in);
	case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
		connected(s, wsi);
		return 0;
	case LWS_CALLBACK_WSI_DESTROY:
		disconnected(s, wsi);
		return 0;
	case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
		handle_web_wakeup(s);
		return 0;
	default:
		return web_conn_callback(wsi, reason, user, in, len);
	}
}

/* Life ------------------------------------------------------------------------------------------------------------ */

static void *run_web_server(void *arg)
{
	struct web_server *s = arg;
	while (!atomic_load(&s->stopping) && lws_service(s->context, 0) >= 0)
		;
	return NULL;
}

static int make_web_context(struct web_server *s, struct err *e)
{
	struct lws_context_creation_info info = {
		.port = CONTEXT_PORT_NO_LISTEN,
		.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
		.user = s,
		.gid = (gid_t)-1,
		.uid = (uid_t)-1,
		.fd_limit_per_thread = (unsigned)s->config.max_connections + OTHER_DESCRIPTORS,
		.max_http_header_data = WEB_HEADERS_MAX_BYTES,
		.timeout_secs = (unsigned)s->config.headers_timeout_s,
		.timeout_secs_ah_idle = (unsigned)s->config.headers_timeout_s,
		.pt_serv_buf_size = 4096,
	};
	web_net_log();
	s->context = lws_create_context(&info);
	return s->context ? 0 : err_set(e, ERR_INTERNAL, 0, "cannot create the web server's network context");
}

static int make_vhost(struct web_server *s, struct err *e)
{
	uint64_t tls = s->config.cert_pem ? LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0;
	s->protocols[0] = (struct lws_protocols){.name = "http", .callback = callback, .per_session_data_size = sizeof(struct web_conn)};
	struct lws_context_creation_info info = {
		.vhost_name = "web",
		.port = s->config.port,
		.iface = s->config.bind_address,
		.protocols = s->protocols,
		.options = tls | web_net_bind_options(s->config.bind_address),
		.alpn = "http/1.1",
		.keepalive_timeout = s->config.idle_timeout_s,
	};
	s->vhost = lws_create_vhost(s->context, &info);
	if (s->vhost)
		return 0;
	if (s->tls_error.kind != ERR_NONE) {
		*e = s->tls_error;
		return -1;
	}
	return err_set(e, ERR_RETRY, 0, "cannot listen on port %d%s%s", s->config.port, s->config.bind_address ? " of " : "",
		       s->config.bind_address ? s->config.bind_address : "");
}

static void set_defaults(struct web_server_config *c)
{
	struct {
		int *value, usual;
	} times[] = {{&c->headers_timeout_s, 10}, {&c->body_timeout_s, 15}, {&c->idle_timeout_s, 30},
		     {&c->answer_timeout_s, 600}, {&c->stall_timeout_s, 30}, {&c->keep_alive_s, 15}};
	struct {
		size_t *value, usual;
	} sizes[] = {{&c->max_connections, 512}, {&c->max_connections_per_client, 128}, {&c->max_body_bytes, 256 * 1024},
		     {&c->max_event_streams, 256}, {&c->workers, 8}, {&c->max_queued, 256}};
	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		if (!*times[i].value)
			*times[i].value = times[i].usual;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (!*sizes[i].value)
			*sizes[i].value = sizes[i].usual;
	if (c->requests_per_second == 0)
		c->requests_per_second = 50;
	if (c->request_burst == 0)
		c->request_burst = 200;
}

struct web_server *web_server_new(const struct web_server_config *c)
{
	struct web_server *s = mem_alloc(sizeof *s);
	s->config = *c;
	s->config.bind_address = mem_strdup(c->bind_address);
	s->config.cert_pem = mem_strdup(c->cert_pem);
	s->config.key_pem = mem_strdup(c->key_pem);
	set_defaults(&s->config);
	pthread_mutex_init(&s->lock, NULL);
	web_limits_init(&s->limits, s->config.max_connections, s->config.max_connections_per_client, s->config.requests_per_second,
			s->config.request_burst);
	return s;
}

void web_server_route(struct web_server *s, const struct web_route *route)
{
	GROW(s->routes, s->route_count, s->route_cap);
	s->routes[s->route_count] = *route;
	s->routes[s->route_count++].pattern = mem_strdup(route->pattern);
}

int web_server_start(struct web_server *s, struct err *e)
{
	if (make_web_context(s, e) < 0 || make_vhost(s, e) < 0)
		return -1;
	s->pool = web_pool_new(s->config.workers, e);
	if (!s->pool)
		return -1;
	s->thread_started = thread_start(&s->thread, "web", THREAD_STACK_USUAL, run_web_server, s, e) == 0;
	return s->thread_started ? 0 : -1;
}

int web_server_port(const struct web_server *s)
{
	return lws_get_vhost_listen_port(s->vhost);
}

/* The network thread first: nobody then gives work to the pool, whose last tasks are delivered here. */
void web_server_free(struct web_server *s)
{
	if (!s)
		return;
	atomic_store(&s->stopping, true);
	if (s->thread_started) {
		lws_cancel_service(s->context);
		pthread_join(s->thread, NULL);
	}
	web_pool_free(steal_ptr(&s->pool));
	if (s->context)
		lws_context_destroy(s->context); /* its connections drop their exchanges */
	deliver_done(s);
	web_exchange_end_all(s);
	web_waker_deliver(s);
	free(s->new_cert);
	forget_key(s->new_key);
	struct web_peer *p, *next;
	HASH_ITER(hh, s->peers, p, next) {
		HASH_DEL(s->peers, p);
		free(p);
	}
	web_limits_fini(&s->limits);
	for (size_t i = 0; i < s->route_count; i++)
		free((char *)s->routes[i].pattern);
	free(s->routes);
	pthread_mutex_destroy(&s->lock);
	free((char *)s->config.bind_address);
	free((char *)s->config.cert_pem);
	forget_key((char *)s->config.key_pem);
	free(s);
}
