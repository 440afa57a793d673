/* Thousands of agents in one process and thread: each has a link (real WebSocket, TLS, its own token) to every controller that is named, obeys
 * the newest leader as an agent does (agent/link/link_policy.h) and plays its jobs: Profiling at once, Succeeded after a while.
 *
 * usage: scale-agents --controllers ADDRESS:PORT[,ADDRESS:PORT] --server-name NAME --ca FILE --tokens FILE [--work-ms N] [--at-once N]
 * tokens: lines of "NODE TOKEN". Ends when stdin does.
 * Says on stdout, times in microseconds of the wall clock:
 *   up MICROSECONDS OPEN        the links, each time that some more percent are open
 *   order MICROSECONDS SESSION NODE JOB EPOCH     obeyed; "again" instead of "order" when it has the job already
 *   stale MICROSECONDS SESSION NODE JOB EPOCH     of an older leader: not obeyed
 *   cancel|forget MICROSECONDS NODE JOB EPOCH */
#include "agent/link/link_policy.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/link/link_frame.h"
#include "common/link/link_msg.h"

#include <fcntl.h>
#include <inttypes.h>
#include <ev.h>
#include <libwebsockets.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_CONTROLLERS 4
#define LINE_MAX_BYTES 8192
#define INPUT_EVERY_US 50000

struct job {
	struct node *node;
	struct link_job state;
	struct job *next;
	lws_sorted_usec_list_t timer;
};

struct mail {
	struct mail *next;
	char text[];
};

struct link {
	struct node *node;
	int controller;
	struct lws *wsi;
	bool open, connecting;
	int failures;
	struct mail *first, *last;
	struct buf incoming;
	lws_sorted_usec_list_t retry;
};

struct node {
	char *name, *token;
	int64_t highest_epoch;
	struct job *jobs;
	struct link links[MAX_CONTROLLERS];
};

static struct {
	struct lws_context *context;
	struct { char address[64]; int port; } controllers[MAX_CONTROLLERS];
	int controller_count;
	struct node *nodes;
	size_t node_count, node_cap;
	const char *server_name, *ca;
	int64_t work_ms;
	size_t at_once, connecting, open, said;
	size_t next;  /* of nodes x controllers: not yet tried for the first time */
	struct ev_loop *loop; /* lws' own poll() and timers would cost more than the controller that is measured */
} all;

static int64_t wall_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* links ---------------------------------------------------------------------------------------------------------------- */

static const lws_retry_bo_t no_idle_policy;
static void start_some(void);
static void on_retry(lws_sorted_usec_list_t *sul)
{
	struct link *l = lws_container_of(sul, struct link, retry);
	if (l->wsi || l->connecting)
		return;
	l->connecting = true;
	all.connecting++;
	struct lws_client_connect_info info = {
		.context = all.context,
		.address = all.controllers[l->controller].address,
		.port = all.controllers[l->controller].port,
		.ssl_connection = LCCSCF_USE_SSL,
		.path = LINK_PATH,
		.host = all.server_name,
		.origin = all.server_name,
		.protocol = LINK_SUBPROTOCOL,
		.local_protocol_name = LINK_SUBPROTOCOL,
		.alpn = "http/1.1",
		.userdata = l,
		.pwsi = &l->wsi,
		.retry_and_idle_policy = &no_idle_policy,
	};
	lws_client_connect_via_info(&info); /* a failure comes as CLIENT_CONNECTION_ERROR */
}

static void not_connecting(struct link *l)
{
	if (!l->connecting)
		return;
	l->connecting = false;
	all.connecting--;
}

static void retry_later(struct link *l)
{
	int64_t ms = link_backoff_ms(++l->failures, (uint32_t)rand());
	lws_sul_schedule(all.context, 0, &l->retry, on_retry, ms * LWS_US_PER_MS);
}

static size_t link_count(void)
{
	return all.node_count * (size_t)all.controller_count;
}
static void say_up(void)
{
	size_t percent = all.open * 100 / (link_count() ? link_count() : 1);
	if (percent == all.said && all.open && all.open < link_count())
		return;
	all.said = percent;
	printf("up %" PRId64 " %zu\n", wall_us(), all.open);
}

