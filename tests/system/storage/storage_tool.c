/* What controller and agent do with stores, as small commands; test_upload.py and test_own_store.py drive it. Each answer is one JSON
 * object a line: {"ok":true,...} or {"ok":false,"kind":...,"code":...,"message":...}.
 *
 *   grant STORES STORE PREFIX FILE NAME MEDIA SKEW_MS    the signed URL, as the controller makes it at (now + SKEW_MS), and the plain one
 *   put URL FILE NAME MEDIA STALL_MS [CA]                the upload, as the agent makes it
 *   seed SPOOL JOB FILE...                               a spool as an agent leaves it that died while it delivered
 *   deliver SPOOL STORES STORE PREFIX [BOUND_MS]         an agent's jobs on that spool, until each has ended; the controller's part reads
 *                                                        STORES for each grant, and STORES.skew: how many ms its clock is ahead
 *   own FOLDER QUOTA EXPIRY_SECONDS                      the controller's own store; then commands on stdin, see own_command() */
#include "agent/jobs/jobs.h"
#include "agent/jobs/spool.h"
#include "agent/jobs/upload.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/http.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"
#include "controller/store/object_store.h"
#include "controller/store/report_store.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (64u << 20)
#define STORES_MAX 65536

static int say(json_t *answer_take)
{
	AUTO_FREE char *text = json_dumps(answer_take, JSON_COMPACT);
	json_decref(answer_take);
	printf("%s\n", text);
	fflush(stdout);
	return 0;
}

static int say_error(const struct err *e)
{
	return say(json_pack("{s:b,s:s,s:i,s:s,s:s}", "ok", 0, "kind", err_kind_name(e->kind), "code", e->code, "message", e->message, "reason",
			     e->reason ? e->reason : ""));
}

static int say_ok(void)
{
	return say(json_pack("{s:b}", "ok", 1));
}

