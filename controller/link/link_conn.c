/* One agent's WebSocket: token review, hello, messages in and out, close. Link thread only, but for the review tasks. */
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/link/link_frame.h"
#include "controller/kube/kube_clock.h"
#include "controller/link/link_server_private.h"
#include "controller/base/metrics.h"
#include "controller/store/object_store.h"

#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE_GRACE_S 5
#define MESSAGES_AT_ONCE 1000 /* of an agent: all its jobs and reports after a new link are some 600 */
#define MESSAGES_PER_SECOND 200 /* some for each of many jobs that end at once */
#define UPLOAD_URL_MAX 16384 /* a session token is long */
#define CLOSE_TRY_AGAIN_LATER ((enum lws_close_status)1013) /* IANA; lws has no name for it */

/* Allocated and zeroed by lws with the connection. */
struct link_conn {
	uint64_t id;
	struct lws *wsi;
	struct link_server *server;
	struct agent_identity who;    /* after the review */
	struct hub_link *hub;         /* after the review, until the link ends */
	bool said_hello;
	bool reviewing;               /* the first review: nothing is read meanwhile */
	struct buf incoming;          /* the message under way */
	bool held;                    /* a whole message came before the review was done */
	int64_t heard_ms;             /* when something came last */
	int64_t ping_after_ms;        /* of quiet */
	struct time_wheel_entry look; /* when that may be over */
	bool pinged, ping_due;        /* since then; and still to be written */
	double messages_left;         /* of its budget, at messages_ms */
	int64_t messages_ms;
	const char *close_reason;     /* set: to be closed */
	enum lws_close_status close_status;
	lws_sorted_usec_list_t timer; /* hand-shake's end, then the token's expiry */
	UT_hash_handle hh;
};

size_t link_conn_size(void)
{
	return sizeof(struct link_conn);
}

static void close_soon(struct link_conn *c, enum lws_close_status status, const char *reason)
{
	if (c->close_reason)
		return;
	c->close_status = status;
	c->close_reason = reason;
	metrics_count(METRIC_LINK_CLOSED, reason);
	LOG_WARN("link", "closing a link", LOG_S("node", c->hub ? c->who.node : ""), LOG_S("reason", reason));
	/* The peer may take its time to hang up; no order goes to it from now on. */
	agent_hub_detach(steal_ptr(&c->hub));
	/* A peer that does not read never becomes writable. */
	lws_set_timeout(c->wsi, PENDING_TIMEOUT_CLOSE_SEND, CLOSE_GRACE_S);
	lws_callback_on_writable(c->wsi);
}

static void on_conn_deadline(lws_sorted_usec_list_t *sul)
{
	struct link_conn *c = lws_container_of(sul, struct link_conn, timer);
	if (!c->hub)
		close_soon(c, CLOSE_TRY_AGAIN_LATER, "ReviewTimeout");
	else if (!c->said_hello)
		close_soon(c, LWS_CLOSE_STATUS_POLICY_VIOLATION, "HelloTimeout");
	else
		close_soon(c, LWS_CLOSE_STATUS_POLICY_VIOLATION, "TokenExpired");
}

static void set_timer(struct link_conn *c, int64_t in_ms)
{
	if (in_ms < 1)
		in_ms = 1;
	lws_sul_schedule(c->server->context, 0, &c->timer, on_conn_deadline, in_ms * LWS_US_PER_MS);
}

/* Review ---------------------------------------------------------------------------------------------------------- */

struct review_event {
	struct link_event ev;
	struct link_server *server;
	uint64_t conn;
	char *token;
	bool good;
	struct agent_identity who;
	struct err error;
};

static void admit_agent(struct link_conn *c, const struct agent_identity *who);
static void renew(struct link_conn *c, const struct agent_identity *who);

static void refuse_agent(struct link_conn *c, const struct err *e)
{
	LOG_WARN("link", "an agent's token was not accepted", LOG_S("error", e->message));
	bool denied = e->kind == ERR_DENIED || e->kind == ERR_NOT_FOUND;
	close_soon(c, denied ? LWS_CLOSE_STATUS_POLICY_VIOLATION : CLOSE_TRY_AGAIN_LATER, denied ? "TokenRefused" : "ReviewFailed");
}

