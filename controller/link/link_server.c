#include "controller/link/link_server.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "common/web/web_net.h"
#include "common/web/web_pool.h"
#include "common/web/web_tls.h"
#include "controller/kube/token_cache.h"
#include "controller/link/http_api.h"
#include "controller/link/link_server_private.h"
#include "controller/link/store_call.h"
#include "controller/base/metrics.h"

#include <stdlib.h>
#include <string.h>

#define REVIEW_THREADS 4
#define REVIEW_QUEUE_MAX 8192
#define STORE_CALLS_MAX 512 /* each keeps up to twice STORE_CALL_PIECE_BYTES */
/* A hand-shake takes twice the memory of a link: a fleet that comes back at once is let in by so many; the others come again a moment later. */
#define HANDSHAKES_MAX 512
#define HANDSHAKE_TIMEOUT_MS 15000
#define HEADERS_TIMEOUT_S 10
#define IDLE_TIMEOUT_S 30
#define REQUEST_TIMEOUT_S 300
#define PING_AFTER_S 25 /* at the latest */
#define HANG_UP_AFTER_S 35 /* a half-open link is noticed within this time */
#define LOOKS_AT_LEAST 10    /* in the time after which a quiet link is given up */
#define LOOK_MOST_MS 2000
#define LOOKS_PER_HANG_UP 100 /* fewer than the wheel's slots */
#define HEADERS_MAX_BYTES 8192
#define OTHER_DESCRIPTORS 2048 /* of the whole process: the other ports' connections, API server, files, log */

/* Events from other threads --------------------------------------------------------------------------------------- */

void link_server_post(struct link_server *s, struct link_event *ev)
{
	pthread_mutex_lock(&s->lock);
	ev->next = NULL;
	if (s->last_event)
		s->last_event->next = ev;
	else
		s->first_event = ev;
	s->last_event = ev;
	if (!s->deaf)
		lws_cancel_service(s->context);
	pthread_mutex_unlock(&s->lock);
}

static void deliver_events(struct link_server *s)
{
	pthread_mutex_lock(&s->lock);
	struct link_event *ev = s->first_event;
	s->first_event = s->last_event = NULL;
	pthread_mutex_unlock(&s->lock);
	while (ev) {
		struct link_event *next = ev->next;
		ev->deliver(s, ev);
		ev = next;
	}
}

static void wake_from_hub(void *ctx)
{
	struct link_server *s = ctx;
	lws_cancel_service(s->context);
}

static void handle_link_wakeup(struct link_server *s)
{
	deliver_events(s);
	struct link_conn *c;
	while ((c = agent_hub_next_pending(s->hub)))
		link_conn_wake(c);
}

/* TLS ------------------------------------------------------------------------------------------------------------- */

struct certificate_event {
	struct link_event ev;
	char *cert_pem, *key_pem;
};

static void deliver_link_certificate(struct link_server *s, struct link_event *ev)
{
	struct certificate_event *c = (struct certificate_event *)ev;
	struct err e = ERR_INIT;
	if (web_tls_use(s->tls, c->cert_pem, c->key_pem, &e) < 0)
		LOG_ERROR("link", "the new certificate is not used", LOG_S("error", e.message));
	else
		LOG_INFO("link", "new connections get the new certificate");
	free(c->cert_pem);
	OPENSSL_cleanse(c->key_pem, strlen(c->key_pem));
	free(c->key_pem);
	free(c);
}

int link_server_set_certificate(struct link_server *s, const char *cert_pem, const char *key_pem, struct err *e)
{
	/* Tried on a context of its own first, so that the caller learns of a bad pair and the link keeps the old one. */
	if (web_tls_check(cert_pem, key_pem, e) < 0)
		return -1;
	struct certificate_event *c = mem_alloc(sizeof *c);
	c->ev.deliver = deliver_link_certificate;
	c->cert_pem = mem_strdup(cert_pem);
	c->key_pem = mem_strdup(key_pem);
	link_server_post(s, &c->ev);
	return 0;
}

static void set_up_link_tls(struct link_server *s, SSL_CTX *tls)
{
	s->tls = tls;
	web_net_set_up_tls(tls);
	web_tls_use(tls, s->config.cert_pem, s->config.key_pem, &s->tls_error);
}

