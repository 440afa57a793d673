/* The controller with a fake in the place of its agents' links, for tests of what it does towards the API server: the seam
 * is agent_hub.h. Lines on standard input play the agents, lines on standard output show what agents would get.
 *
 *   in:   link NODE HIGHEST_EPOCH [old] [completes] | unlink NODE | job NODE {a job message} | complete NODE EPOCH | usage POD_UID MILLICORES
 *         started NODE POD_UID
 *         upload NODE JOB_ID       (prints "upload 0 STORE PREFIX" or "upload -1 MESSAGE")
 *         fire NAMESPACE TRIGGER {"source", "dedup", "pod", "container", "message", "times"}     (prints "fired REASON SESSION MESSAGE" for each)
 *   out:  order|cancel|forget EPOCH NODE {...} , await EPOCH SECONDS NODE-OR-* UID@NODE:HERTZ,... , epoch N , ready
 *
 * usage: fake-hub --kubeconfig FILE --lease-namespace NS [--namespaces A,B] [--workers N] [--watch-stall MS]
 * [--stream-above N] [--no-starts yes]; ends on SIGTERM or end of input. */
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/http.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "controller/daemon/controller.h"
#include "controller/daemon/controller_links.h"
#include "controller/store/object_store.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#define MAX_NODES 64
#define MAX_USAGE 64

struct agent_hub {
	pthread_mutex_t lock;
	char nodes[MAX_NODES][64];
	unsigned profilers[MAX_NODES]; /* that the node's agent knows */
	bool completes[MAX_NODES];     /* it says when it has told of all its jobs */
	int64_t highest;
	int64_t epoch;
	struct link_pod_usage usage[MAX_USAGE];
	size_t usage_count;
};

static struct agent_hub hub = {.lock = PTHREAD_MUTEX_INITIALIZER};

static char *node_slot(const char *node, bool add)
{
	for (int pass = 0; pass < (add ? 2 : 1); pass++) {
		for (int i = 0; i < MAX_NODES; i++) {
			if (strcmp(hub.nodes[i], pass ? "" : node) == 0)
				return hub.nodes[i];
		}
	}
	return NULL;
}

bool agent_hub_lookup(struct agent_hub *h, const char *node, struct agent_info *out)
{
	pthread_mutex_lock(&h->lock);
	char *slot = node_slot(node, false);
	ptrdiff_t i = slot ? (slot - h->nodes[0]) / (ptrdiff_t)sizeof h->nodes[0] : 0;
	*out = (struct agent_info){.perf_events = true, .profilers = slot ? h->profilers[i] : 0, .jobs_complete = slot && h->completes[i],
				   .version = "0.0.7"};
	pthread_mutex_unlock(&h->lock);
	return slot != NULL;
}

static int send_message(struct agent_hub *h, const char *verb, const char *node, struct link_msg *m, struct err *e)
{
	pthread_mutex_lock(&h->lock);
	m->epoch = h->epoch;
	bool linked = node_slot(node, false) != NULL;
	if (linked && h->epoch) {
		AUTO_FREE char *text = link_msg_encode(m, NULL);
		printf("%s %" PRId64 " %s %s\n", verb, h->epoch, node, text ? text : "too-large");
		fflush(stdout);
	}
	int64_t epoch = h->epoch;
	pthread_mutex_unlock(&h->lock);
	if (!epoch)
		return err_set(e, ERR_DENIED, 0, "not the leader");
	return linked ? 0 : err_set(e, ERR_NOT_FOUND, 0, "no agent is linked from %s", node);
}

int agent_hub_order(struct agent_hub *h, const char *node, const struct link_order *o, struct err *e)
{
	struct link_msg *m = mem_alloc(sizeof *m);
	m->type = LINK_MSG_ORDER;
	m->u.order = *o;
	int rc = send_message(h, "order", node, m, e);
	free(m);
	return rc;
}

