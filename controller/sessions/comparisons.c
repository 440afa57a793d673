#include "controller/sessions/comparisons.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "common/report/report_diff.h"
#include "controller/sessions/baseline.h"
#include "controller/kube/kube_client.h"
#include "controller/store/object_read.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define KEPT_MS 300000 /* a result; its session is written long before */
#define TRIES 3
#define PAUSE_MS 1000
#define PIECE_BYTES 65536

struct task {
	struct task *next;
	char key[SESSION_KEY_SIZE];
	struct profiling_session s;
	int64_t asked_ms;
	bool begun;
	char *text; /* NULL: not done */
};

struct comparisons {
	struct comparisons_options options;
	struct kube_client *kube;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t asked;
	struct task *tasks; /* oldest first */
	bool stopping;
	int stop_fd;
};

/* one comparison --------------------------------------------------------------------------------------------------- */

static int read_object_fully(struct object_read *o, struct buf *out, struct err *e)
{
	char *piece = mem_alloc(PIECE_BYTES);
	ssize_t n;
	int rc = 0;
	while (rc == 0 && (n = object_read_next(o, piece, PIECE_BYTES, e)) != 0)
		rc = n < 0 ? -1 : buf_append(out, piece, (size_t)n) < 0 ? err_set(e, ERR_INVALID, 0, "%s is larger than it was", BASELINE_REPORT) : 0;
	free(piece);
	return rc;
}

static int read_report_text(const struct comparisons *c, const struct profiling_session *s, const struct session_pod *pod, const struct link_report *r,
			    struct buf *out, struct err *e)
{
	char prefix[512];
	if (!c->options.stores)
		return err_set(e, ERR_NOT_FOUND, 0, "the controller was started without a store of reports");
	if (r->size_bytes > COMPARISONS_REPORT_MAX_BYTES)
		return err_set(e, ERR_INVALID, 0, "%s of session %s is larger than %d MiB; kubectl drdotnet diff compares it", r->name, s->name,
			       COMPARISONS_REPORT_MAX_BYTES >> 20);
	if (session_report_prefix(s->namespace, s->name, s->uid, pod->pod_name, prefix, sizeof prefix, e) < 0)
		return -1;
	struct object_read *o = object_read_open(c->options.stores, s->spec.store, prefix, r, c->stop_fd, e);
	int rc = o ? read_object_fully(o, out, e) : -1;
	object_read_close(o);
	return rc;
}

/* Without what only pictures are made of: it is most of a report. */
static json_t *read_stored_report(const struct comparisons *c, const struct profiling_session *s, const struct session_pod *pod, const struct link_report *r,
				  struct err *e)
{
	AUTO_BUF struct buf text;
	buf_init(&text, COMPARISONS_REPORT_MAX_BYTES + 1);
	if (read_report_text(c, s, pod, r, &text, e) < 0)
		return NULL;
	json_t *report = jsonx_parse(buf_str(&text), text.len, s->name, e);
	json_object_del(report, "tree");
	json_object_del(report, "names");
	return report;
}

static json_t *diff_of(const struct comparisons *c, const struct profiling_session *s, const struct profiling_session *baseline, struct err *e)
{
	const struct link_report *after_file = NULL, *before_file = NULL;
	const struct session_pod *after_pod = baseline_pod(s, NULL, &after_file);
	const struct session_pod *before_pod = after_pod ? baseline_pod(baseline, after_pod->pod_name, &before_file) : NULL;
	if (!before_pod) {
		err_set(e, ERR_NOT_FOUND, 0, "there is no report of it any more");
		return NULL;
	}
	AUTO_JSON json_t *before = read_stored_report(c, baseline, before_pod, before_file, e);
	AUTO_JSON json_t *after = before ? read_stored_report(c, s, after_pod, after_file, e) : NULL;
	return after ? report_diff_make(before, after, e) : NULL;
}

static int get_baseline(const struct comparisons *c, const struct profiling_session *s, struct profiling_session *out, struct err *e)
{
	struct kube_ref ref = {.api = KUBE_SESSIONS, .plural = SESSION_PLURAL, .namespace = s->namespace, .name = s->spec.baseline_session};
	AUTO_JSON json_t *object = NULL;
	if (kube_get(c->kube, &ref, &object, e) < 0)
		return e->kind == ERR_NOT_FOUND ? err_set(e, ERR_NOT_FOUND, 0, "there is no session of that name any more") : -1;
	if (session_object_from_json(object, out, e) < 0)
		return -1;
	AUTO_FREE char *why = baseline_unusable(s, out); /* another one of its name, meanwhile */
	if (!why)
		return 0;
	session_object_fini(out);
	return err_set(e, ERR_INVALID, 0, "%s", why);
}

static json_t *compare_once(const struct comparisons *c, const struct profiling_session *s, struct err *e)
{
	struct profiling_session baseline;
	struct err why = ERR_INIT;
	if (get_baseline(c, s, &baseline, &why) < 0) {
		*e = why;
		return NULL;
	}
	json_t *diff = diff_of(c, s, &baseline, e);
	session_object_fini(&baseline);
	return diff;
}

