/* The real link server in a small program: the test says on stdin what the reconciler would do, and reads on stdout what
 * it would learn, one JSON object a line.
 *
 * usage: hub_tool KUBECONFIG CERT KEY STORE_FOLDER [NAMESPACE:ACCOUNT]
 * stdin: epoch N | order NODE JOB [CONTAINER_ID|- [SECONDS [DEADLINE_SECONDS [POD_UID [PROFILER]]]]] | cancel NODE JOB | forget NODE JOB |
 *        flood NODE COUNT | usage NODE UID... | count | cert CERT KEY | ready 0|1 | uploads 0|1 | disk 0|1 | hang CALL | quit
 * Environment: HUB_BIND, HUB_PORT, HUB_UPLOAD_BASE, HUB_MAX_CONNECTIONS, HUB_MAX_STORE_CALLS, HUB_HANDSHAKE_MS, HUB_LINK_TIMEOUT_S, HUB_POD_UID,
 * HUB_DEBUG. */
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/http.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "controller/link/agent_hub.h"
#include "controller/kube/kube_config.h"
#include "controller/link/link_server.h"
#include "controller/store/object_store.h"
#include "controller/store/report_store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAUSE_BUDGET_MS 5000 /* for walks of heaps on a machine that does other things too */
#define PEM_MAX 65536

static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool ready = true, uploads = true;

static void say(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	pthread_mutex_lock(&out_lock);
	vprintf(fmt, args);
	putchar('\n');
	fflush(stdout);
	pthread_mutex_unlock(&out_lock);
	va_end(args);
}

/* The store's disk hangs while it is told to: these are called in the place of the C library's. */
static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t disk_changed = PTHREAD_COND_INITIALIZER;
static char disk_hangs[16]; /* at this call, or at "any"; "": it is well */

static void hang_disk(const char *call)
{
	pthread_mutex_lock(&disk_lock);
	snprintf(disk_hangs, sizeof disk_hangs, "%s", call);
	pthread_cond_broadcast(&disk_changed);
	pthread_mutex_unlock(&disk_lock);
}

static void set_disk(bool well)
{
	hang_disk(well ? "" : "any");
	say("{\"event\":\"disk\",\"well\":%s}", well ? "true" : "false");
}

static void wait_for_disk(const char *call)
{
	pthread_mutex_lock(&disk_lock);
	bool hangs = strcmp(disk_hangs, "any") == 0 || strcmp(disk_hangs, call) == 0;
	if (hangs)
		say("{\"event\":\"hangs\",\"call\":\"%s\"}", call);
	while (hangs && disk_hangs[0])
		pthread_cond_wait(&disk_changed, &disk_lock);
	pthread_mutex_unlock(&disk_lock);
}

