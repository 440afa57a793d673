#include "agent/link/link_client.h"

#include "agent/link/link_client_private.h"
#include "agent/link/link_policy.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/base/thread.h"

#include <ctype.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_TIMEOUT_S 10
#define GOOD_AFTER_MS 30000 /* a link that lasted so long starts its back-off anew */
#define PING_AFTER_S 25
#define HANG_UP_AFTER_S 35 /* the pings keep this proportion to a configured time */

static int on_lws(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len);

/* Connecting ------------------------------------------------------------------------------------------------------ */

/* What stands against a link, for those who ask for it. */
static void note_failure(struct link_client *c, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	pthread_mutex_lock(&c->lock);
	vsnprintf(c->why, sizeof c->why, fmt, args);
	pthread_mutex_unlock(&c->lock);
	va_end(args);
}

/* A file that a try needs: said once, not at each of its tries. */
static void note_lack(struct link_client *c, const char *kind, const char *file, const char *wrong)
{
	char why[LINK_CLIENT_WHY_SIZE];
	snprintf(why, sizeof why, "the %s file %.200s is missing or %s", kind, file, wrong);
	if (strcmp(why, c->lack) != 0)
		LOG_WARN("link", "cannot link to a controller", LOG_S("error", why));
	snprintf(c->lack, sizeof c->lack, "%s", why);
	note_failure(c, "%s", why);
}

/* The CA bundle counts when a link is made, so it is read then: a rotated bundle needs no watching. */
static int load_ca(struct link_client *c)
{
	const char *file = link_ca_file(c->config.ca);
	X509_STORE *store = X509_STORE_new();
	if (!store || X509_STORE_load_locations(store, file, NULL) != 1) {
		X509_STORE_free(store);
		note_lack(c, "CA", file, "has no certificate");
		return -1;
	}
	SSL_CTX_set_cert_store(c->tls, store);
	return 0;
}

static void on_retry(lws_sorted_usec_list_t *sul);

static void retry_later(struct link *l)
{
	struct link_client *c = l->client;
	if (!l->listed) {
		l->used = false;
		return;
	}
	uint32_t random = 0;
	RAND_bytes((unsigned char *)&random, sizeof random);
	int64_t wait = link_backoff_ms(++l->failures, random);
	lws_sul_schedule(c->context, 0, &l->retry, on_retry, wait * LWS_US_PER_MS);
	/* A replaced controller has another address. */
	if (c->resolver)
		resolver_hurry(c->resolver);
}

static void connect_link(struct link *l)
{
	struct link_client *c = l->client;
	free(l->token);
	l->token = link_read_token(c);
	if (!l->token)
		note_lack(c, "token", c->config.token_file, "empty");
	if (!l->token || load_ca(c) < 0) {
		lws_sul_schedule(c->context, 0, &l->retry, on_retry, LINK_CLIENT_LACK_MS * LWS_US_PER_MS);
		return;
	}
	c->lack[0] = '\0';
	l->id = ++c->next_id;
	l->certificate[0] = l->closed[0] = '\0';
	struct lws_client_connect_info info = {
		.context = c->context,
		.address = l->address,
		.port = c->config.port,
		.ssl_connection = LCCSCF_USE_SSL,
		.path = LINK_PATH,
		.host = c->config.server_name,
		.origin = c->config.server_name,
		.protocol = LINK_SUBPROTOCOL,
		.local_protocol_name = LINK_SUBPROTOCOL,
		.alpn = "http/1.1",
		.userdata = l,
		.pwsi = &l->wsi,
		.retry_and_idle_policy = &c->idle_policy,
	};
	/* A failure inside the call has mostly come as CLIENT_CONNECTION_ERROR already, which plans the next try. */
	if (!lws_client_connect_via_info(&info) && !l->wsi && l->used && lws_dll2_is_detached(&l->retry.list))
		retry_later(l);
}

static void on_retry(lws_sorted_usec_list_t *sul)
{
	struct link *l = lws_container_of(sul, struct link, retry);
	if (!l->listed)
		l->used = false;
	else if (!l->wsi)
		connect_link(l);
}