static int send_about(struct agent_hub *h, enum link_msg_type type, const char *verb, const char *node, const char *job_id, struct err *e)
{
	struct link_msg *m = mem_alloc(sizeof *m);
	m->type = type;
	snprintf(m->job_id, sizeof m->job_id, "%s", job_id);
	int rc = send_message(h, verb, node, m, e);
	free(m);
	return rc;
}

int agent_hub_cancel(struct agent_hub *h, const char *node, const char *job_id, struct err *e)
{
	return send_about(h, LINK_MSG_CANCEL, "cancel", node, job_id, e);
}

int agent_hub_forget(struct agent_hub *h, const char *node, const char *job_id, struct err *e)
{
	return send_about(h, LINK_MSG_FORGET, "forget", node, job_id, e);
}

void agent_hub_usage(struct agent_hub *h, const char *const *nodes, struct link_pod_usage *pods, size_t count, int64_t window_ms, int64_t deadline_ms)
{
	(void)nodes, (void)window_ms, (void)deadline_ms;
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < h->usage_count; k++) {
			if (strcmp(pods[i].pod_uid, h->usage[k].pod_uid) == 0)
				pods[i].cpu_millicores = h->usage[k].cpu_millicores;
		}
	}
	pthread_mutex_unlock(&h->lock);
}

/* What agents are asked on behalf of people and triggers: none is played here. */
int agent_hub_send(struct agent_hub *h, const char *node, const struct link_msg *m, struct err *e)
{
	(void)h, (void)m;
	return err_set(e, ERR_NOT_FOUND, 0, "no agent is linked from %s", node);
}

int agent_hub_observe(struct agent_hub *h, const char *node, const struct link_observation *items, size_t count, int64_t valid_seconds, struct err *e)
{
	(void)h, (void)items, (void)count, (void)valid_seconds;
	return err_set(e, ERR_NOT_FOUND, 0, "no agent is linked from %s", node);
}

size_t agent_hub_await_starts(struct agent_hub *h, const char *node, int64_t valid_seconds, const struct awaited_pod *pods, size_t count)
{
	pthread_mutex_lock(&h->lock);
	size_t told = 0;
	for (int i = 0; i < MAX_NODES; i++)
		told += h->nodes[i][0] && (!node || strcmp(h->nodes[i], node) == 0);
	printf("await %" PRId64 " %" PRId64 " %s ", h->epoch, valid_seconds, node ? node : "*");
	for (size_t i = 0; i < count; i++)
		printf("%s%s@%s:%" PRId64, i ? "," : "", pods[i].pod.uid, pods[i].node, pods[i].pod.frequency_hertz);
	puts("");
	fflush(stdout);
	pthread_mutex_unlock(&h->lock);
	return told;
}

void agent_hub_set_epoch(struct agent_hub *h, int64_t epoch)
{
	pthread_mutex_lock(&h->lock);
	h->epoch = epoch;
	printf("epoch %" PRId64 "\n", epoch);
	fflush(stdout);
	pthread_mutex_unlock(&h->lock);
}

int64_t agent_hub_highest_epoch(struct agent_hub *h, int64_t most)
{
	pthread_mutex_lock(&h->lock);
	int64_t n = h->highest <= most ? h->highest : 0;
	pthread_mutex_unlock(&h->lock);
	return n;
}

size_t agent_hub_count(struct agent_hub *h)
{
	size_t n = 0;
	pthread_mutex_lock(&h->lock);
	for (int i = 0; i < MAX_NODES; i++)
		n += h->nodes[i][0] != '\0';
	pthread_mutex_unlock(&h->lock);
	return n;
}