static void on_gone(struct link *l)
{
	not_connecting(l);
	if (l->open) {
		l->open = false;
		all.open--;
		say_up();
	}
	l->wsi = NULL;
	buf_fini(&l->incoming);
	for (struct mail *m = l->first, *next; m; m = next) {
		next = m->next;
		free(m);
	}
	l->first = l->last = NULL;
	retry_later(l);
	start_some();
}

/* As many hand-shakes at once as was asked for: a fleet spreads its own over its back-off. */
static void start_some(void)
{
	while (all.next < link_count() && all.connecting < all.at_once) {
		struct node *n = &all.nodes[all.next / (size_t)all.controller_count];
		on_retry(&n->links[all.next++ % (size_t)all.controller_count].retry);
	}
}

static void post(struct link *l, const struct link_msg *m)
{
	AUTO_FREE char *text = link_msg_encode(m, NULL);
	size_t len = strlen(text) + 1;
	struct mail *mail = mem_alloc(sizeof *mail + len);
	memcpy(mail->text, text, len);
	*(l->last ? &l->last->next : &l->first) = mail;
	l->last = mail;
	lws_callback_on_writable(l->wsi);
}

static int write_one(struct link *l)
{
	AUTO_FREE struct mail *mail = l->first;
	if (!mail)
		return 0;
	l->first = mail->next;
	l->last = l->first ? l->last : NULL;
	return link_frame_send(l->wsi, mail->text);
}

static void say_hello(struct link *l)
{
	struct link_msg m = {.type = LINK_MSG_HELLO, .epoch = l->node->highest_epoch};
	strcpy(m.u.hello.agent_version, "0.0.0-played");
	snprintf(m.u.hello.boot_id, sizeof m.u.hello.boot_id, "%.30s", l->node->name);
	strcpy(m.u.hello.mode, "hostPID");
	m.u.hello.perf_events = true;
	m.u.hello.profilers = profiler_kinds();
	post(l, &m);
}

static void tell_one(struct link *l, const struct job *j)
{
	struct link_msg m = {.type = LINK_MSG_JOB, .u.job = j->state}; /* borrowed for the encoding */
	post(l, &m);
}

static void tell(const struct job *j)
{
	for (int i = 0; i < all.controller_count; i++) {
		if (j->node->links[i].open)
			tell_one(&j->node->links[i], j);
	}
}

static void on_open(struct link *l)
{
	not_connecting(l);
	l->open = true;
	l->failures = 0;
	buf_init(&l->incoming, LINK_MESSAGE_MAX);
	all.open++;
	say_up();
	say_hello(l);
	for (struct job *j = l->node->jobs; j; j = j->next)
		tell_one(l, j);
	start_some();
}

/* jobs ----------------------------------------------------------------------------------------------------------------- */

static void end_job(struct job *j, enum job_phase phase)
{
	j->state.phase = phase;
	j->state.completed_wall_ms = clock_wall_ms();
	j->state.headline = mem_strdup("84% of CPU in Tax.Compute");
	j->state.diagnosis = mem_strdup("84% of CPU in Tax.Compute\ncalled from Cart.Total");
	tell(j);
}

static void on_done(lws_sorted_usec_list_t *sul)
{
	end_job(lws_container_of(sul, struct job, timer), JOB_SUCCEEDED);
}

static struct job *find_job(struct node *n, const char *id)
{
	struct job *j = n->jobs;
	while (j && strcmp(j->state.job_id, id) != 0)
		j = j->next;
	return j;
}

static void take_order(struct node *n, const struct link_msg *m)
{
	const struct link_order *o = &m->u.order;
	struct job *j = find_job(n, o->job_id);
	printf("%s %" PRId64 " %s/%s %s %s %" PRId64 "\n", j ? "again" : "order", wall_us(), o->session_namespace, o->session_name, n->name,
	       o->job_id, m->epoch);
	if (!j) {
		j = mem_alloc(sizeof *j);
		j->node = n;
		snprintf(j->state.job_id, sizeof j->state.job_id, "%s", o->job_id);
		j->state.session_namespace = mem_strdup(o->session_namespace);
		j->state.session_name = mem_strdup(o->session_name);
		j->state.phase = JOB_PROFILING;
		j->state.started_wall_ms = clock_wall_ms();
		j->next = n->jobs;
		n->jobs = j;
		lws_sul_schedule(all.context, 0, &j->timer, on_done, all.work_ms * LWS_US_PER_MS);
	}
	tell(j);
}

