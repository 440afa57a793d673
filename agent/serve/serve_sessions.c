#include "agent/serve/serve_sessions.h"

#include "agent/serve/serve_private.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The table ------------------------------------------------------------------------------------------------------- */

static struct serve_session *find_serve_session(struct serve_sessions *s, const char *name, struct err *e)
{
	struct serve_session *x = NULL;
	HASH_FIND_STR(s->table, name, x);
	if (x && !x->deleted)
		return x;
	err_set(e, ERR_NOT_FOUND, 0, "there is no session \"%s\"", name);
	return NULL;
}

static struct serve_session *add_session(struct serve_sessions *s, const char *name, const char *uid, int64_t created_wall_ms)
{
	struct serve_session *x = mem_alloc(sizeof *x);
	x->all = s;
	snprintf(x->name, sizeof x->name, "%s", name);
	snprintf(x->uid, sizeof x->uid, "%s", uid);
	x->created_wall_ms = created_wall_ms;
	HASH_ADD_STR(s->table, name, x);
	return x;
}

static void remove_session(struct serve_sessions *s, struct serve_session *x)
{
	HASH_DEL(s->table, x);
	json_decref(x->document);
	free(x);
}

static void add_found(struct serve_sessions *s, json_t *session)
{
	int64_t created = 0;
	clock_parse_rfc3339(jsonx_str_at(session, "createdAt", ""), &created);
	add_session(s, jsonx_str_at(session, "name", ""), jsonx_str_at(session, "uid", ""), created)->document = session;
}

/* Without the lock: threads that have ended. */
static void join_ended_threads(struct serve_sessions *s)
{
	pthread_mutex_lock(&s->lock);
	AUTO_FREE pthread_t *ended = steal_ptr(&s->ended);
	size_t count = s->ended_count;
	s->ended_count = s->ended_cap = 0;
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < count; i++)
		pthread_join(ended[i], NULL);
}

struct serve_sessions *serve_sessions_new(const struct serve_sessions_config *c, struct err *e)
{
	struct serve_sessions *s = mem_alloc(sizeof *s);
	s->config = *c;
	s->config.dir = mem_strdup(c->dir);
	s->config.library_path = mem_strdup(c->library_path);
	s->dir_fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->moved, NULL);
	if (serve_folder_load(s, add_found, e) == 0)
		return s;
	serve_sessions_free(s);
	return NULL;
}

/* With the lock. */
static void cancel_session(struct serve_session *x)
{
	if (!x->run || x->run->cancelled)
		return;
	x->run->cancelled = true;
	json_object_set_new(x->run->asked, "cancel", json_true());
	json_object_set_new(json_object_get(x->document, "spec"), "cancel", json_true());
	eventfd_write(x->run->cancel_fd, 1);
	pthread_cond_broadcast(&x->all->moved);
}

void serve_sessions_free(struct serve_sessions *s)
{
	struct serve_session *x, *next;
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	HASH_ITER(hh, s->table, x, next)
		cancel_session(x);
	while (s->unfinished)
		pthread_cond_wait(&s->moved, &s->lock);
	pthread_mutex_unlock(&s->lock);
	join_ended_threads(s);
	HASH_ITER(hh, s->table, x, next)
		remove_session(s, x);
	pthread_cond_destroy(&s->moved);
	pthread_mutex_destroy(&s->lock);
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	free((char *)s->config.dir);
	free((char *)s->config.library_path);
	free(s);
}

/* Lists ----------------------------------------------------------------------------------------------------------- */