static void deliver_review(struct link_server *s, struct link_event *ev)
{
	struct review_event *r = (struct review_event *)ev;
	struct link_conn *c = NULL;
	HASH_FIND(hh, s->conns, &r->conn, sizeof r->conn, c);
	if (c && !r->good && (!c->hub || r->error.kind == ERR_DENIED))
		refuse_agent(c, &r->error);
	else if (c && r->good && !c->hub)
		admit_agent(c, &r->who);
	else if (c && r->good)
		renew(c, &r->who);
	/* A later token that could not be reviewed leaves the link until the old one expires. */
	free(r);
}

static void run_review(void *arg, struct kube_client *kube)
{
	struct review_event *r = arg;
	if (kube)
		r->good = token_review_agent(&r->server->review, kube, r->token, &r->who, &r->error) == 0;
	else
		err_set(&r->error, ERR_CANCELED, 0, "the controller stops");
	OPENSSL_cleanse(r->token, strlen(r->token));
	free(r->token);
	r->token = NULL;
	link_server_post(r->server, &r->ev);
}

static void start_review(struct link_conn *c, const char *token)
{
	struct review_event *r = mem_alloc(sizeof *r);
	r->ev.deliver = deliver_review;
	r->server = c->server;
	r->conn = c->id;
	r->token = mem_strdup(token);
	struct err e = ERR_INIT;
	if (review_pool_submit(c->server->pool, run_review, r, &e) == 0)
		return;
	free(r->token);
	free(r);
	if (!c->hub)
		close_soon(c, CLOSE_TRY_AGAIN_LATER, "ReviewsFull");
}

/* Messages -------------------------------------------------------------------------------------------------------- */

static void on_hello(struct link_conn *c)
{
	c->said_hello = true;
	set_timer(c, c->who.expires_wall_ms - kube_clock_wall_ms());
	LOG_INFO("link", "agent linked", LOG_S("node", c->who.node[0] ? c->who.node : ""), LOG_I("agents", (int64_t)agent_hub_count(c->server->hub)));
}

/* Each message may cost a log line, a reconcile or a call of the API server: a taken-over agent gets no more of them than others. */
static bool within_budget(struct link_conn *c)
{
	int64_t now_ms = clock_mono_ms();
	c->messages_left += (double)(now_ms - c->messages_ms) * MESSAGES_PER_SECOND / 1000;
	if (c->messages_left > MESSAGES_AT_ONCE)
		c->messages_left = MESSAGES_AT_ONCE;
	c->messages_ms = now_ms;
	if (c->messages_left < 1)
		return false;
	c->messages_left--;
	return true;
}

static void handle_message(struct link_conn *c)
{
	if (!within_budget(c)) {
		buf_fini(&c->incoming);
		close_soon(c, LWS_CLOSE_STATUS_POLICY_VIOLATION, "TooManyMessages");
		return;
	}
	struct link_msg m;
	struct err e = ERR_INIT;
	int rc = link_msg_decode(buf_str(&c->incoming), c->incoming.len, &m, &e);
	buf_fini(&c->incoming); /* idle links keep no buffer */
	if (rc < 0) {
		LOG_WARN("link", "an agent speaks nonsense", LOG_S("error", e.kind ? e.message : ""));
		close_soon(c, LWS_CLOSE_STATUS_INVALID_PAYLOAD, "BadMessage");
		return;
	}
	if (m.type == LINK_MSG_TOKEN) {
		start_review(c, m.u.token.token);
	} else if (agent_hub_receive(c->hub, &m, &e) < 0) {
		close_soon(c, LWS_CLOSE_STATUS_POLICY_VIOLATION, "UnexpectedMessage");
	} else if (m.type == LINK_MSG_HELLO && !c->said_hello) {
		on_hello(c);
	}
	link_msg_fini(&m);
}

static void admit_agent(struct link_conn *c, const struct agent_identity *who)
{
	if (c->close_reason)
		return;
	c->who = *who;
	c->hub = agent_hub_attach(c->server->hub, who->node, c);
	c->reviewing = false;
	if (c->held) {
		c->held = false;
		handle_message(c);
	}
	lws_rx_flow_control(c->wsi, 1);
}

static void renew(struct link_conn *c, const struct agent_identity *who)
{
	if (strcmp(c->who.node, who->node) != 0 || strcmp(c->who.pod_uid, who->pod_uid) != 0) {
		close_soon(c, LWS_CLOSE_STATUS_POLICY_VIOLATION, "TokenOfAnother");
		return;
	}
	c->who = *who;
	if (c->said_hello)
		set_timer(c, who->expires_wall_ms - kube_clock_wall_ms());
}