static void cancel_job(struct node *n, const char *id)
{
	struct job *j = find_job(n, id);
	if (j && !job_phase_is_final(j->state.phase)) {
		lws_sul_cancel(&j->timer);
		end_job(j, JOB_CANCELED);
	}
}

static void forget_job(struct node *n, const char *id)
{
	for (struct job **p = &n->jobs; *p; p = &(*p)->next) {
		struct job *j = *p;
		if (strcmp(j->state.job_id, id) != 0)
			continue;
		*p = j->next;
		lws_sul_cancel(&j->timer);
		link_job_fini(&j->state);
		free(j);
		return;
	}
}

static void answer_usage(struct link *l, const struct link_msg *q)
{
	struct link_msg m = {.type = LINK_MSG_USAGE};
	m.u.usage.request_id = q->u.usage_query.request_id;
	m.u.usage.count = q->u.usage_query.count;
	m.u.usage.pods = mem_calloc(m.u.usage.count ? m.u.usage.count : 1, sizeof *m.u.usage.pods);
	for (size_t i = 0; i < m.u.usage.count; i++) {
		memcpy(m.u.usage.pods[i].pod_uid, q->u.usage_query.pod_uids[i], sizeof m.u.usage.pods[i].pod_uid);
		m.u.usage.pods[i].cpu_millicores = 10;
		m.u.usage.pods[i].memory_bytes = 1 << 20;
	}
	post(l, &m);
	free(m.u.usage.pods);
}

static bool obeys(struct link *l, const struct link_msg *m)
{
	enum link_fence fence = link_fence_check(l->node->highest_epoch, m->epoch);
	if (fence == LINK_FENCE_STALE) {
		if (m->type == LINK_MSG_ORDER)
			printf("stale %" PRId64 " %s/%s %s %s %" PRId64 "\n", wall_us(), m->u.order.session_namespace, m->u.order.session_name,
			       l->node->name, m->u.order.job_id, m->epoch);
		say_hello(l);
		return false;
	}
	if (fence == LINK_FENCE_RAISE)
		l->node->highest_epoch = m->epoch;
	return true;
}

static void handle(struct link *l, const struct link_msg *m)
{
	bool of_leader = m->type == LINK_MSG_LEADER || m->type == LINK_MSG_ORDER || m->type == LINK_MSG_CANCEL || m->type == LINK_MSG_FORGET;
	if (of_leader && !obeys(l, m))
		return;
	if (m->type == LINK_MSG_CANCEL || m->type == LINK_MSG_FORGET)
		printf("%s %" PRId64 " %s %s %" PRId64 "\n", m->type == LINK_MSG_CANCEL ? "cancel" : "forget", wall_us(), l->node->name, m->job_id, m->epoch);
	switch (m->type) {
	case LINK_MSG_ORDER:
		take_order(l->node, m);
		return;
	case LINK_MSG_CANCEL:
		cancel_job(l->node, m->job_id);
		return;
	case LINK_MSG_FORGET:
		forget_job(l->node, m->job_id);
		return;
	case LINK_MSG_USAGE_QUERY:
		answer_usage(l, m);
		return;
	default:
		return;
	}
}

static int receive(struct link *l, const char *data, size_t len, bool last)
{
	int appended = buf_append(&l->incoming, data, len);
	if (appended < 0 || !last)
		return appended < 0 ? -1 : 0;
	struct link_msg *m = mem_alloc(sizeof *m);
	int rc = link_msg_decode(buf_str(&l->incoming), l->incoming.len, m, NULL);
	buf_fini(&l->incoming);
	if (rc == 0) {
		handle(l, m);
		link_msg_fini(m);
	}
	free(m);
	return rc;
}

/* lws ------------------------------------------------------------------------------------------------------------------ */

static int on_lws(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct link *l = user;
	switch (reason) {
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER: {
		AUTO_FREE char *value = mem_printf("Bearer %s", l->node->token);
		unsigned char **p = in;
		return lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, (const unsigned char *)value, (int)strlen(value), p, *p + len);
	}
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		on_open(l);
		return 0;
	case LWS_CALLBACK_CLIENT_RECEIVE:
		return receive(l, in, len, lws_is_final_fragment(wsi) && lws_remaining_packet_payload(wsi) == 0);
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		return write_one(l);
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
	case LWS_CALLBACK_CLIENT_CLOSED:
		on_gone(l);
		return 0;
	default:
		return 0;
	}
}