static void on_gone(struct link *l, const char *raw)
{
	char why[LINK_CLIENT_WHY_SIZE];
	struct link_failure f = {raw, l->certificate, l->closed, l->address, l->client->config.server_name, l->client->config.port};
	if (!l->wsi && !l->open)
		return;
	link_failure_text(&f, why, sizeof why);
	note_failure(l->client, "%s", why);
	if (l->open && clock_mono_ms() - l->opened_mono_ms >= GOOD_AFTER_MS)
		l->failures = 0;
	LOG_WARN("link", l->open ? "a link to a controller ended" : "cannot link to a controller", LOG_S("address", l->address[0] ? l->address : ""),
		 LOG_S("error", why));
	link_session_end(l);
	l->wsi = NULL;
	if (!atomic_load(&l->client->stopping))
		retry_later(l);
}

/* Addresses ------------------------------------------------------------------------------------------------------- */

static bool is_listed(const struct resolver_result *r, const char *address)
{
	for (size_t i = 0; i < r->count; i++) {
		if (strcmp(r->addresses[i], address) == 0)
			return true;
	}
	return false;
}

static struct link *find_link(struct link_client *c, const char *address)
{
	for (int i = 0; i < LINK_CLIENT_MAX_LINKS; i++) {
		if (c->links[i].used && strcmp(c->links[i].address, address) == 0)
			return &c->links[i];
	}
	return NULL;
}

static void add_link(struct link_client *c, const char *address)
{
	for (int i = 0; i < LINK_CLIENT_MAX_LINKS; i++) {
		struct link *l = &c->links[i];
		if (l->used)
			continue;
		l->used = l->listed = true;
		l->failures = 0;
		snprintf(l->address, sizeof l->address, "%s", address);
		connect_link(l);
		return;
	}
}

/* Links to addresses that are no longer listed live on until they break. */
static void apply_addresses(struct link_client *c)
{
	pthread_mutex_lock(&c->lock);
	bool news = c->resolved_new;
	struct resolver_result r = c->resolved;
	c->resolved_new = false;
	pthread_mutex_unlock(&c->lock);
	if (!news)
		return;
	for (int i = 0; i < LINK_CLIENT_MAX_LINKS; i++)
		c->links[i].listed = is_listed(&r, c->links[i].address);
	for (size_t i = 0; i < r.count; i++) {
		if (!find_link(c, r.addresses[i]))
			add_link(c, r.addresses[i]);
	}
}

/* In the resolver's thread. */
static void keep_resolved(void *ctx, const struct resolver_result *r)
{
	struct link_client *c = ctx;
	pthread_mutex_lock(&c->lock);
	bool same = memcmp(&c->resolved, r, sizeof *r) == 0;
	c->resolved = *r;
	c->resolved_new = true;
	pthread_mutex_unlock(&c->lock);
	if (!same)
		lws_cancel_service(c->context);
}

/* In the resolver's thread. */
static void on_unresolved(void *ctx, const char *why)
{
	struct link_client *c = ctx;
	note_failure(c, "the name %.200s cannot be resolved: %s", c->config.host, why);
}

/* Said again and again: whoever asks why nothing can be profiled here reads the end of the log. */
static void say_bare(struct link_client *c)
{
	struct link_client_status s;
	link_client_get_status(c, &s);
	c->bare_refreshes = s.settled ? 0 : c->bare_refreshes + 1;
	if (c->bare_refreshes > 1)
		LOG_WARN("link", "no controller is linked: nothing can be profiled on this node", LOG_S("error", s.why));
}

static void on_refresh(lws_sorted_usec_list_t *sul)
{
	struct link_client *c = lws_container_of(sul, struct link_client, refresh);
	say_bare(c);
	apply_addresses(c);
	link_session_keep_epoch(c);
	for (int i = 0; i < LINK_CLIENT_MAX_LINKS; i++) {
		if (c->links[i].open)
			link_session_check_token(&c->links[i]);
	}
	lws_sul_schedule(c->context, 0, &c->refresh, on_refresh, c->config.refresh_ms * LWS_US_PER_MS);
}

/* lws ------------------------------------------------------------------------------------------------------------- */

static void handle_wakeup(struct link_client *c)
{
	apply_addresses(c);
	for (int i = 0; i < LINK_CLIENT_MAX_LINKS; i++) {
		if (link_session_wants_write(&c->links[i]))
			lws_callback_on_writable(c->links[i].wsi);
	}
}

/* lws keeps to its own verdict: this only remembers it. */
static int note_certificate(struct link *l, X509_STORE_CTX *store)
{
	int rc = X509_STORE_CTX_get_error(store);
	if (l && rc != X509_V_OK)
		snprintf(l->certificate, sizeof l->certificate, "%s", X509_verify_cert_error_string(rc));
	return 0;
}