struct handshake {
	struct lws *wsi;
	UT_hash_handle hh;
};

static const char *why_no_connection(const struct link_server *s)
{
	if (!atomic_load(&s->open))
		return "NotReady";
	if (s->connections >= s->config.max_connections)
		return "TooManyConnections";
	return HASH_COUNT(s->handshakes) >= s->config.max_handshakes ? "TooManyHandshakes" : NULL;
}

/* Before anything is spent on a new connection. Refused ones try again later: agents with a back-off. */
static int admit_link_connection(const struct link_server *s)
{
	const char *why = why_no_connection(s);
	if (why)
		metrics_count(METRIC_LINK_CLOSED, why);
	return why ? -1 : 0;
}

static void on_connection(struct link_server *s, struct lws *wsi)
{
	s->connections++;
	struct handshake *h = mem_alloc(sizeof *h);
	h->wsi = wsi;
	HASH_ADD_PTR(s->handshakes, wsi, h);
}

void link_server_asked(struct lws *wsi)
{
	struct link_server *s = link_server_of(wsi);
	struct handshake *h = NULL;
	HASH_FIND_PTR(s->handshakes, &wsi, h);
	if (!h)
		return;
	HASH_DEL(s->handshakes, h);
	free(h);
}

static void on_disconnection(struct link_server *s, struct lws *wsi)
{
	link_server_asked(wsi);
	if (s->connections)
		s->connections--;
}

/* lws gives events of the whole context to the first protocol of each vhost. */
static int main_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct link_server *s = wsi ? link_server_of(wsi) : NULL;
	switch (reason) {
	case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
		if (!s)
			return 1;
		set_up_link_tls(s, user);
		return s->tls_error.kind == ERR_NONE ? 0 : 1;
	case LWS_CALLBACK_FILTER_NETWORK_CONNECTION:
		return s ? admit_link_connection(s) : -1;
	case LWS_CALLBACK_WSI_CREATE:
		if (s)
			on_connection(s, wsi);
		return 0;
	case LWS_CALLBACK_WSI_DESTROY:
		if (s)
			on_disconnection(s, wsi);
		return 0;
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		web_net_pass_over_h2c(in);
		return 0;
	case LWS_CALLBACK_HTTP:
		link_server_asked(wsi);
		return http_api_callback(wsi, reason, user, in, len);
	case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
		if (s && s->hub)
			handle_link_wakeup(s);
		return 0;
	default:
		return http_api_callback(wsi, reason, user, in, len);
	}
}

/* Life ------------------------------------------------------------------------------------------------------------ */

/* When somebody in the wheel is due, and at least now and then: lws does not set its libev timer anew for what is due before the time that it is set
 * to, so a timeout of lws, or of a link, that is shorter than this pause may come so much too late. */
static void on_look(lws_sorted_usec_list_t *sul)
{
	struct link_server *s = lws_container_of(sul, struct link_server, look);
	link_conn_look_at_quiet(s);
	int64_t most_ms = s->hang_up_after_ms / LOOKS_AT_LEAST, wait_ms = time_wheel_next_ms(&s->looks) - clock_mono_ms();
	if (most_ms > LOOK_MOST_MS)
		most_ms = LOOK_MOST_MS;
	lws_sul_schedule(s->context, 0, sul, on_look, (wait_ms < 1 ? 1 : wait_ms < most_ms ? wait_ms : most_ms) * LWS_US_PER_MS);
}