static bool is_on_disk(int fd)
{
	struct stat st;
	return fd > 2 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

int openat(int dir_fd, const char *path, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (strncmp(path, ".upload-t", 9) == 0)
		wait_for_disk("openat");
	return (int)syscall(SYS_openat, dir_fd, path, flags, mode);
}

int fsync(int fd)
{
	wait_for_disk("fsync");
	return (int)syscall(SYS_fsync, fd);
}

ssize_t read(int fd, void *out, size_t size)
{
	if (is_on_disk(fd))
		wait_for_disk("read");
	return syscall(SYS_read, fd, out, size);
}

ssize_t write(int fd, const void *data, size_t size)
{
	if (is_on_disk(fd))
		wait_for_disk("write");
	return syscall(SYS_write, fd, data, size);
}

static void on_node(void *ctx, const char *node, bool linked, int64_t epoch)
{
	(void)ctx;
	say("{\"event\":\"node\",\"node\":\"%s\",\"linked\":%s,\"epoch\":%" PRId64 "}", node, linked ? "true" : "false", epoch);
}

static void on_jobs_complete(void *ctx, const char *node, int64_t epoch)
{
	(void)ctx;
	say("{\"event\":\"complete\",\"node\":\"%s\",\"epoch\":%" PRId64 "}", node, epoch);
}

static void on_job(void *ctx, const char *node, const struct link_job *j)
{
	(void)ctx;
	size_t delivered = 0;
	for (size_t i = 0; i < j->report_count; i++)
		delivered += j->reports[i].delivered;
	AUTO_BUF struct buf message;
	buf_init(&message, 8192);
	text_append_json(&message, j->message ? j->message : "", j->message ? strlen(j->message) : 0);
	say("{\"event\":\"job\",\"node\":\"%s\",\"job\":\"%s\",\"phase\":\"%s\",\"reason\":\"%s\",\"reports\":%zu,\"place\":%" PRId64
	    ",\"delivered\":%zu,\"diagnosis\":%s,\"started\":%" PRId64 ",\"completed\":%" PRId64 ",\"message\":%s}",
	    node, j->job_id, job_phase_name(j->phase), j->reason ? j->reason : "", j->report_count, j->queue_position, delivered,
	    j->headline && j->headline[0] && j->diagnosis ? "true" : "false", j->started_wall_ms, j->completed_wall_ms, buf_str(&message));
}

static int on_upload(void *ctx, const char *node, const char *job_id, const struct link_report *r, char store[64], char prefix[512], struct err *e)
{
	(void)ctx;
	say("{\"event\":\"upload\",\"node\":\"%s\",\"job\":\"%s\",\"report\":\"%s\"}", node, job_id, r->name);
	if (strncmp(job_id, "denied", 6) == 0)
		return err_set(e, ERR_DENIED, 0, "the report %s is not allowed", r->name);
	if (!uploads)
		return err_set(e, ERR_RETRY, 0, "told to take no reports now");
	strcpy(store, "default");
	snprintf(prefix, 512, "shop/session-01234567/pod-0/");
	return 0;
}

static bool is_ready(void *ctx, struct buf *why)
{
	(void)ctx;
	if (!ready)
		buf_puts(why, "told not to be\n");
	return ready;
}

static char *read_pem(const char *path)
{
	struct buf b;
	struct err e = ERR_INIT;
	if (fsio_read(AT_FDCWD, path, PEM_MAX, &b, &e) < 0) {
		fprintf(stderr, "%s\n", e.message);
		exit(1);
	}
	return buf_steal(&b);
}

static void answer(int rc, const struct err *e)
{
	say("{\"event\":\"answer\",\"ok\":%s,\"kind\":\"%s\"}", rc == 0 ? "true" : "false", rc == 0 ? "" : err_kind_name(e->kind));
}

/* Words after the command: NODE JOB [CONTAINER_ID|- [SECONDS [DEADLINE_SECONDS [POD_UID [PROFILER]]]]]. */
static int order(struct agent_hub *h, char **w, size_t n, struct err *e)
{
	struct link_order o = {.deadline_wall_ms = clock_wall_ms() + (n > 4 ? atoi(w[4]) : 60) * 1000LL};
	o.left_ms = o.deadline_wall_ms - clock_wall_ms();
	snprintf(o.job_id, sizeof o.job_id, "%s", w[1]);
	strcpy(o.session_namespace, "shop");
	strcpy(o.session_name, "session");
	strcpy(o.session_uid, "01234567-89ab-cdef-0123-456789abcdef");
	strcpy(o.pod_namespace, "shop");
	strcpy(o.pod_name, "pod-0");
	const char *uid = n > 5 ? w[5] : getenv("HUB_POD_UID");
	snprintf(o.pod_uid, sizeof o.pod_uid, "%s", uid ? uid : "76543210-89ab-cdef-0123-456789abcdef");
	if (n > 2 && strcmp(w[2], "-") != 0) {
		strcpy(o.containers[0].name, "app");
		snprintf(o.containers[0].id, sizeof o.containers[0].id, "%s", w[2]);
		o.container_count = 1;
	}
	enum profiler_kind kind = PROFILER_CPU_HOTPATHS;
	if (n > 6 && profiler_kind_parse(w[6], &kind) < 0)
		return err_set(e, ERR_INVALID, 0, "no such profiler: %s", w[6]);
	session_spec_init(&o.spec, kind);
	if (kind != PROFILER_CPU_HOTPATHS)
		o.spec.pause_budget_ms = PAUSE_BUDGET_MS;
	o.spec.target.pod_name = mem_strdup("pod-0");
	if (!profiler_takes_one_look(kind))
		o.spec.duration_seconds = n > 3 ? atoi(w[3]) : 1;
	int rc = agent_hub_order(h, w[0], &o, e);
	session_spec_fini(&o.spec);
	return rc;
}

/* Many orders at once, as for an agent that does not read. */
static void flood(struct agent_hub *h, const char *node, int count)
{
	int sent = 0, full = 0;
	for (int i = 0; i < count; i++) {
		struct err e = ERR_INIT;
		char job[32];
		snprintf(job, sizeof job, "flood-%d", i);
		char *words[] = {(char *)(uintptr_t)node, job};
		if (order(h, words, 2, &e) == 0)
			sent++;
		else
			full += e.kind == ERR_RETRY;
	}
	say("{\"event\":\"flooded\",\"sent\":%d,\"full\":%d}", sent, full);
}

static void usage(struct agent_hub *h, char **words, size_t count)
{
	struct link_pod_usage pods[16] = {0};
	const char *nodes[16];
	for (size_t i = 0; i < count && i < 16; i++) {
		nodes[i] = words[0];
		snprintf(pods[i].pod_uid, sizeof pods[i].pod_uid, "%s", words[i + 1]);
	}
	int64_t began = clock_mono_ms();
	agent_hub_usage(h, nodes, pods, count, 50, began + 2000);
	for (size_t i = 0; i < count; i++)
		say("{\"event\":\"usage\",\"uid\":\"%s\",\"cpu\":%" PRId64 ",\"memory\":%" PRId64 ",\"took\":%" PRId64 "}", pods[i].pod_uid,
		    pods[i].cpu_millicores, pods[i].memory_bytes, clock_mono_ms() - began);
}

static bool obey(struct link_server *s, char **w, size_t n)
{
	struct agent_hub *h = link_server_hub(s);
	struct err e = ERR_INIT;
	if (strcmp(w[0], "quit") == 0)
		return false;
	if (strcmp(w[0], "epoch") == 0 && n == 2) {
		agent_hub_set_epoch(h, strtoll(w[1], NULL, 10));
	} else if (strcmp(w[0], "order") == 0 && n >= 3) {
		int rc = order(h, w + 1, n - 1, &e);
		answer(rc, &e);
	} else if (strcmp(w[0], "await") == 0 && n == 2) {
		say("{\"event\":\"await\",\"agents\":%zu}", agent_hub_await_starts(h, NULL, strtoll(w[1], NULL, 10), NULL, 0));
	} else if (strcmp(w[0], "flood") == 0 && n == 3) {
		flood(h, w[1], atoi(w[2]));
	} else if (strcmp(w[0], "cancel") == 0 && n == 3) {
		int rc = agent_hub_cancel(h, w[1], w[2], &e);
		answer(rc, &e);
	} else if (strcmp(w[0], "forget") == 0 && n == 3) {
		int rc = agent_hub_forget(h, w[1], w[2], &e);
		answer(rc, &e);
	} else if (strcmp(w[0], "usage") == 0 && n >= 3) {
		usage(h, w + 1, n - 2);
	} else if (strcmp(w[0], "count") == 0) {
		say("{\"event\":\"count\",\"agents\":%zu,\"epoch\":%" PRId64 "}", agent_hub_count(h), agent_hub_highest_epoch(h, INT64_MAX));
	} else if (strcmp(w[0], "ready") == 0 && n == 2) {
		ready = w[1][0] == '1';
	} else if (strcmp(w[0], "uploads") == 0 && n == 2) {
		uploads = w[1][0] == '1';
	} else if (strcmp(w[0], "disk") == 0 && n == 2) {
		set_disk(w[1][0] == '1');
	} else if (strcmp(w[0], "hang") == 0 && n == 2) {
		hang_disk(w[1]);
	} else if (strcmp(w[0], "cert") == 0 && n == 3) {
		char *cert = read_pem(w[1]), *key = read_pem(w[2]);
		int rc = link_server_set_certificate(s, cert, key, &e);
		answer(rc, &e);
		free(cert);
		free(key);
	}
	return true;
}

static void read_commands(struct link_server *s)
{
	char line[4096];
	bool more = true;
	while (more && fgets(line, sizeof line, stdin)) {
		char *words[32], *save = NULL;
		size_t n = 0;
		for (char *w = strtok_r(line, " \n", &save); w && n < 32; w = strtok_r(NULL, " \n", &save))
			words[n++] = w;
		more = n == 0 || obey(s, words, n);
	}
}

static int number(const char *name, int otherwise)
{
	const char *text = getenv(name);
	return text ? atoi(text) : otherwise;
}

int main(int argc, char *argv[])
{
	struct err e = ERR_INIT;
	signal(SIGPIPE, SIG_IGN);
	if (argc < 5 || http_global_init(&e) < 0) {
		fprintf(stderr, "usage: hub_tool KUBECONFIG CERT KEY STORE_FOLDER [NAMESPACE:ACCOUNT]\n");
		return 2;
	}
	log_configure(getenv("HUB_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
	struct kube_config kube;
	struct report_store_options store = {
		.folder = argv[4],
		.quota_bytes = 16 * 1024 * 1024,
		.upload_base = getenv("HUB_UPLOAD_BASE") ? getenv("HUB_UPLOAD_BASE") : "https://localhost",
	};
	if (kube_config_from_file(argv[1], NULL, &kube, &e) < 0) {
		fprintf(stderr, "%s\n", e.message);
		return 1;
	}
	struct report_store *reports = report_store_new(&store, &e);
	char *cert = read_pem(argv[2]), *key = read_pem(argv[3]);
	struct link_server_config config = {
		.bind_address = getenv("HUB_BIND"),
		.port = number("HUB_PORT", 0),
		.cert_pem = cert,
		.key_pem = key,
		.kube = &kube,
		.agent_account = argc > 5 ? argv[5] : "drdotnet-system:drdotnet-agent",
		.link_timeout_s = number("HUB_LINK_TIMEOUT_S", 0),
		.handshake_timeout_ms = number("HUB_HANDSHAKE_MS", 2000),
		.headers_timeout_s = number("HUB_HEADERS_TIMEOUT_S", 0),
		.idle_timeout_s = number("HUB_IDLE_TIMEOUT_S", 0),
		.request_timeout_s = number("HUB_REQUEST_TIMEOUT_S", 0),
		.max_connections = (size_t)number("HUB_MAX_CONNECTIONS", 0),
		.max_store_calls = (size_t)number("HUB_MAX_STORE_CALLS", 0),
		.callbacks = {.on_job = on_job, .on_jobs_complete = on_jobs_complete, .on_node = on_node, .on_upload = on_upload},
		.stores = object_stores_builtin(reports),
		.reports = reports,
		.ready = is_ready,
	};
	struct link_server *s = link_server_new(&config, &e);
	if (!s || !reports) {
		fprintf(stderr, "%s\n", e.message);
		return 1;
	}
	say("{\"event\":\"listening\",\"port\":%d,\"health\":%d}", link_server_port(s), link_server_health_port(s));
	read_commands(s);
	link_server_free(s);
	object_stores_free((struct object_stores *)(uintptr_t)config.stores);
	report_store_free(reports);
	kube_config_fini(&kube);
	free(cert);
	free(key);
	return 0;
}