static char *compare_with_retries(const struct comparisons *c, const struct profiling_session *s)
{
	struct pollfd stop = {.fd = c->stop_fd, .events = POLLIN};
	struct err e = ERR_INIT;
	AUTO_JSON json_t *diff = NULL;
	for (int i = 0; i < TRIES && !diff; i++) {
		e = (struct err)ERR_INIT;
		diff = compare_once(c, s, &e);
		if (diff || (e.kind != ERR_RETRY && e.kind != ERR_TIMEOUT) || poll(&stop, 1, PAUSE_MS) != 0)
			break;
	}
	if (diff)
		return mem_strdup(jsonx_str_at(diff, "diagnosis", ""));
	LOG_WARN("comparisons", "not compared", LOG_S("session", s->name), LOG_S("namespace", s->namespace), LOG_S("error", e.message));
	return mem_printf("Not compared with %s: %s.", s->spec.baseline_session, e.message);
}

/* the tasks -------------------------------------------------------------------------------------------------------- */

static void task_free(struct task *t)
{
	session_object_fini(&t->s);
	free(t->text);
	free(t);
}

/* With the lock: results that nobody needs any more, and when all places are taken, the oldest of them. */
static size_t remove_old_results(struct comparisons *c, int64_t now_mono_ms)
{
	size_t count = 0;
	for (const struct task *t = c->tasks; t; t = t->next)
		count++;
	for (struct task **at = &c->tasks; *at;) {
		struct task *t = *at;
		if (!t->text || (now_mono_ms - t->asked_ms < KEPT_MS && count < COMPARISONS_MOST)) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		task_free(t);
		count--;
	}
	return count;
}

/* With the lock. */
static void add_comparison(struct comparisons *c, const struct profiling_session *s, int64_t now_mono_ms)
{
	struct task *t = mem_alloc(sizeof *t), **end = &c->tasks;
	*t = (struct task){.asked_ms = now_mono_ms};
	session_object_copy(&t->s, s);
	session_object_key(s, t->key);
	while (*end)
		end = &(*end)->next;
	*end = t;
	pthread_cond_signal(&c->asked);
}

static char *not_now(const struct profiling_session *s, const char *why)
{
	return mem_printf("Not compared with %s: %s; kubectl drdotnet diff compares it.", s->spec.baseline_session, why);
}

char *comparisons_get(struct comparisons *c, const struct profiling_session *s, int64_t now_mono_ms)
{
	char *text = NULL;
	const struct task *found = NULL;
	pthread_mutex_lock(&c->lock);
	for (const struct task *t = c->tasks; t && !found; t = t->next)
		found = strcmp(t->s.uid, s->uid) == 0 ? t : NULL;
	if (found && found->text)
		text = mem_strdup(found->text);
	else if (found && now_mono_ms - found->asked_ms > COMPARISONS_PATIENCE_MS)
		text = not_now(s, "the reports could not be read in time");
	else if (!found && remove_old_results(c, now_mono_ms) >= COMPARISONS_MOST)
		text = not_now(s, "too many sessions wait for that");
	else if (!found)
		add_comparison(c, s, now_mono_ms);
	pthread_mutex_unlock(&c->lock);
	return text;
}

/* With the lock. */
static struct task *next_task(struct comparisons *c)
{
	struct task *t = c->tasks;
	while (t && t->begun)
		t = t->next;
	return t;
}

static void *run_comparisons(void *arg)
{
	struct comparisons *c = arg;
	pthread_mutex_lock(&c->lock);
	while (!c->stopping) {
		struct task *t = next_task(c);
		if (!t) {
			pthread_cond_wait(&c->asked, &c->lock);
			continue;
		}
		t->begun = true; /* is not reaped before it has its text */
		pthread_mutex_unlock(&c->lock);
		char *text = compare_with_retries(c, &t->s);
		char key[SESSION_KEY_SIZE];
		memcpy(key, t->key, sizeof key);
		pthread_mutex_lock(&c->lock);
		t->text = text;
		pthread_mutex_unlock(&c->lock);
		c->options.done(c->options.done_ctx, key);
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* life ------------------------------------------------------------------------------------------------------------- */

struct comparisons *comparisons_start(const struct comparisons_options *o, struct err *e)
{
	struct comparisons *c = mem_alloc(sizeof *c);
	*c = (struct comparisons){.options = *o, .stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->asked, NULL);
	int rc = c->stop_fd < 0 ? err_set_errno(e, errno, "eventfd") : 0;
	if (rc == 0)
		c->kube = kube_client_new(o->kube, c->stop_fd, e);
	if (rc == 0 && c->kube)
		c->started = thread_start(&c->thread, "comparisons", THREAD_STACK_USUAL, run_comparisons, c, e) == 0;
	if (c->started)
		return c;
	comparisons_free(c);
	return NULL;
}

void comparisons_stop(struct comparisons *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->stopping = true;
	pthread_cond_signal(&c->asked);
	pthread_mutex_unlock(&c->lock);
	if (c->stop_fd >= 0 && eventfd_write(c->stop_fd, 1) < 0) {
		/* it is readable already */
	}
}

void comparisons_free(struct comparisons *c)
{
	if (!c)
		return;
	comparisons_stop(c);
	if (c->started)
		pthread_join(c->thread, NULL);
	for (struct task *t = c->tasks, *next; t; t = next) {
		next = t->next;
		task_free(t);
	}
	kube_client_free(c->kube);
	cleanup_fd(&c->stop_fd);
	pthread_cond_destroy(&c->asked);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
