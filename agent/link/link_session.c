/* What is said on one link: hello, jobs, requests; and which orders are obeyed. */
#include "agent/link/link_client_private.h"
#include "agent/link/link_policy.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/link/link_frame.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_MAX_BYTES 16384

char *link_read_token(const struct link_client *c)
{
	AUTO_FREE char *text = mem_alloc(TOKEN_MAX_BYTES);
	ssize_t len = fsio_read_small(AT_FDCWD, c->config.token_file, text, TOKEN_MAX_BYTES);
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return len > 0 ? mem_strdup(text) : NULL;
}

/* Out ------------------------------------------------------------------------------------------------------------- */

static char *make_hello(struct link *l)
{
	struct link_client *c = l->client;
	struct link_msg m = {.type = LINK_MSG_HELLO, .epoch = c->highest_epoch};
	snprintf(m.u.hello.agent_version, sizeof m.u.hello.agent_version, "%s", DRDOTNET_VERSION);
	snprintf(m.u.hello.boot_id, sizeof m.u.hello.boot_id, "%s", c->boot_id);
	snprintf(m.u.hello.mode, sizeof m.u.hello.mode, "%s", c->config.mode);
	m.u.hello.perf_events = c->config.perf_events;
	m.u.hello.process_queries = true;
	m.u.hello.pod_starts = c->config.pod_starts;
	m.u.hello.jobs_complete = true;
	m.u.hello.profilers = profiler_kinds();
	return link_msg_encode(&m, NULL);
}

static char *make_token(struct link *l)
{
	struct link_msg m = {.type = LINK_MSG_TOKEN};
	m.u.token.token = l->token;
	return link_msg_encode(&m, NULL);
}

static char *take_mail(struct link *l)
{
	char *text = NULL;
	pthread_mutex_lock(&l->client->lock);
	if (l->mailbox_count) {
		text = l->mailbox[l->mailbox_head];
		l->mailbox_head = (l->mailbox_head + 1) % LINK_CLIENT_MAILBOX_MAX;
		l->mailbox_count--;
	}
	pthread_mutex_unlock(&l->client->lock);
	return text;
}

static char *take_job(struct link *l)
{
	struct link_msg m = {.type = LINK_MSG_JOB};
	char *text = NULL;
	while (!text && l->client->config.next_job(l->client->config.ctx, &l->sent_version, &m.u.job)) {
		struct err e = ERR_INIT;
		text = link_msg_encode(&m, &e);
		if (!text)
			LOG_ERROR("link", "a job's state cannot be sent", LOG_S("error", e.kind ? e.message : ""));
		link_job_fini(&m.u.job);
	}
	return text;
}

/* Every job has been sent in this link since the leader said that it leads, and an older one's orders are no longer obeyed. */
static char *take_complete(struct link *l)
{
	struct link_msg m = {.type = LINK_MSG_JOBS_COMPLETE, .epoch = l->complete_epoch};
	if (!l->complete_due)
		return NULL;
	l->complete_due = false;
	return link_msg_encode(&m, NULL);
}

/* Hello first; then what somebody waits for; then the jobs, oldest change first. */
static char *next_text(struct link *l)
{
	if (l->hello_due) {
		l->hello_due = false;
		return make_hello(l);
	}
	if (l->token_due) {
		l->token_due = false;
		return make_token(l);
	}
	char *text = take_mail(l);
	if (!text)
		text = take_job(l);
	return text ? text : take_complete(l);
}

int link_session_write(struct link *l)
{
	AUTO_FREE char *text = next_text(l);
	return text ? link_frame_send(l->wsi, text) : 0;
}

bool link_session_wants_write(struct link *l)
{
	/* A job may have changed: the write finds out, and costs nothing when not. */
	return l->open;
}

void link_session_check_token(struct link *l)
{
	char *now = link_read_token(l->client);
	if (!now || (l->token && strcmp(now, l->token) == 0)) {
		free(now);
		return;
	}
	free(l->token);
	l->token = now;
	l->token_due = true;
	lws_callback_on_writable(l->wsi);
}

/* In -------------------------------------------------------------------------------------------------------------- */

static void set_leader(struct link *l)
{
	struct link_client *c = l->client;
	pthread_mutex_lock(&c->lock);
	bool news = !l->leader;
	for (int i = 0; i < LINK_CLIENT_MAX_LINKS; i++)
		c->links[i].leader = false;
	l->leader = true;
	pthread_mutex_unlock(&c->lock);
	if (news && c->config.on_leader)
		c->config.on_leader(c->config.ctx, true);
}

static void keep_epoch(struct link_client *c)
{
	c->epoch_unkept = c->config.on_epoch && c->config.on_epoch(c->config.ctx, c->highest_epoch) < 0;
	if (c->epoch_unkept)
		LOG_ERROR("link", "a leader's epoch cannot be kept over a restart", LOG_I("epoch", c->highest_epoch));
}