/* The frame's two bytes of status, then the reason. */
static void note_close(struct link *l, const unsigned char *frame, size_t len)
{
	size_t n = 0;
	for (size_t i = 2; i < len && n + 1 < sizeof l->closed && isalnum(frame[i]); i++)
		l->closed[n++] = (char)frame[i];
	l->closed[n] = '\0';
}

static int append_token(struct link *l, struct lws *wsi, unsigned char **p, size_t room)
{
	AUTO_FREE char *value = mem_printf("Bearer %s", l->token);
	return lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, (const unsigned char *)value, (int)strlen(value), p, *p + room);
}

static int on_lws(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct link *l = user;
	struct link_client *c = wsi ? lws_context_user(lws_get_context(wsi)) : NULL;
	switch (reason) {
	case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_CLIENT_VERIFY_CERTS:
		if (!c)
			return 1;
		c->tls = user;
		SSL_CTX_set_mode(c->tls, SSL_MODE_RELEASE_BUFFERS);
		SSL_CTX_set_min_proto_version(c->tls, TLS1_2_VERSION);
		return 0;
	case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION: /* `user` is the store's context here */
		return note_certificate(lws_wsi_user(wsi), user);
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
		note_close(l, in, len);
		return 0;
	case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
		if (c)
			handle_wakeup(c);
		return 0;
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
		return append_token(l, wsi, in, len);
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		link_session_begin(l);
		return 0;
	case LWS_CALLBACK_CLIENT_RECEIVE:
		return link_session_receive(l, in, len, lws_is_final_fragment(wsi) && lws_remaining_packet_payload(wsi) == 0);
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		return link_session_write(l);
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		on_gone(l, in ? (const char *)in : "connection failed");
		return 0;
	case LWS_CALLBACK_CLIENT_CLOSED:
		on_gone(l, "closed");
		return 0;
	default:
		return 0;
	}
}

/* Life ------------------------------------------------------------------------------------------------------------ */

static void *serve_links(void *arg)
{
	struct link_client *c = arg;
	while (!atomic_load(&c->stopping) && lws_service(c->context, 0) >= 0)
		;
	return NULL;
}

static void log_from_lws(int level, const char *line)
{
	(void)level;
	AUTO_FREE char *text = mem_strndup(line, strcspn(line, "\n"));
	LOG_DEBUG("link", "libwebsockets", LOG_S("message", text));
}

static int make_client_context(struct link_client *c, struct err *e)
{
	static const struct lws_protocols protocols[] = {
		{.name = LINK_SUBPROTOCOL, .callback = on_lws, .rx_buffer_size = 4096},
		{.name = NULL},
	};
	struct lws_context_creation_info info = {
		.port = CONTEXT_PORT_NO_LISTEN,
		.protocols = protocols,
		.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS,
		.user = c,
		.gid = (gid_t)-1,
		.uid = (uid_t)-1,
		/* lws sizes its tables by this, not by the process's limit, which may be a million. */
		.fd_limit_per_thread = LINK_CLIENT_MAX_LINKS * 2 + 8,
		.pt_serv_buf_size = 8192, /* holds the request's headers with the token */
		.max_http_header_data = 2048,
		.connect_timeout_secs = CONNECT_TIMEOUT_S,
		.timeout_secs = CONNECT_TIMEOUT_S,
	};
	lws_set_log_level(LLL_ERR | LLL_WARN, log_from_lws);
	c->context = lws_create_context(&info);
	return c->context && c->tls ? 0 : err_set(e, ERR_INTERNAL, 0, "cannot create the link's network context");
}

static int start_link_thread(struct link_client *c, struct err *e)
{
	if (make_client_context(c, e) < 0)
		return -1;
	lws_sul_schedule(c->context, 0, &c->refresh, on_refresh, c->config.refresh_ms * LWS_US_PER_MS);
	c->thread_started = thread_start(&c->thread, "link", THREAD_STACK_USUAL, serve_links, c, e) == 0;
	return c->thread_started ? 0 : -1;
}