static void set_link(const struct agent_hub_callbacks *cb, const char *node, bool up, int64_t highest, unsigned profilers, bool completes)
{
	pthread_mutex_lock(&hub.lock);
	char *slot = node_slot(node, up);
	if (slot) {
		ptrdiff_t i = (slot - hub.nodes[0]) / (ptrdiff_t)sizeof hub.nodes[0];
		hub.profilers[i] = profilers;
		hub.completes[i] = completes;
		snprintf(slot, 64, "%s", up ? node : "");
	}
	if (highest > hub.highest)
		hub.highest = highest;
	pthread_mutex_unlock(&hub.lock);
	cb->on_node(cb->ctx, node, up, highest);
}

static void set_usage(const char *uid, int64_t millicores)
{
	pthread_mutex_lock(&hub.lock);
	struct link_pod_usage *u = &hub.usage[hub.usage_count++ % MAX_USAGE];
	snprintf(u->pod_uid, sizeof u->pod_uid, "%.39s", uid);
	u->cpu_millicores = millicores;
	pthread_mutex_unlock(&hub.lock);
}

static void ask_upload(const struct agent_hub_callbacks *cb, const char *node, const char *job_id)
{
	char store[64], prefix[512];
	struct link_report r = {.name = "summary.md"};
	struct err e = ERR_INIT;
	int rc = cb->on_upload(cb->ctx, node, job_id, &r, store, prefix, &e);
	pthread_mutex_lock(&hub.lock);
	if (rc == 0)
		printf("upload 0 %s %s\n", store, prefix);
	else
		printf("upload -1 %s: %s\n", err_kind_name(e.kind), e.message);
	fflush(stdout);
	pthread_mutex_unlock(&hub.lock);
}

static void on_outcome(void *ctx, const struct trigger_outcome *o)
{
	static const char *const verdicts[] = {"FIRED", "SUPPRESSED", "REFUSED", "TRY_AGAIN"};
	(void)ctx;
	pthread_mutex_lock(&hub.lock);
	printf("fired %s/%s %s %s\n", verdicts[o->verdict], o->reason, o->session[0] ? o->session : "-", o->message);
	fflush(stdout);
	pthread_mutex_unlock(&hub.lock);
}

static void fire(struct triggers *t, const char *namespace, const char *trigger, const char *text)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(text, strlen(text), "firing", &e);
	struct trigger_firing f = {
		.namespace = namespace,
		.trigger = trigger,
		.source = (enum trigger_source)jsonx_int_at(doc, "source", TRIGGER_ALERTMANAGER),
		.dedup = jsonx_str_at(doc, "dedup", "?"),
		.pod_name = jsonx_str_at(doc, "pod", NULL),
		.container = jsonx_str_at(doc, "container", NULL),
		.message = jsonx_str_at(doc, "message", "a test fired it"),
	};
	for (int64_t n = jsonx_int_at(doc, "times", 1); n > 0; n--) {
		if (triggers_fire(t, &f, on_outcome, NULL, &e) == 0)
			continue;
		struct trigger_outcome o = {.verdict = TRIGGER_REFUSED, .reason = err_kind_name(e.kind)};
		snprintf(o.message, sizeof o.message, "%s", e.message);
		on_outcome(NULL, &o);
	}
}

static void play(struct controller *c, const struct agent_hub_callbacks *cb, char *line)
{
	char verb[16] = "", node[64] = "", third[64] = "";
	int at = 0;
	sscanf(line, "%15s %63s %n%63s", verb, node, &at, third);
	if (strcmp(verb, "link") == 0 || strcmp(verb, "unlink") == 0)
		set_link(cb, node, verb[0] == 'l', strtoll(third, NULL, 10),
			 strstr(line, " oldest") ? 0 : strstr(line, " old") ? 1u << PROFILER_CPU_HOTPATHS : profiler_kinds(),
			 strstr(line, " completes") != NULL);
	else if (strcmp(verb, "complete") == 0)
		cb->on_jobs_complete(cb->ctx, node, strtoll(third, NULL, 10));
	else if (strcmp(verb, "usage") == 0)
		set_usage(node, strtoll(third, NULL, 10));
	else if (strcmp(verb, "started") == 0)
		cb->on_started(cb->ctx, node, third, "c");
	else if (strcmp(verb, "upload") == 0)
		ask_upload(cb, node, third);
	else if (strcmp(verb, "fire") == 0)
		fire(controller_triggers(c), node, third, strchr(line, '{'));
	else if (strcmp(verb, "job") == 0) {
		struct link_msg *m = mem_alloc(sizeof *m);
		struct err e = ERR_INIT;
		if (link_msg_decode(line + at, strlen(line + at), m, &e) < 0)
			LOG_ERROR("fake-hub", "bad job", LOG_S("error", e.message));
		else
			cb->on_job(cb->ctx, node, &m->u.job);
		link_msg_fini(m);
		free(m);
	}
}