static int newest_session_first(const void *a, const void *b)
{
	const struct serve_session *x = *(struct serve_session *const *)a, *y = *(struct serve_session *const *)b;
	if (x->created_wall_ms != y->created_wall_ms)
		return x->created_wall_ms > y->created_wall_ms ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool member_contains(const json_t *document, const char *key, const char *text)
{
	return strcasestr(jsonx_str_at(document, key, ""), text) != NULL;
}

static bool query_passes(const struct serve_session *x, const struct rest_list_query *q)
{
	const json_t *d = x->document;
	if (x->deleted || (q->namespace && strcmp(q->namespace, SERVE_NAMESPACE) != 0))
		return false;
	if (q->profiler && strcmp(q->profiler, jsonx_str_at(d, "profiler", "")) != 0)
		return false;
	if (q->state && strcmp(q->state, jsonx_str_at(d, "state", "")) != 0)
		return false;
	return !q->q || member_contains(d, "id", q->q) || member_contains(d, "target", q->q) || member_contains(d, "headline", q->q) ||
	       member_contains(d, "state", q->q);
}

/* "<milliseconds>.<name>" of the last one of the page before. */
static int parse_cursor(const char *text, struct serve_session *out, struct err *e)
{
	char *end;
	errno = 0;
	out->created_wall_ms = strtoll(text, &end, 10);
	if (errno || end == text || *end != '.' || strlen(end + 1) >= sizeof out->name)
		return err_set(e, ERR_INVALID, 0, "continue: must be what an earlier answer gave");
	snprintf(out->name, sizeof out->name, "%s", end + 1);
	return 0;
}

/* With the lock: those that pass, in order. */
static struct serve_session **select_all(struct serve_sessions *s, const struct rest_list_query *q, size_t *count)
{
	struct serve_session **some = mem_calloc(HASH_COUNT(s->table) + 1, sizeof *some);
	*count = 0;
	for (struct serve_session *x = s->table; x; x = x->hh.next)
		if (query_passes(x, q))
			some[(*count)++] = x;
	qsort(some, *count, sizeof *some, newest_session_first);
	return some;
}

int serve_sessions_list(struct serve_sessions *s, const struct rest_list_query *q, json_t **out, struct err *e)
{
	struct serve_session cursor = {0}, *after = &cursor;
	if (q->continue_token && parse_cursor(q->continue_token, &cursor, e) < 0)
		return -1;
	pthread_mutex_lock(&s->lock);
	size_t count, i = 0;
	AUTO_FREE struct serve_session **some = select_all(s, q, &count);
	json_t *items = json_array();
	while (q->continue_token && i < count && newest_session_first(&some[i], &after) <= 0)
		i++;
	for (; i < count && json_array_size(items) < (size_t)q->limit; i++)
		json_array_append_new(items, serve_document_summary(some[i]->document));
	*out = json_pack("{s:o, s:I}", "items", items, "total", (json_int_t)count);
	if (i < count && i > 0) {
		AUTO_FREE char *next = mem_printf("%lld.%s", (long long)some[i - 1]->created_wall_ms, some[i - 1]->name);
		json_object_set_new(*out, "continue", json_string(next));
	}
	pthread_mutex_unlock(&s->lock);
	return 0;
}

int serve_sessions_get(struct serve_sessions *s, const char *name, json_t **out, struct err *e)
{
	pthread_mutex_lock(&s->lock);
	const struct serve_session *x = find_serve_session(s, name, e);
	if (x)
		*out = json_deep_copy(x->document);
	pthread_mutex_unlock(&s->lock);
	return x ? 0 : -1;
}

/* Changes --------------------------------------------------------------------------------------------------------- */

/* "cpuhotpaths-20261121-085032-1f2e" */
static int make_name(const struct session_spec *spec, char out[SERVE_NAME_SIZE], char uid[40], struct err *e)
{
	unsigned char random[18];
	char when[32], tail[5], hex[33];
	time_t now = time(NULL);
	struct tm tm;
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return err_set_errno(e, errno, "getrandom");
	text_hex(random, 2, tail);
	text_hex(random + 2, 16, hex);
	strftime(when, sizeof when, "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	snprintf(out, SERVE_NAME_SIZE, "%s-%s-%s", profiler_kind_name(spec->profiler), when, tail);
	for (char *c = out; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	snprintf(uid, 40, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
	return 0;
}

static int check_session_limits(struct serve_sessions *s, struct err *e)
{
	if (s->stopping)
		return err_set(e, ERR_RETRY, 0, "the program stops");
	if (s->unfinished >= SERVE_QUEUE_MAX)
		return err_set(e, ERR_RETRY, 0, "%d sessions wait or run already; try again when some have ended", SERVE_QUEUE_MAX);
	if (HASH_COUNT(s->table) >= SERVE_SESSIONS_MAX)
		return err_set(e, ERR_CONFLICT, 0, "%d sessions are kept already; delete some", SERVE_SESSIONS_MAX);
	return 0;
}

static bool session_has_report(const json_t *session)
{
	size_t i, k;
	json_t *target, *report;
	json_array_foreach(jsonx_at(session, "status.targets"), i, target)
		json_array_foreach(json_object_get(target, "reports"), k, report)
			if (strcmp(jsonx_str_at(report, "name", ""), "report.json") == 0)
				return true;
	return false;
}

/* With the lock: can the session be compared with what it names? */
static int check_baseline_session(struct serve_sessions *s, const struct session_spec *spec, struct err *e)
{
	const char *name = spec->baseline_session, *profiler = profiler_kind_name(spec->profiler);
	const struct serve_session *x = name ? find_serve_session(s, name, NULL) : NULL;
	const char *found = x ? jsonx_str_at(x->document, "profiler", "") : "";
	if (!name || (x && strcmp(found, profiler) == 0 && !x->run && session_has_report(x->document)))
		return 0;
	if (!x)
		return err_set_reason(e, ERR_INVALID, REASON_BaselineUnusable, "spec.baselineSession: there is no session %.200s", name);
	if (strcmp(found, profiler) != 0)
		return err_set_reason(e, ERR_INVALID, REASON_BaselineUnusable, "spec.baselineSession: session %.200s is of the profiler %.40s, not of %s", name,
				      found, profiler);
	return err_set_reason(e, ERR_INVALID, REASON_BaselineUnusable, "spec.baselineSession: session %.200s %s", name,
			      x->run ? "has not finished" : "has no report");
}

/* With the lock; `spec` is taken over. */
static struct serve_session *begin_session(struct serve_sessions *s, const char *name, const char *uid, const json_t *asked, struct session_spec *spec,
					   struct err *e)
{
	if (check_session_limits(s, e) < 0 || check_baseline_session(s, spec, e) < 0 || serve_folder_make(s, name, e) < 0) {
		session_spec_fini(spec);
		return NULL;
	}
	struct serve_session *x = add_session(s, name, uid, clock_wall_ms());
	struct serve_run *r = x->run = mem_alloc(sizeof *r);
	r->spec = *spec;
	r->asked = json_deep_copy(asked);
	r->facts = (struct serve_facts){
		.name = x->name,
		.uid = x->uid,
		.spec = r->asked,
		.effective = &r->spec,
		.created_wall_ms = x->created_wall_ms,
		.phase = JOB_QUEUED,
	};
	s->unfinished++;
	if (serve_run_start(x, e) == 0) {
		serve_folder_save(s, x);
		return x;
	}
	s->unfinished--;
	remove_session(s, x);
	serve_folder_remove(s, name);
	return NULL;
}

int serve_sessions_create(struct serve_sessions *s, const char *name, const json_t *asked, json_t **out, struct err *e)
{
	struct session_spec spec;
	char made[SERVE_NAME_SIZE], uid[40];
	join_ended_threads(s);
	if (session_spec_from_json(asked, false, &spec, e) < 0)
		return -1;
	if (make_name(&spec, made, uid, e) < 0) {
		session_spec_fini(&spec);
		return -1;
	}
	pthread_mutex_lock(&s->lock);
	const struct serve_session *x = begin_session(s, name ? name : made, uid, asked, &spec, e);
	if (x)
		*out = json_deep_copy(x->document);
	pthread_mutex_unlock(&s->lock);
	return x ? 0 : -1;
}

int serve_sessions_cancel(struct serve_sessions *s, const char *name, json_t **out, struct err *e)
{
	pthread_mutex_lock(&s->lock);
	struct serve_session *x = find_serve_session(s, name, e);
	if (x) {
		cancel_session(x);
		*out = json_deep_copy(x->document);
	}
	pthread_mutex_unlock(&s->lock);
	return x ? 0 : -1;
}

int serve_sessions_delete(struct serve_sessions *s, const char *name, struct err *e)
{
	pthread_mutex_lock(&s->lock);
	struct serve_session *x = find_serve_session(s, name, e);
	if (x && x->run) {
		x->deleted = true;
		cancel_session(x);
	} else if (x) {
		serve_folder_remove(s, name);
		remove_session(s, x);
	}
	pthread_mutex_unlock(&s->lock);
	if (x && s->config.changed)
		s->config.changed(s->config.changed_ctx, name);
	return x ? 0 : -1;
}

/* Reports --------------------------------------------------------------------------------------------------------- */

/* With the lock: the file as the status names it. */
static const json_t *find_session_report(const struct serve_session *x, const char *pod, const char *file)
{
	const json_t *targets = jsonx_at(x->document, "status.targets"), *target, *report;
	size_t i, k;
	json_array_foreach(targets, i, target) {
		if (strcmp(jsonx_str_at(target, "podName", ""), pod) != 0)
			continue;
		json_array_foreach(json_object_get(target, "reports"), k, report)
			if (strcmp(jsonx_str_at(report, "name", ""), file) == 0)
				return report;
	}
	return NULL;
}

int serve_sessions_open(struct serve_sessions *s, const char *name, const char *pod, const char *file, struct rest_report *out, struct err *e)
{
	struct stat st;
	pthread_mutex_lock(&s->lock);
	const struct serve_session *x = find_serve_session(s, name, e);
	const json_t *report = x ? find_session_report(x, pod, file) : NULL;
	AUTO_FD int dir = report ? serve_folder_open(s, name) : -1;
	AUTO_FD int fd = dir >= 0 ? openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	if (report) {
		snprintf(out->media_type, sizeof out->media_type, "%s", jsonx_str_at(report, "mediaType", "application/octet-stream"));
		jsonx_copy_at(report, "sha256", out->sha256, sizeof out->sha256);
	}
	pthread_mutex_unlock(&s->lock);
	if (!x)
		return -1;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, ERR_NOT_FOUND, 0, "there is no report %s of %s; the session's status names those that there are", file, pod);
	out->size_bytes = st.st_size;
	return steal_fd(&fd);
}