static void copy_client_config(struct link_client *c, const struct link_client_config *from)
{
	c->config = *from;
	c->config.host = mem_strdup(from->host);
	c->config.server_name = mem_strdup(from->server_name ? from->server_name : from->host);
	c->config.token_file = mem_strdup(from->token_file);
	c->config.mode = mem_strdup(from->mode);
	if (!c->config.refresh_ms)
		c->config.refresh_ms = LINK_CLIENT_REFRESH_MS;
	int timeout_s = from->timeout_s ? from->timeout_s : HANG_UP_AFTER_S;
	c->idle_policy.secs_since_valid_ping = (uint16_t)(timeout_s * PING_AFTER_S / HANG_UP_AFTER_S);
	c->idle_policy.secs_since_valid_hangup = (uint16_t)timeout_s;
	c->highest_epoch = from->highest_epoch;
	unsigned char random[16] = {0};
	RAND_bytes(random, sizeof random);
	text_hex(random, sizeof random, c->boot_id);
}

struct link_client *link_client_new(const struct link_client_config *config, struct err *e)
{
	struct link_client *c = mem_alloc(sizeof *c);
	copy_client_config(c, config);
	pthread_mutex_init(&c->lock, NULL);
	for (int i = 0; i < LINK_CLIENT_MAX_LINKS; i++)
		c->links[i].client = c;
	if (start_link_thread(c, e) == 0) {
		struct resolver_callbacks callbacks = {c, keep_resolved, on_unresolved};
		c->resolver = resolver_new(c->config.host, c->config.refresh_ms, &callbacks, e);
		if (c->resolver)
			return c;
	}
	link_client_free(c);
	return NULL;
}

void link_client_free(struct link_client *c)
{
	if (!c)
		return;
	struct resolver *resolver = c->resolver;
	atomic_store(&c->stopping, true);
	if (c->thread_started) {
		lws_cancel_service(c->context);
		pthread_join(c->thread, NULL);
	}
	resolver_free(resolver);
	if (c->context)
		lws_context_destroy(c->context);
	for (int i = 0; i < LINK_CLIENT_MAX_LINKS; i++) {
		link_session_end(&c->links[i]);
		free(c->links[i].token);
	}
	pthread_mutex_destroy(&c->lock);
	free((char *)c->config.host);
	free((char *)c->config.server_name);
	free((char *)c->config.token_file);
	free((char *)c->config.mode);
	free(c);
}

/* Any thread ------------------------------------------------------------------------------------------------------ */

void link_client_jobs_changed(struct link_client *c)
{
	lws_cancel_service(c->context);
}

static int post_take(struct link_client *c, uint64_t id, char *text, struct err *e)
{
	int rc = err_set(e, ERR_RETRY, 0, "no link to the leading controller");
	pthread_mutex_lock(&c->lock);
	for (int i = 0; i < LINK_CLIENT_MAX_LINKS; i++) {
		struct link *l = &c->links[i];
		if (!l->open || (id ? l->id != id : !l->leader))
			continue;
		if (l->mailbox_count == LINK_CLIENT_MAILBOX_MAX) {
			err_set(e, ERR_RETRY, 0, "the controller reads too slowly");
			break;
		}
		l->mailbox[(l->mailbox_head + l->mailbox_count++) % LINK_CLIENT_MAILBOX_MAX] = text;
		text = NULL;
		rc = 0;
		break;
	}
	pthread_mutex_unlock(&c->lock);
	free(text);
	return rc;
}

int link_client_send(struct link_client *c, uint64_t link, const struct link_msg *m, struct err *e)
{
	struct err why = ERR_INIT;
	char *text = link_msg_encode(m, e);
	if (!text)
		return -1;
	if (post_take(c, link, text, &why) < 0) {
		if (e)
			*e = why;
		return -1;
	}
	lws_cancel_service(c->context);
	return 0;
}

void link_client_get_status(struct link_client *c, struct link_client_status *out)
{
	*out = (struct link_client_status){0};
	int64_t now = clock_mono_ms();
	pthread_mutex_lock(&c->lock);
	out->addresses = c->resolved.count;
	out->highest_epoch = c->highest_epoch;
	for (int i = 0; i < LINK_CLIENT_MAX_LINKS; i++) {
		out->linked += c->links[i].open;
		out->leader |= c->links[i].leader;
		out->settled |= c->links[i].leader || (c->links[i].open && now - c->links[i].opened_mono_ms >= LINK_CLIENT_SETTLED_MS);
	}
	if (!out->settled)
		snprintf(out->why, sizeof out->why, "%s", c->why[0] ? c->why : "not tried yet");
	pthread_mutex_unlock(&c->lock);
}