static void receive_link_data(struct link_conn *c, const char *data, size_t len)
{
	if (c->close_reason)
		return;
	if (lws_frame_is_binary(c->wsi)) {
		close_soon(c, LWS_CLOSE_STATUS_UNACCEPTABLE_OPCODE, "BinaryMessage");
		return;
	}
	if (c->held) {
		close_soon(c, LWS_CLOSE_STATUS_POLICY_VIOLATION, "MessageBeforeReview");
		return;
	}
	if (buf_append(&c->incoming, data, len) < 0) {
		buf_fini(&c->incoming);
		close_soon(c, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, "MessageTooLarge");
		return;
	}
	if (!lws_is_final_fragment(c->wsi) || lws_remaining_packet_payload(c->wsi) > 0)
		return;
	if (c->reviewing)
		c->held = true;
	else
		handle_message(c);
}

/* Half-open links: one that was quiet for long is asked, and hung up on when it stays so. lws would do that with a timer for each link in
 * one sorted list, which costs each message a walk over all of them. */
static void heard(struct link_conn *c)
{
	c->heard_ms = clock_mono_ms();
	c->pinged = false;
}

/* A fleet that came at once would for ever be asked at once, and orders would wait meanwhile. */
static int64_t some_ping_after_ms(const struct link_server *s)
{
	uint32_t random = 0;
	RAND_bytes((unsigned char *)&random, sizeof random);
	int64_t spread_ms = s->ping_after_ms / 4;
	return s->ping_after_ms - (int64_t)(random % (uint32_t)(spread_ms + 1));
}

static void schedule_conn_check(struct link_conn *c)
{
	time_wheel_add(&c->server->looks, &c->look, c->heard_ms + (c->pinged ? c->server->hang_up_after_ms : c->ping_after_ms));
}

static void check_conn_silence(struct link_conn *c, int64_t now_ms)
{
	int64_t quiet_ms = now_ms - c->heard_ms;
	if (quiet_ms >= c->server->hang_up_after_ms) {
		metrics_count(METRIC_LINK_CLOSED, "NotHeard");
		lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
		return;
	}
	if (quiet_ms >= c->ping_after_ms && !c->pinged) {
		c->pinged = c->ping_due = true;
		lws_callback_on_writable(c->wsi);
	}
	schedule_conn_check(c);
}

void link_conn_look_at_quiet(struct link_server *s)
{
	int64_t now_ms = clock_mono_ms();
	struct time_wheel_entry *due;
	while ((due = time_wheel_take(&s->looks, now_ms)))
		check_conn_silence(lws_container_of(due, struct link_conn, look), now_ms);
}

static int write_ping(struct link_conn *c)
{
	unsigned char frame[LWS_PRE + 1];
	c->ping_due = false;
	frame[LWS_PRE] = 'p'; /* lws says nothing of a pong without payload */
	return lws_write(c->wsi, frame + LWS_PRE, 1, LWS_WRITE_PING) < 0 ? -1 : 0;
}

static int write_message(struct link_conn *c)
{
	if (c->close_reason) {
		lws_close_reason(c->wsi, c->close_status, (unsigned char *)(uintptr_t)c->close_reason, strlen(c->close_reason));
		return -1;
	}
	if (c->hub && agent_hub_is_replaced(c->hub)) {
		close_soon(c, LWS_CLOSE_STATUS_NORMAL, "Replaced");
		return 0;
	}
	AUTO_FREE char *text = c->hub ? agent_hub_next(c->hub) : NULL;
	if (text)
		return link_frame_send(c->wsi, text); /* which asks for the next turn */
	return c->ping_due ? write_ping(c) : 0;
}

void link_conn_wake(struct link_conn *c)
{
	lws_callback_on_writable(c->wsi);
}

/* Life ------------------------------------------------------------------------------------------------------------ */

static int filter(struct lws *wsi)
{
	AUTO_FREE char *token = link_server_bearer(wsi);
	if (token)
		return 0;
	metrics_count(METRIC_LINK_CLOSED, "NoToken");
	lws_return_http_status(wsi, HTTP_STATUS_UNAUTHORIZED, NULL);
	return -1;
}

static int establish(struct link_conn *c, struct lws *wsi)
{
	link_server_asked(wsi);
	c->wsi = wsi;
	c->server = link_server_of(wsi);
	c->id = ++c->server->next_id;
	buf_init(&c->incoming, LINK_MESSAGE_MAX);
	HASH_ADD(hh, c->server->conns, id, sizeof c->id, c);
	c->ping_after_ms = some_ping_after_ms(c->server);
	heard(c);
	schedule_conn_check(c);
	c->reviewing = true;
	c->messages_left = MESSAGES_AT_ONCE;
	c->messages_ms = clock_mono_ms();
	lws_rx_flow_control(wsi, 0);
	set_timer(c, c->server->config.handshake_timeout_ms);
	AUTO_FREE char *token = link_server_bearer(wsi);
	if (!token)
		return -1;
	start_review(c, token);
	OPENSSL_cleanse(token, strlen(token));
	return 0;
}

