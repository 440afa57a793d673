#include "controller/sessions/session_cache_private.h"

#include "common/api/reason.h"
#include "common/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct session_cache *session_cache_new(void)
{
	struct session_cache *c = mem_alloc(sizeof *c);
	pthread_mutex_init(&c->lock, NULL);
	c->next_expiry_wall_ms = INT64_MAX;
	return c;
}

static void drop_runtime(struct entry *n)
{
	for (size_t i = 0; i < n->pod_count; i++) {
		link_job_fini(&n->pods[i].job);
		while (n->pods[i].granted_count)
			free(n->pods[i].granted[--n->pods[i].granted_count]);
	}
	free(n->pods);
	n->pods = NULL;
	n->pod_count = 0;
}

static void drop_session(struct session_cache *c, struct entry *n)
{
	if (n->session) {
		DL_DELETE(c->active, n);
		c->active_count--;
	}
	session_object_fini(n->session);
	free(n->session);
	n->session = NULL;
}

static void drop_entry(struct session_cache *c, struct entry *n)
{
	HASH_DELETE(by_key, c->keys, n);
	HASH_DELETE(by_uid, c->uids, n);
	drop_runtime(n);
	drop_session(c, n);
	free(n->key);
	free(n);
}

void session_cache_free(struct session_cache *c)
{
	if (!c)
		return;
	struct entry *n, *next;
	HASH_ITER(by_key, c->keys, n, next)
		drop_entry(c, n);
	session_nodes_fini(&c->nodes);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static struct entry *find_cached_session(struct session_cache *c, const char *key)
{
	struct entry *n = NULL;
	HASH_FIND(by_key, c->keys, key, strlen(key), n);
	return n;
}

static struct entry *find_uid(struct session_cache *c, const char *uid)
{
	struct entry *n = NULL;
	HASH_FIND(by_uid, c->uids, uid, strlen(uid), n);
	return n;
}

static struct entry *add_entry(struct session_cache *c, const char *key, const char *uid)
{
	struct entry *n = mem_alloc(sizeof *n);
	n->key = mem_strdup(key);
	snprintf(n->uid, sizeof n->uid, "%s", uid);
	HASH_ADD_KEYPTR(by_key, c->keys, n->key, strlen(n->key), n);
	HASH_ADD_KEYPTR(by_uid, c->uids, n->uid, strlen(n->uid), n);
	return n;
}

/* Kubernetes' resourceVersions are numbers that grow (guaranteed since 1.35, true of etcd always); anything else is not compared. */
static uint64_t version_number(const char *rv)
{
	char *end;
	uint64_t n = strtoull(rv, &end, 10);
	return *end ? 0 : n;
}

static void take_word(struct pod_runtime *r, struct link_job *job)
{
	link_job_fini(&r->job);
	r->job = *job;
	free(r->job.session_namespace); /* known here; it must not be kept for each job */
	free(r->job.session_name);
	r->job.session_namespace = r->job.session_name = NULL;
	r->told = r->told_in_link = true;
}

/* Agents may have told of the session's jobs before the watch told of the session. */
static void take_early_words(struct session_cache *c, struct entry *n)
{
	struct link_job job;
	for (size_t i = 0; i < n->pod_count; i++) {
		const struct session_pod *p = &n->session->pods[i];
		if (session_nodes_take(&c->nodes, p->node, p->job.job_id, &job))
			take_word(&n->pods[i], &job);
	}
}

/* The jobs' runtime follows the pods of the session; it starts anew when the assignment changed. */
static void fit_runtime(struct entry *n)
{
	size_t count = n->session->pod_count;
	bool same = n->pod_count == count;
	for (size_t i = 0; same && i < count; i++)
		same = !n->pods[i].told || strcmp(n->pods[i].job.job_id, n->session->pods[i].job.job_id) == 0;
	if (same)
		return;
	drop_runtime(n);
	n->pods = count ? mem_calloc(count, sizeof *n->pods) : NULL;
	n->pod_count = count;
}

static bool cached_session_is_over(const struct profiling_session *s)
{
	return session_object_completed(s) && !session_object_has_finalizer(s);
}

static void store(struct session_cache *c, struct entry *n, struct profiling_session *s)
{
	drop_session(c, n);
	n->version = version_number(s->resource_version);
	n->seen = true;
	if (cached_session_is_over(s)) {
		int64_t ttl = s->spec_valid ? s->spec.ttl_seconds_after_finished : 604800;
		n->expires_wall_ms = (s->completed_wall_ms ? s->completed_wall_ms : s->created_wall_ms) + ttl * 1000;
		if (n->expires_wall_ms < c->next_expiry_wall_ms)
			c->next_expiry_wall_ms = n->expires_wall_ms;
		drop_runtime(n);
		session_object_fini(s);
		return;
	}
	n->session = mem_alloc(sizeof *n->session);
	*n->session = *s;
	*s = (struct profiling_session){0};
	DL_APPEND(c->active, n);
	c->active_count++;
	fit_runtime(n);
	take_early_words(c, n);
}

static bool put_cached_session(struct session_cache *c, struct profiling_session *s, bool may_add)
{
	char key[SESSION_KEY_SIZE];
	session_object_key(s, key);
	pthread_mutex_lock(&c->lock);
	struct entry *n = find_cached_session(c, key);
	if (n && may_add && strcmp(n->uid, s->uid) != 0) {
		drop_entry(c, n);
		n = NULL;
	}
	uint64_t version = version_number(s->resource_version);
	bool old = n ? n->version && version && version <= n->version : !may_add;
	if (n && strcmp(n->uid, s->uid) != 0) /* only when !may_add: it was replaced by another of its name */
		old = true;
	if (old) {
		if (n)
			n->seen = true;
		session_object_fini(s);
	} else {
		if (!n)
			n = add_entry(c, key, s->uid);
		store(c, n, s);
	}
	pthread_mutex_unlock(&c->lock);
	return !old;
}

bool session_cache_put_take(struct session_cache *c, struct profiling_session *s)
{
	return put_cached_session(c, s, true);
}

bool session_cache_update_take(struct session_cache *c, struct profiling_session *s)
{
	return put_cached_session(c, s, false);
}

void session_cache_remove(struct session_cache *c, const char *key, const char *uid)
{
	pthread_mutex_lock(&c->lock);
	struct entry *n = find_cached_session(c, key);
	if (n && (!uid || strcmp(n->uid, uid) == 0))
		drop_entry(c, n);
	pthread_mutex_unlock(&c->lock);
}

static bool in_namespace(const struct entry *n, const char *namespace)
{
	size_t len = namespace ? strlen(namespace) : 0;
	return !namespace || (strncmp(n->key, namespace, len) == 0 && n->key[len] == '/');
}

void session_cache_list_begin(struct session_cache *c, const char *namespace)
{
	pthread_mutex_lock(&c->lock);
	struct entry *n, *next;
	HASH_ITER(by_key, c->keys, n, next) {
		if (in_namespace(n, namespace))
			n->seen = false;
	}
	pthread_mutex_unlock(&c->lock);
}

void session_cache_list_end(struct session_cache *c, const char *namespace)
{
	pthread_mutex_lock(&c->lock);
	struct entry *n, *next;
	HASH_ITER(by_key, c->keys, n, next) {
		if (!n->seen && in_namespace(n, namespace))
			drop_entry(c, n);
	}
	pthread_mutex_unlock(&c->lock);
}

static int64_t age(int64_t since_ms, int64_t now_ms)
{
	return since_ms ? now_ms - since_ms : -1;
}

/* Waits for an agent are the only thing that a status of phase Pending tells of when no order has gone out yet. */
static bool is_unordered(const struct pod_runtime *r, const struct session_pod *p)
{
	const char *reason = p->job.reason ? reason_intern(p->job.reason) : NULL;
	return !r->ordered && (r->assigned || reason == REASON_NodeWithoutAgent || reason == REASON_AgentTooOld);
}

static void merge_pod(const struct session_cache *c, const struct pod_runtime *r, int64_t now, struct session_pod *p, struct plan_pod_view *v)
{
	const struct session_node *node = session_nodes_find(&c->nodes, p->node);
	int64_t since_ms = node && node->since_ms > c->led_mono_ms ? node->since_ms : c->led_mono_ms;
	*v = (struct plan_pod_view){
		.linked = node && node->linked,
		.says_complete = node && node->says_complete,
		.complete = node && c->epoch && node->complete_epoch == c->epoch,
		.reported_in_link = r->told_in_link,
		.unordered = is_unordered(r, p),
		.linked_age_ms = now - since_ms,
		.ordered_age_ms = age(r->ordered_ms, now),
		.canceled_age_ms = age(r->canceled_ms, now),
		.cancel_sent = r->cancel_sent,
		.stored_final = job_phase_is_final(p->job.phase),
	};
	if (!r->told || v->stored_final)
		return; /* an end that stands in the status is not taken back */
	link_job_fini(&p->job);
	link_job_copy(&p->job, &r->job);
	p->reported = true;
}

enum session_cache_kind session_cache_get(struct session_cache *c, const char *key, int64_t now_mono_ms, struct profiling_session *out,
					  struct plan_pod_view **views, int64_t *expires_wall_ms)
{
	*out = (struct profiling_session){0};
	*views = NULL;
	pthread_mutex_lock(&c->lock);
	enum session_cache_kind kind = SESSION_ABSENT;
	struct entry *n = find_cached_session(c, key);
	if (n && n->session) {
		kind = SESSION_ACTIVE;
		session_object_copy(out, n->session);
		*views = mem_calloc(n->pod_count ? n->pod_count : 1, sizeof **views);
		for (size_t i = 0; i < n->pod_count; i++)
			merge_pod(c, &n->pods[i], now_mono_ms, &out->pods[i], &(*views)[i]);
	} else if (n) {
		kind = SESSION_OVER;
		const char *slash = strchr(n->key, '/');
		snprintf(out->namespace, sizeof out->namespace, "%.*s", (int)(slash - n->key), n->key);
		snprintf(out->name, sizeof out->name, "%s", slash + 1);
		memcpy(out->uid, n->uid, sizeof out->uid);
		*expires_wall_ms = n->expires_wall_ms;
	}
	pthread_mutex_unlock(&c->lock);
	return kind;
}

/* The active session's entry and pod index of a job that was given to this node. Locked. */
static enum session_job_verdict find_job(struct session_cache *c, const char *node, const char *job_id, struct entry **out, size_t *index)
{
	char uid[40];
	if (session_job_id_parse(job_id, uid, index, NULL) < 0)
		return SESSION_JOB_ORPHAN;
	struct entry *n = find_uid(c, uid);
	if (!n)
		return SESSION_JOB_UNKNOWN;
	if (!n->session)
		return SESSION_JOB_ORPHAN;
	if (n->pod_count == 0)
		return SESSION_JOB_EARLY;
	if (*index < n->pod_count && session_job_is_earlier(job_id, n->session->pods[*index].job.job_id))
		return SESSION_JOB_ORPHAN;
	if (*index >= n->pod_count || strcmp(n->session->pods[*index].job.job_id, job_id) != 0 ||
	    strcmp(n->session->pods[*index].node, node) != 0)
		return SESSION_JOB_FOREIGN;
	if (job_phase_is_final(n->session->pods[*index].job.phase))
		return SESSION_JOB_ORPHAN;
	*out = n;
	return SESSION_JOB_TAKEN;
}

enum session_job_verdict session_cache_job(struct session_cache *c, const char *node, const struct link_job *job, char key[SESSION_KEY_SIZE])
{
	struct entry *n = NULL;
	size_t index = 0;
	pthread_mutex_lock(&c->lock);
	enum session_job_verdict verdict = find_job(c, node, job->job_id, &n, &index);
	if (verdict == SESSION_JOB_TAKEN) {
		struct link_job copy;
		link_job_copy(&copy, job);
		take_word(&n->pods[index], &copy);
		snprintf(key, SESSION_KEY_SIZE, "%s", n->key);
	} else if (verdict == SESSION_JOB_UNKNOWN || verdict == SESSION_JOB_EARLY) {
		session_nodes_keep(&c->nodes, node, job);
	}
	pthread_mutex_unlock(&c->lock);
	return verdict;
}

void session_cache_forget_early(struct session_cache *c, const char *node, const char *job_id)
{
	struct link_job job = {0};
	pthread_mutex_lock(&c->lock);
	session_nodes_take(&c->nodes, node, job_id, &job);
	pthread_mutex_unlock(&c->lock);
	link_job_fini(&job);
}

bool session_cache_knows(struct session_cache *c, const char *uid)
{
	pthread_mutex_lock(&c->lock);
	const struct entry *n = find_uid(c, uid);
	bool known = n && (!n->session || n->pod_count);
	pthread_mutex_unlock(&c->lock);
	return known;
}

void session_cache_complete(struct session_cache *c, const char *node, int64_t epoch)
{
	pthread_mutex_lock(&c->lock);
	struct session_node *found = session_nodes_find(&c->nodes, node);
	if (found && found->linked)
		found->complete_epoch = epoch;
	pthread_mutex_unlock(&c->lock);
}

void session_cache_lead(struct session_cache *c, int64_t epoch, int64_t now_mono_ms)
{
	pthread_mutex_lock(&c->lock);
	c->epoch = epoch;
	c->led_mono_ms = now_mono_ms;
	pthread_mutex_unlock(&c->lock);
}

void session_cache_node(struct session_cache *c, const char *node, bool linked, bool says_complete, int64_t now_mono_ms)
{
	pthread_mutex_lock(&c->lock);
	struct entry *n = session_nodes_link(&c->nodes, node, linked, says_complete, now_mono_ms) ? c->active : NULL;
	for (; n; n = n->next) {
		for (size_t i = 0; i < n->pod_count; i++) {
			if (strcmp(n->session->pods[i].node, node) != 0)
				continue;
			struct pod_runtime *r = &n->pods[i];
			r->ordered_ms = 0;
			r->cancel_sent = r->told_in_link = false;
		}
	}
	pthread_mutex_unlock(&c->lock);
}

static struct pod_runtime *runtime(struct session_cache *c, const char *key, size_t pod)
{
	struct entry *n = find_cached_session(c, key);
	return n && pod < n->pod_count ? &n->pods[pod] : NULL;
}

void session_cache_ordered(struct session_cache *c, const char *key, size_t pod, int64_t now_mono_ms)
{
	pthread_mutex_lock(&c->lock);
	struct pod_runtime *r = runtime(c, key, pod);
	if (r) {
		r->ordered = true;
		r->ordered_ms = now_mono_ms;
	}
	pthread_mutex_unlock(&c->lock);
}

void session_cache_assigned(struct session_cache *c, const char *key)
{
	pthread_mutex_lock(&c->lock);
	struct entry *n = find_cached_session(c, key);
	for (size_t i = 0; n && i < n->pod_count; i++)
		n->pods[i].assigned = true;
	pthread_mutex_unlock(&c->lock);
}

void session_cache_canceled(struct session_cache *c, const char *key, size_t pod, int64_t now_mono_ms, bool sent)
{
	pthread_mutex_lock(&c->lock);
	struct pod_runtime *r = runtime(c, key, pod);
	if (r) {
		if (!r->canceled_ms)
			r->canceled_ms = now_mono_ms;
		r->cancel_sent = r->cancel_sent || sent;
	}
	pthread_mutex_unlock(&c->lock);
}

static void fill_upload(const struct profiling_session *s, size_t index, struct session_upload *out)
{
	*out = (struct session_upload){.store = ""};
	snprintf(out->namespace, sizeof out->namespace, "%s", s->namespace);
	snprintf(out->name, sizeof out->name, "%s", s->name);
	snprintf(out->uid, sizeof out->uid, "%s", s->uid);
	snprintf(out->pod_name, sizeof out->pod_name, "%s", s->pods[index].pod_name);
	snprintf(out->store, sizeof out->store, "%s", s->spec_valid ? s->spec.store : "default");
}

/* Whether this name is one of the few that the job may have; remembers it. */
static bool take_name(struct pod_runtime *r, const char *name)
{
	for (size_t i = 0; i < r->granted_count; i++) {
		if (strcmp(r->granted[i], name) == 0)
			return true;
	}
	if (r->granted_count == LINK_MAX_REPORTS)
		return false;
	r->granted[r->granted_count++] = mem_strdup(name);
	return true;
}

/* `r` NULL: the upload of no particular report. */
static int find_upload(struct session_cache *c, const char *node, const char *job_id, const struct link_report *r, struct session_upload *out,
		       struct err *e)
{
	struct entry *n = NULL;
	size_t index = 0;
	pthread_mutex_lock(&c->lock);
	enum session_job_verdict verdict = find_job(c, node, job_id, &n, &index);
	bool taken = verdict == SESSION_JOB_TAKEN && (!r || take_name(&n->pods[index], r->name));
	if (taken)
		fill_upload(n->session, index, out);
	pthread_mutex_unlock(&c->lock);
	if (verdict == SESSION_JOB_ORPHAN)
		return err_set(e, ERR_NOT_FOUND, 0, "job %s: its session is over", job_id);
	if (verdict == SESSION_JOB_UNKNOWN || verdict == SESSION_JOB_EARLY)
		return err_set(e, ERR_RETRY, 0, "job %s: its session is not known to the controller yet", job_id);
	if (verdict == SESSION_JOB_FOREIGN)
		return err_set(e, ERR_DENIED, 0, "job %s: not given to node %s", job_id, node);
	return taken ? 0 : err_set(e, ERR_DENIED, 0, "job %s: one more than %d reports", job_id, LINK_MAX_REPORTS);
}

int session_cache_upload(struct session_cache *c, const char *node, const char *job_id, struct session_upload *out, struct err *e)
{
	return find_upload(c, node, job_id, NULL, out, e);
}

int session_cache_grant(struct session_cache *c, const char *node, const char *job_id, const struct link_report *r, struct session_upload *out,
			struct err *e)
{
	if (r->size_bytes > SESSION_REPORT_MAX_BYTES)
		return err_set(e, ERR_DENIED, 0, "%s: a report has %lld MiB at most", r->name, SESSION_REPORT_MAX_BYTES >> 20);
	return find_upload(c, node, job_id, r, out, e);
}

void session_cache_counts(struct session_cache *c, size_t *active, size_t *over)
{
	pthread_mutex_lock(&c->lock);
	*active = c->active_count;
	*over = HASH_CNT(by_key, c->keys) - c->active_count;
	pthread_mutex_unlock(&c->lock);
}

bool session_cache_is_active(struct session_cache *c, const char *key)
{
	pthread_mutex_lock(&c->lock);
	struct entry *n = find_cached_session(c, key);
	bool active = n && n->session;
	pthread_mutex_unlock(&c->lock);
	return active;
}