void link_session_keep_epoch(struct link_client *c)
{
	if (c->epoch_unkept)
		keep_epoch(c);
}

/* Standbys learn the new epoch too, so that the next leader among them starts above it. */
static void raise_epoch(struct link *l, int64_t epoch)
{
	struct link_client *c = l->client;
	pthread_mutex_lock(&c->lock);
	c->highest_epoch = epoch;
	pthread_mutex_unlock(&c->lock);
	keep_epoch(c);
	LOG_INFO("link", "a newer leader gives the orders", LOG_I("epoch", epoch), LOG_S("address", l->address[0] ? l->address : ""));
	for (int i = 0; i < LINK_CLIENT_MAX_LINKS; i++) {
		struct link *other = &c->links[i];
		if (other != l && other->open) {
			other->hello_due = true;
			lws_callback_on_writable(other->wsi);
		}
	}
}

/* A leader that has just begun may have dropped what it heard before. */
static void tell_all_jobs(struct link *l, int64_t epoch)
{
	if (l->complete_epoch == epoch)
		return;
	l->complete_epoch = epoch;
	l->complete_due = true;
	l->sent_version = 0;
	lws_callback_on_writable(l->wsi);
}

static bool obeys(struct link *l, const struct link_msg *m)
{
	switch (link_fence_check(l->client->highest_epoch, m->epoch)) {
	case LINK_FENCE_RAISE:
		raise_epoch(l, m->epoch);
		break;
	case LINK_FENCE_STALE:
		LOG_WARN("link", "an order of an older leader is ignored", LOG_I("epoch", m->epoch), LOG_I("newest", l->client->highest_epoch));
		l->hello_due = true; /* tells it the epoch that this node has seen */
		lws_callback_on_writable(l->wsi);
		return false;
	case LINK_FENCE_OBEY:
		break;
	}
	set_leader(l);
	tell_all_jobs(l, m->epoch);
	return true;
}

static void handle_link_message(struct link *l, const struct link_msg *m)
{
	struct link_client *c = l->client;
	switch (m->type) {
	case LINK_MSG_LEADER:
		obeys(l, m);
		return;
	case LINK_MSG_ORDER:
	case LINK_MSG_CANCEL:
	case LINK_MSG_FORGET:
	case LINK_MSG_OBSERVE:
	case LINK_MSG_AWAIT_STARTS:
		if (!obeys(l, m))
			return;
		break;
	case LINK_MSG_UPLOAD_GRANT:
	case LINK_MSG_UPLOAD_DENIED:
	case LINK_MSG_USAGE_QUERY:
	case LINK_MSG_PROCESS_QUERY:
		break;
	default:
		return; /* of a newer controller, or not for agents */
	}
	c->config.on_message(c->config.ctx, l->id, m);
}

int link_session_receive(struct link *l, const char *data, size_t len, bool last)
{
	if (buf_append(&l->incoming, data, len) < 0) {
		LOG_WARN("link", "the controller's message is too large", LOG_I("most", LINK_MESSAGE_MAX));
		return -1;
	}
	if (!last)
		return 0;
	struct link_msg m;
	struct err e = ERR_INIT;
	int rc = link_msg_decode(buf_str(&l->incoming), l->incoming.len, &m, &e);
	buf_fini(&l->incoming);
	if (rc < 0) {
		LOG_WARN("link", "the controller speaks nonsense", LOG_S("error", e.kind ? e.message : ""));
		return -1;
	}
	handle_link_message(l, &m);
	link_msg_fini(&m);
	return 0;
}

/* Begin and end --------------------------------------------------------------------------------------------------- */

void link_session_begin(struct link *l)
{
	buf_init(&l->incoming, LINK_MESSAGE_MAX);
	l->hello_due = true;
	l->token_due = l->complete_due = false;
	l->complete_epoch = 0;
	l->sent_version = 0;
	pthread_mutex_lock(&l->client->lock);
	l->opened_mono_ms = clock_mono_ms();
	l->open = true;
	pthread_mutex_unlock(&l->client->lock);
	LOG_INFO("link", "linked to a controller", LOG_S("address", l->address[0] ? l->address : ""));
	lws_callback_on_writable(l->wsi);
}

void link_session_end(struct link *l)
{
	struct link_client *c = l->client;
	pthread_mutex_lock(&c->lock);
	bool was_leader = l->leader;
	l->open = l->leader = false;
	while (l->mailbox_count) {
		free(l->mailbox[l->mailbox_head]);
		l->mailbox_head = (l->mailbox_head + 1) % LINK_CLIENT_MAILBOX_MAX;
		l->mailbox_count--;
	}
	pthread_mutex_unlock(&c->lock);
	buf_fini(&l->incoming);
	if (was_leader && c->config.on_leader)
		c->config.on_leader(c->config.ctx, false);
}