static void serve(struct controller *c, const struct agent_hub_callbacks *cb, int signal_fd)
{
	struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
	AUTO_BUF struct buf input;
	buf_init(&input, 1024 * 1024);
	int64_t tick_ms = clock_mono_ms();
	for (;;) {
		poll(p, 2, 200);
		if (p[1].revents)
			return;
		if (clock_mono_ms() - tick_ms >= 1000) {
			controller_tick(c);
			tick_ms = clock_mono_ms();
		}
		if (!p[0].revents)
			continue;
		char chunk[4096];
		ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
		if (n <= 0 || buf_append(&input, chunk, (size_t)n) < 0)
			return;
		for (char *end; input.len && (end = memchr(input.data, '\n', input.len));) {
			*end = '\0';
			play(c, cb, input.data);
			buf_consume(&input, (size_t)(end - input.data) + 1);
		}
	}
}

static const char *argument(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	AUTO_FD int signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	log_configure(LOG_LEVEL_DEBUG, LOG_FORMAT_JSON);
	struct err e = ERR_INIT;
	struct kube_config kube = {0};
	const char *pods = argument(argc, argv, "--max-pods"), *per_node = argument(argc, argv, "--max-pods-per-node");
	const char *workers = argument(argc, argv, "--workers"), *stall = argument(argc, argv, "--watch-stall");
	const char *above = argument(argc, argv, "--stream-above"), *stores_text = argument(argc, argv, "--stores");
	struct object_stores *stores = stores_text ? object_stores_parse(stores_text, strlen(stores_text), NULL, &e) : NULL;
	struct controller_options o = {.kube = &kube, .no_starts = argument(argc, argv, "--no-starts") != NULL,
				       .namespaces = argument(argc, argv, "--namespaces"), .lease_name = "drdotnet-controller",
				       .lease_namespace = argument(argc, argv, "--lease-namespace"), .worker_count = workers ? atoi(workers) : 2,
				       .max_pods = pods ? atoi(pods) : 1000,
				       .max_pods_per_node = per_node ? atoi(per_node) : 1000,
				       .watch_stall_ms = stall ? atoi(stall) : 0,
				       .stores = stores,
				       .watch_page_limit = above ? 1 : 0,
				       .watch_stream_above = above ? atoi(above) : 0};
	struct controller *c = NULL;
	struct agent_hub_callbacks cb;
	int rc = -1;
	if (http_global_init(&e) == 0 && kube_config_load(argument(argc, argv, "--kubeconfig"), NULL, &kube, &e) == 0 && (c = controller_new(&o, &e))) {
		controller_hub_callbacks(c, &cb);
		rc = controller_start(c, &hub, signal_fd, &e);
	}
	if (rc == 0) {
		puts("ready");
		fflush(stdout);
		serve(c, &cb, signal_fd);
	} else {
		LOG_ERROR("fake-hub", "not started", LOG_S("error", e.message));
	}
	if (c)
		controller_stop(c);
	controller_free(c);
	object_stores_free(stores);
	kube_config_fini(&kube);
	return rc == 0 ? 0 : 1;
}