static void on_stop(struct ev_loop *loop, struct ev_async *w, int events)
{
	(void)w;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

static void *run_link_server(void *arg)
{
	struct link_server *s = arg;
	on_look(&s->look);
	ev_run(s->loop, 0);
	return NULL;
}

static int make_loop(struct link_server *s, struct err *e)
{
	s->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
	if (!s->loop)
		return err_set(e, ERR_INTERNAL, 0, "cannot create the link's event loop");
	ev_async_init(&s->stop, on_stop);
	ev_async_start(s->loop, &s->stop);
	return 0;
}

static int make_link_context(struct link_server *s, struct err *e)
{
	struct lws_context_creation_info info = {
		.port = CONTEXT_PORT_NO_LISTEN,
		.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_LIBEV,
		.foreign_loops = (void *[]){s->loop},
		.user = s,
		.gid = (gid_t)-1,
		.uid = (uid_t)-1,
		.rlimit_nofile = (int)s->config.max_connections + OTHER_DESCRIPTORS,
		.max_http_header_data = HEADERS_MAX_BYTES,
		.timeout_secs = (unsigned)s->config.headers_timeout_s,
		.timeout_secs_ah_idle = (unsigned)s->config.headers_timeout_s,
		.pt_serv_buf_size = 4096,
	};
	web_net_log();
	s->context = lws_create_context(&info);
	return s->context ? 0 : err_set(e, ERR_INTERNAL, 0, "cannot create the link's network context (is libwebsockets' libev plug-in installed?)");
}

static const lws_retry_bo_t no_idle_policy; /* link_conn_look_at_quiet() does it */

static int make_tls_vhost(struct link_server *s, struct err *e)
{
	static struct lws_protocols protocols[3];
	protocols[0] = (struct lws_protocols){.name = "http", .callback = main_callback, .per_session_data_size = http_api_conn_size()};
	protocols[1] = (struct lws_protocols){.name = LINK_SUBPROTOCOL,
					      .callback = link_conn_callback,
					      .per_session_data_size = link_conn_size(),
					      .rx_buffer_size = 256}; /* each link keeps one */
	struct lws_context_creation_info info = {
		.vhost_name = "link",
		.port = s->config.port,
		.iface = s->config.bind_address,
		.protocols = protocols,
		.options = LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | web_net_bind_options(s->config.bind_address),
		.alpn = "http/1.1",
		.keepalive_timeout = s->config.idle_timeout_s,
		.retry_and_idle_policy = &no_idle_policy,
	};
	s->tls_vhost = lws_create_vhost(s->context, &info);
	if (s->tls_vhost)
		return 0;
	if (s->tls_error.kind != ERR_NONE) {
		*e = s->tls_error;
		return -1;
	}
	return err_set(e, ERR_RETRY, 0, "cannot listen on port %d for agents", s->config.port);
}

static int make_health_vhost(struct link_server *s, struct err *e)
{
	static const struct lws_protocols protocols[] = {{.name = "health", .callback = health_http_callback}, {.name = NULL}};
	struct lws_context_creation_info info = {
		.vhost_name = "health",
		.port = s->config.health_port,
		.iface = s->config.bind_address,
		.protocols = protocols,
		.options = web_net_bind_options(s->config.bind_address),
		.keepalive_timeout = s->config.idle_timeout_s,
	};
	s->health_vhost = lws_create_vhost(s->context, &info);
	return s->health_vhost ? 0 : err_set(e, ERR_RETRY, 0, "cannot listen on port %d for health checks", s->config.health_port);
}

static int start_link_server(struct link_server *s, struct err *e)
{
	if (make_loop(s, e) < 0 || make_link_context(s, e) < 0 || make_tls_vhost(s, e) < 0)
		return -1;
	if (s->config.health_port >= 0 && make_health_vhost(s, e) < 0)
		return -1;
	s->pool = review_pool_new(s->config.kube, s->config.review_threads, REVIEW_QUEUE_MAX, e);
	if (s->pool && s->config.reports)
		s->store_pool = web_pool_new(STORE_CALL_THREADS, e);
	if (!s->pool || (s->config.reports && !s->store_pool))
		return -1;
	s->thread_started = thread_start(&s->thread, "link", THREAD_STACK_USUAL, run_link_server, s, e) == 0;
	return s->thread_started ? 0 : -1;
}

static void copy_server_config(struct link_server *s, const struct link_server_config *c)
{
	s->config = *c;
	s->config.bind_address = mem_strdup(c->bind_address);
	s->config.cert_pem = mem_strdup(c->cert_pem);
	s->config.key_pem = mem_strdup(c->key_pem);
	s->config.agent_account = mem_strdup(c->agent_account);
	if (!c->max_connections)
		s->config.max_connections = LINK_SERVER_MAX_CONNECTIONS;
	if (!c->max_handshakes)
		s->config.max_handshakes = HANDSHAKES_MAX;
	if (!c->max_store_calls)
		s->config.max_store_calls = STORE_CALLS_MAX;
	if (!c->review_threads)
		s->config.review_threads = REVIEW_THREADS;
	s->hang_up_after_ms = 1000 * (int64_t)(c->link_timeout_s ? c->link_timeout_s : HANG_UP_AFTER_S);
	s->ping_after_ms = s->hang_up_after_ms * PING_AFTER_S / HANG_UP_AFTER_S;
	time_wheel_init(&s->looks, s->hang_up_after_ms / LOOKS_PER_HANG_UP, clock_mono_ms());
	if (!c->headers_timeout_s)
		s->config.headers_timeout_s = HEADERS_TIMEOUT_S;
	if (!c->idle_timeout_s)
		s->config.idle_timeout_s = IDLE_TIMEOUT_S;
	if (!c->request_timeout_s)
		s->config.request_timeout_s = REQUEST_TIMEOUT_S;
	if (!c->handshake_timeout_ms)
		s->config.handshake_timeout_ms = HANDSHAKE_TIMEOUT_MS;
}

struct link_server *link_server_new(const struct link_server_config *c, struct err *e)
{
	struct link_server *s = mem_alloc(sizeof *s);
	copy_server_config(s, c);
	s->open = !c->starts_closed;
	pthread_mutex_init(&s->lock, NULL);
	s->review = (struct token_review){
		.audience = LINK_TOKEN_AUDIENCE,
		.service_account = s->config.agent_account,
		.cache = token_cache_new(s->config.max_connections),
	};
	struct agent_hub_transport transport = {.ctx = s, .wake = wake_from_hub, .upload = link_upload_request};
	s->hub = agent_hub_new(&c->callbacks, &transport);
	if (start_link_server(s, e) == 0)
		return s;
	link_server_free(s);
	return NULL;
}

static void stop_hearing(struct link_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->deaf = true;
	pthread_mutex_unlock(&s->lock);
}

/* The reviews first: their last answers become events, which are delivered (and freed) while the connections still exist. The store's calls last:
 * what the connections leave open is closed there. */
void link_server_free(struct link_server *s)
{
	if (!s)
		return;
	review_pool_free(s->pool);
	if (s->thread_started) {
		ev_async_send(s->loop, &s->stop);
		pthread_join(s->thread, NULL);
	}
	if (s->context) {
		deliver_events(s);
		lws_sul_cancel(&s->look);
		stop_hearing(s);
		lws_context_destroy(s->context);
		web_pool_free(steal_ptr(&s->store_pool));
		deliver_events(s);
	}
	if (s->loop)
		ev_loop_destroy(s->loop);
	agent_hub_free(s->hub);
	token_cache_free(s->review.cache);
	pthread_mutex_destroy(&s->lock);
	free((char *)s->config.bind_address);
	free((char *)s->config.cert_pem);
	free((char *)s->config.key_pem);
	free((char *)s->config.agent_account);
	free(s);
}

void link_server_open(struct link_server *s)
{
	atomic_store(&s->open, true);
}

struct agent_hub *link_server_hub(struct link_server *s)
{
	return s->hub;
}

int link_server_port(const struct link_server *s)
{
	return lws_get_vhost_listen_port(s->tls_vhost);
}

int link_server_health_port(const struct link_server *s)
{
	return s->health_vhost ? lws_get_vhost_listen_port(s->health_vhost) : -1;
}

char *link_server_bearer(struct lws *wsi)
{
	static const char scheme[] = "Bearer ";
	int len = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_AUTHORIZATION);
	if (len <= (int)sizeof scheme - 1 || len > HEADERS_MAX_BYTES)
		return NULL;
	char *value = mem_alloc((size_t)len + 1);
	if (lws_hdr_copy(wsi, value, len + 1, WSI_TOKEN_HTTP_AUTHORIZATION) > 0 && strncasecmp(value, scheme, sizeof scheme - 1) == 0) {
		memmove(value, value + sizeof scheme - 1, (size_t)len + 1 - (sizeof scheme - 1));
		return value;
	}
	free(value);
	return NULL;
}