/* Name, size and sha256 of a file as the agent announces it. */
static int describe(const char *path, const char *name, const char *media, struct link_report *r, struct err *e)
{
	AUTO_BUF struct buf content;
	if (fsio_read(AT_FDCWD, path, FILE_MAX, &content, e) < 0)
		return -1;
	unsigned char digest[EVP_MAX_MD_SIZE];
	EVP_Digest(buf_str(&content), content.len, digest, NULL, EVP_sha256(), NULL);
	*r = (struct link_report){.size_bytes = (int64_t)content.len};
	snprintf(r->name, sizeof r->name, "%s", name);
	snprintf(r->media_type, sizeof r->media_type, "%s", media);
	for (int i = 0; i < 32; i++)
		snprintf(r->sha256 + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

static struct object_stores *load_stores(const char *path, struct err *e)
{
	AUTO_BUF struct buf text;
	if (fsio_read(AT_FDCWD, path, STORES_MAX, &text, e) < 0)
		return NULL;
	return object_stores_parse(buf_str(&text), text.len, NULL, e);
}

/* grant, put ------------------------------------------------------------------------------------------------------- */

static int grant(char **a, struct err *e)
{
	struct link_report r;
	struct object_stores *stores = load_stores(a[0], e);
	if (!stores)
		return -1;
	AUTO_BUF struct buf signed_url = {0}, public_url = {0};
	buf_init(&signed_url, 16384);
	buf_init(&public_url, 4096);
	int64_t expires = 0;
	int rc = -1;
	if (describe(a[3], a[4], a[5], &r, e) == 0 &&
	    object_store_grant(stores, a[1], a[2], &r, clock_wall_ms() + atoll(a[6]), &signed_url, &expires, e) == 0 &&
	    object_store_public_url(stores, a[1], a[2], r.name, &public_url, e) == 0)
		rc = say(json_pack("{s:b,s:s,s:s,s:I}", "ok", 1, "url", buf_str(&signed_url), "public", buf_str(&public_url), "expires",
				   (json_int_t)expires));
	object_stores_free(stores);
	return rc;
}

static int put(char **a, struct err *e)
{
	struct link_report r;
	AUTO_FD int fd = open(a[1], O_RDONLY | O_CLOEXEC);
	struct upload_options o = {.ca_file = a[5], .stall_timeout_ms = atoll(a[4]), .cancel_fd = -1};
	if (describe(a[1], a[2], a[3], &r, e) < 0 || upload_put(a[0], fd, &r, &o, e) < 0)
		return -1;
	return say_ok();
}

/* seed, deliver ---------------------------------------------------------------------------------------------------- */

static int copy_in(int dir_fd, const char *path, const struct link_report *r, struct err *e)
{
	AUTO_BUF struct buf content;
	if (fsio_read(AT_FDCWD, path, FILE_MAX, &content, e) < 0)
		return -1;
	AUTO_FD int out = openat(dir_fd, r->name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (out < 0 || fsio_write_all(out, content.data, content.len) < 0)
		return err_set(e, ERR_INTERNAL, 0, "cannot write %s", r->name);
	return 0;
}

static int seed(char **a, struct err *e)
{
	struct spool *spool = spool_new(a[0], 1 << 30, e);
	AUTO_FD int dir_fd = spool ? spool_job_create(spool, a[1], e) : -1;
	if (dir_fd < 0)
		return -1;
	struct link_order order = {.pod_name = "a", .pod_namespace = "shop", .pod_uid = "2", .session_name = "s", .session_namespace = "shop",
				   .session_uid = "1"};
	session_spec_init(&order.spec, PROFILER_CPU_HOTPATHS);
	order.spec.target.pod_name = mem_strdup("a");
	struct link_job job = {.phase = JOB_DELIVERING, .started_wall_ms = clock_wall_ms(), .reason = mem_strdup(REASON_Delivering)};
	snprintf(order.job_id, sizeof order.job_id, "%s", a[1]);
	snprintf(job.job_id, sizeof job.job_id, "%s", a[1]);
	int rc = 0;
	for (char **path = a + 2; *path && job.report_count < LINK_MAX_REPORTS && rc == 0; path++) {
		struct link_report *r = &job.reports[job.report_count++];
		rc = describe(*path, strrchr(*path, '/') + 1, "application/octet-stream", r, e) < 0 ? -1 : copy_in(dir_fd, *path, r, e);
	}
	if (rc == 0)
		rc = spool_job_save(spool, a[1], &order, &job, e);
	session_spec_fini(&order.spec);
	link_job_fini(&job);
	spool_free(spool);
	return rc < 0 ? -1 : say_ok();
}

struct delivery {
	struct jobs *jobs;
	const char *stores_path, *store, *prefix;
};

static int64_t skew_ms(const char *stores_path)
{
	AUTO_FREE char *path = mem_printf("%s.skew", stores_path);
	char text[32];
	return fsio_read_small(AT_FDCWD, path, text, sizeof text) > 0 ? atoll(text) : 0;
}

/* The controller's part of the link: a grant for each request, at once. */
static int answer(void *ctx, const struct link_msg *m, struct err *e)
{
	struct delivery *d = ctx;
	if (m->type != LINK_MSG_UPLOAD_REQUEST || !d->jobs)
		return m->type == LINK_MSG_UPLOAD_REQUEST ? err_set(e, ERR_RETRY, 0, "not linked yet") : 0;
	const struct link_report *r = &m->u.upload_request.report;
	AUTO_BUF struct buf url;
	buf_init(&url, 16384);
	AUTO_FREE char *prefix = mem_printf("%s%s/", d->prefix, m->job_id);
	int64_t expires;
	struct object_stores *stores = load_stores(d->stores_path, e);
	int rc = stores ? object_store_grant(stores, d->store, prefix, r, clock_wall_ms() + skew_ms(d->stores_path), &url, &expires, e) : -1;
	object_stores_free(stores);
	if (rc < 0)
		return -1;
	say(json_pack("{s:s,s:s}", "event", "grant", "report", r->name));
	struct link_msg grant_msg = {.type = LINK_MSG_UPLOAD_GRANT};
	memcpy(grant_msg.job_id, m->job_id, sizeof grant_msg.job_id);
	memcpy(grant_msg.u.upload_grant.report_name, r->name, sizeof grant_msg.u.upload_grant.report_name);
	grant_msg.u.upload_grant.url = url.data;
	jobs_upload_answer(d->jobs, &grant_msg);
	return 0;
}

/* Says each job's state as it changes. True when all have ended. */
static bool tell_states(struct jobs *jobs, uint64_t *version, size_t *ended)
{
	struct link_job job;
	while (jobs_next(jobs, version, &job)) {
		int delivered = 0;
		for (size_t i = 0; i < job.report_count; i++)
			delivered += job.reports[i].delivered;
		say(json_pack("{s:s,s:s,s:s,s:i,s:s,s:s}", "event", "job", "job", job.job_id, "phase", job_phase_name(job.phase), "delivered",
			      delivered, "message", job.message ? job.message : "", "reason", job.reason ? job.reason : ""));
		*ended += job_phase_is_final(job.phase);
		link_job_fini(&job);
	}
	return *ended >= jobs_count(jobs);
}

static int deliver(char **a, struct err *e)
{
	struct delivery d = {.stores_path = a[1], .store = a[2], .prefix = a[3]};
	struct spool *spool = spool_new(a[0], 1 << 30, e);
	if (!spool)
		return -1;
	struct jobs_config c = {.node_name = "node", .spool = spool, .ctx = &d, .send = answer, .delivery_bound_ms = a[4] ? atoll(a[4]) : 0};
	d.jobs = jobs_new(&c);
	jobs_leader_linked(d.jobs);
	uint64_t version = 0;
	size_t ended = 0;
	while (!tell_states(d.jobs, &version, &ended))
		clock_sleep_until_ms(clock_mono_ms() + 20);
	jobs_free(d.jobs);
	spool_free(spool);
	return say_ok();
}

/* own -------------------------------------------------------------------------------------------------------------- */

static int own_put(struct report_store *s, const char *key, const char *path, struct err *e)
{
	struct link_report r;
	AUTO_BUF struct buf content = {0}, url = {0};
	buf_init(&url, 4096);
	int64_t now = clock_wall_ms();
	if (describe(path, "x", "text/plain", &r, e) < 0 || fsio_read(AT_FDCWD, path, FILE_MAX, &content, e) < 0 ||
	    report_store_sign(s, key, r.size_bytes, r.sha256, now + 60000, &url, e) < 0)
		return -1;
	struct report_upload *u = report_upload_begin(s, key, strchr(buf_str(&url), '?') + 1, now, e);
	if (!u)
		return -1;
	for (size_t at = 0; at < content.len; at += 4096) {
		size_t n = content.len - at < 4096 ? content.len - at : 4096;
		if (report_upload_write(u, content.data + at, n, e) < 0) {
			report_upload_abort(u);
			return -1;
		}
	}
	return report_upload_commit(u, e) < 0 ? -1 : say_ok();
}

/* "put KEY FILE", "size KEY", "expire AFTER_MS" (as if so much time had passed), "used". */
static int own_command(struct report_store *s, char *line, struct err *e)
{
	char *rest = NULL;
	const char *verb = strtok_r(line, " \n", &rest), *key = strtok_r(NULL, " \n", &rest), *path = strtok_r(NULL, " \n", &rest);
	if (verb && strcmp(verb, "put") == 0 && path)
		return own_put(s, key, path, e);
	if (verb && strcmp(verb, "size") == 0 && key) {
		int64_t size;
		AUTO_FD int fd = report_store_open(s, key, &size, e);
		return fd < 0 ? -1 : say(json_pack("{s:b,s:I}", "ok", 1, "value", (json_int_t)size));
	}
	if (verb && strcmp(verb, "expire") == 0 && key)
		return say(json_pack("{s:b,s:i}", "ok", 1, "value", report_store_expire(s, clock_wall_ms() + atoll(key))));
	if (verb && strcmp(verb, "used") == 0)
		return say(json_pack("{s:b,s:I}", "ok", 1, "value", (json_int_t)report_store_used_bytes(s)));
	return err_set(e, ERR_INVALID, 0, "unknown command");
}

static int own(char **a, struct err *e)
{
	struct report_store_options o = {.folder = a[0], .quota_bytes = atoll(a[1]), .expiry_seconds = atoll(a[2]), .upload_base = "https://c:1"};
	struct report_store *s = report_store_new(&o, e);
	if (!s)
		return -1;
	say_ok();
	char line[4096];
	while (fgets(line, sizeof line, stdin)) {
		struct err failed = ERR_INIT;
		if (own_command(s, line, &failed) < 0)
			say_error(&failed);
	}
	report_store_free(s);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int least;
		int (*run)(char **arguments, struct err *e);
	} commands[] = {{"grant", 7, grant}, {"put", 5, put}, {"seed", 3, seed}, {"deliver", 4, deliver}, {"own", 3, own}};
	struct err e = ERR_INIT;
	if (http_global_init(&e) < 0)
		return 1;
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		if (argc - 2 < commands[i].least || strcmp(argv[1], commands[i].name) != 0)
			continue;
		if (commands[i].run(argv + 2, &e) == 0)
			return 0;
		say_error(&e);
		return 1;
	}
	fprintf(stderr, "unknown command\n");
	return 2;
}