static void closed(struct link_conn *c)
{
	if (!c->server)
		return;
	lws_sul_cancel(&c->timer);
	time_wheel_remove(&c->look);
	HASH_DEL(c->server->conns, c);
	agent_hub_detach(c->hub);
	buf_fini(&c->incoming);
	if (c->said_hello)
		LOG_INFO("link", "agent's link ended", LOG_S("node", c->who.node[0] ? c->who.node : ""));
	c->server = NULL;
}

int link_conn_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct link_conn *c = user;
	switch (reason) {
	case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
		return filter(wsi);
	case LWS_CALLBACK_ESTABLISHED:
		return establish(c, wsi);
	case LWS_CALLBACK_RECEIVE:
		heard(c);
		receive_link_data(c, in, len);
		return 0;
	case LWS_CALLBACK_RECEIVE_PONG:
		heard(c);
		return 0;
	case LWS_CALLBACK_SERVER_WRITEABLE:
		return write_message(c);
	case LWS_CALLBACK_CLOSED:
		closed(c);
		return 0;
	default:
		return 0;
	}
}

/* Uploads --------------------------------------------------------------------------------------------------------- */

struct upload_task {
	struct link_server *server;
	char node[254], job_id[LINK_ID_SIZE];
	struct link_report report;
};

static void deny(struct upload_task *t, const struct err *e)
{
	struct link_msg m = {.type = LINK_MSG_UPLOAD_DENIED};
	memcpy(m.job_id, t->job_id, sizeof m.job_id);
	memcpy(m.u.upload_denied.report_name, t->report.name, sizeof t->report.name);
	m.u.upload_denied.reason = mem_strdup(e->reason);
	m.u.upload_denied.message = mem_strdup(e->message);
	m.u.upload_denied.retry = e->kind == ERR_RETRY || e->kind == ERR_TIMEOUT || e->kind == ERR_CONFLICT || e->kind == ERR_CANCELED;
	agent_hub_answer_upload(t->server->hub, t->node, &m);
	link_msg_fini(&m);
}

static int grant_upload(struct upload_task *t, struct err *e)
{
	const struct link_server_config *c = &t->server->config;
	char store[64] = "", prefix[512] = "";
	if (!c->callbacks.on_upload || !c->stores)
		return err_set(e, ERR_RETRY, 0, "this replica takes no reports");
	if (c->callbacks.on_upload(c->callbacks.ctx, t->node, t->job_id, &t->report, store, prefix, e) < 0)
		return -1;
	AUTO_BUF struct buf url;
	buf_init(&url, UPLOAD_URL_MAX);
	struct link_msg m = {.type = LINK_MSG_UPLOAD_GRANT};
	memcpy(m.job_id, t->job_id, sizeof m.job_id);
	memcpy(m.u.upload_grant.report_name, t->report.name, sizeof t->report.name);
	m.u.upload_grant.place = object_store_place(c->stores, store);
	if (object_store_grant(c->stores, store, prefix, &t->report, kube_clock_wall_ms(), &url, &m.u.upload_grant.expires_wall_ms, e) < 0)
		return -1;
	m.u.upload_grant.url = buf_steal(&url);
	m.u.upload_grant.content_type = mem_strdup(t->report.media_type);
	agent_hub_answer_upload(t->server->hub, t->node, &m);
	link_msg_fini(&m);
	return 0;
}

static void run_upload(void *arg, struct kube_client *kube)
{
	struct upload_task *t = arg;
	struct err e = ERR_INIT;
	if (kube && grant_upload(t, &e) < 0)
		deny(t, &e);
	free(t);
}

void link_upload_request(void *ctx, const char *node, const char *job_id, const struct link_report *r)
{
	struct upload_task *t = mem_alloc(sizeof *t);
	t->server = ctx;
	snprintf(t->node, sizeof t->node, "%s", node);
	snprintf(t->job_id, sizeof t->job_id, "%s", job_id);
	t->report = *r;
	struct err e = ERR_INIT;
	if (review_pool_submit(t->server->pool, run_upload, t, &e) == 0)
		return;
	deny(t, &e);
	free(t);
}