static int make_context(void)
{
	all.loop = ev_default_loop(EVBACKEND_EPOLL);
	static const struct lws_protocols protocols[] = {{.name = LINK_SUBPROTOCOL, .callback = on_lws, .rx_buffer_size = 4096}, {.name = NULL}};
	struct lws_context_creation_info info = {
		.port = CONTEXT_PORT_NO_LISTEN,
		.protocols = protocols,
		.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS | LWS_SERVER_OPTION_LIBEV,
		.foreign_loops = (void *[]){all.loop},
		.gid = (gid_t)-1,
		.uid = (uid_t)-1,
		.fd_limit_per_thread = (unsigned)link_count() + 64,
		.pt_serv_buf_size = 8192,
		.max_http_header_data = 2048,
		.connect_timeout_secs = 60,
		.timeout_secs = 60,
		.client_ssl_ca_filepath = all.ca,
	};
	lws_set_log_level(LLL_ERR, NULL);
	all.context = all.loop ? lws_create_context(&info) : NULL;
	return all.context ? 0 : -1;
}

/* start ---------------------------------------------------------------------------------------------------------------- */

static int read_tokens(const char *path)
{
	FILE *f = fopen(path, "r");
	if (!f)
		return -1;
	AUTO_FREE char *line = mem_alloc(LINE_MAX_BYTES);
	while (fgets(line, LINE_MAX_BYTES, f)) {
		char *rest = NULL, *name = strtok_r(line, " \n", &rest), *token = strtok_r(NULL, " \n", &rest);
		if (!token)
			continue;
		GROW(all.nodes, all.node_count, all.node_cap);
		all.nodes[all.node_count++] = (struct node){.name = mem_strdup(name), .token = mem_strdup(token)};
	}
	fclose(f);
	for (size_t i = 0; i < all.node_count; i++) {
		for (int k = 0; k < all.controller_count; k++)
			all.nodes[i].links[k] = (struct link){.node = &all.nodes[i], .controller = k};
	}
	return all.node_count ? 0 : -1;
}

static void read_controllers(char *text)
{
	char *rest = NULL, *colon;
	for (char *word = strtok_r(text, ",", &rest); word && all.controller_count < MAX_CONTROLLERS; word = strtok_r(NULL, ",", &rest)) {
		if (!(colon = strrchr(word, ':')))
			continue;
		snprintf(all.controllers[all.controller_count].address, sizeof all.controllers[0].address, "%.*s", (int)(colon - word), word);
		all.controllers[all.controller_count++].port = atoi(colon + 1);
	}
}

static char *argument(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	}
	return NULL;
}

/* The end of the input is the end of who started us. */
static bool has_input_ended(void)
{
	char text[256];
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	return poll(&p, 1, 0) > 0 && read(STDIN_FILENO, text, sizeof text) <= 0;
}

static bool stopped;

static void on_input(lws_sorted_usec_list_t *sul)
{
	stopped = has_input_ended();
	lws_sul_schedule(all.context, 0, sul, on_input, INPUT_EVERY_US);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	char *controllers = argument(argc, argv, "--controllers"), *tokens = argument(argc, argv, "--tokens");
	const char *work = argument(argc, argv, "--work-ms"), *at_once = argument(argc, argv, "--at-once");
	all.server_name = argument(argc, argv, "--server-name"), all.ca = argument(argc, argv, "--ca");
	all.work_ms = work ? atoll(work) : 1000;
	all.at_once = at_once ? (size_t)atoll(at_once) : 200;
	struct rlimit files = {65536, 65536};
	if (!controllers || !tokens || !all.server_name || !all.ca || (setrlimit(RLIMIT_NOFILE, &files) < 0 && getrlimit(RLIMIT_NOFILE, &files) < 0))
		return 2;
	read_controllers(controllers);
	if (read_tokens(tokens) < 0 || make_context() < 0)
		return 1;
	static lws_sorted_usec_list_t input_timer;
	lws_sul_schedule(all.context, 0, &input_timer, on_input, INPUT_EVERY_US);
	start_some();
	while (!stopped && ev_run(all.loop, EVRUN_ONCE))
		;
	return 0; /* the kernel closes the links */
}
