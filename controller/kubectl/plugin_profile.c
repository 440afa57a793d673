#include "controller/kubectl/plugin_profile.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "controller/kubectl/plugin_follow.h"
#include "controller/kubectl/plugin_manifest.h"
#include "controller/kubectl/plugin_print.h"
#include "controller/kubectl/plugin_progress.h"
#include "controller/kubectl/plugin_reports.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define RESULT_MAX_BYTES (512 * 1024)
#define SUFFIX_CHARS 5

struct profile {
	const struct plugin_args *a;
	struct plugin_connection connection;
	struct plugin_target target;
	json_t *selector, *manifest;
	int signal_fd;
};

static int make_suffix(char out[SUFFIX_CHARS + 1], struct err *e)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; /* as API servers do: no word that one would not want */
	unsigned char random[SUFFIX_CHARS];
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return err_set_errno(e, errno, "getrandom");
	for (size_t i = 0; i < SUFFIX_CHARS; i++)
		out[i] = letters[random[i] % (sizeof letters - 1)];
	out[SUFFIX_CHARS] = '\0';
	return 0;
}

/* A pod that is not there is better said now than in a session's status. Who may not look at pods may ask all the same. */
static int check_pod_exists(struct profile *p, struct err *e)
{
	struct kube_ref ref = {.api = KUBE_CORE, .plural = "pods", .namespace = p->connection.namespace, .name = p->target.name};
	struct err why = ERR_INIT;
	if (kube_get(p->connection.client, &ref, NULL, &why) == 0 || why.kind == ERR_DENIED)
		return 0;
	*e = why;
	return -1;
}

static int resolve_workload(struct profile *p, struct err *e)
{
	struct kube_ref ref = {.api = p->target.api, .plural = p->target.plural, .namespace = p->connection.namespace, .name = p->target.name};
	AUTO_JSON json_t *object = NULL;
	AUTO_FREE char *what = mem_printf("%s %s", p->target.word, p->target.name);
	if (kube_get(p->connection.client, &ref, &object, e) < 0)
		return -1;
	p->selector = plugin_target_selector_of(object, what, e);
	return p->selector ? 0 : -1;
}

static int resolve_target(struct profile *p, struct err *e)
{
	switch (p->target.kind) {
	case PLUGIN_TARGET_POD:
		return check_pod_exists(p, e);
	case PLUGIN_TARGET_WORKLOAD:
		return resolve_workload(p, e);
	case PLUGIN_TARGET_LABELS:
		p->selector = json_incref(p->target.selector);
		return 0;
	}
	return 0;
}

static int prepare_profile(struct profile *p, struct err *e)
{
	const struct plugin_args *a = p->a;
	char suffix[SUFFIX_CHARS + 1];
	if (plugin_target_parse(a->words.count ? a->words.at[0] : "", a->selector, &p->target, e) < 0 || make_suffix(suffix, e) < 0)
		return -1;
	p->signal_fd = plugin_follow_signals(e);
	if (p->signal_fd < 0 || plugin_connect(a, -1, &p->connection, e) < 0 || resolve_target(p, e) < 0)
		return -1;
	p->manifest = plugin_manifest_make(a, &p->target, p->selector, p->connection.namespace, suffix, e);
	return p->manifest ? 0 : -1;
}

static bool wants_object(const struct profile *p)
{
	return p->a->json || p->a->format == PLUGIN_YAML;
}

static int print_object(const struct profile *p, const json_t *object)
{
	AUTO_BUF struct buf text;
	buf_init(&text, RESULT_MAX_BYTES);
	if (p->a->json)
		return plugin_print_json(object, stdout);
	plugin_manifest_yaml(object, &text);
	fputs(buf_str(&text), stdout);
	return PLUGIN_OK;
}

/* Who asks: the shipped admission policy lets nobody write another's name. Servers before 1.28 do not tell it. */
static void sign(struct profile *p)
{
	struct kube_ref ref = {.api = "/apis/authentication.k8s.io/v1", .plural = "selfsubjectreviews"};
	AUTO_JSON json_t *review = json_pack("{s:s, s:s}", "apiVersion", "authentication.k8s.io/v1", "kind", "SelfSubjectReview");
	AUTO_JSON json_t *answer = NULL;
	struct err ignored = ERR_INIT;
	if (kube_create(p->connection.client, &ref, review, &answer, &ignored) < 0)
		return;
	const char *user = jsonx_str_at(answer, "status.userInfo.username", "");
	if (user[0])
		json_object_set_new(json_object_get(p->manifest, "metadata"), "annotations", json_pack("{s:s}", SESSION_REQUESTED_BY, user));
}

static int create(struct profile *p, struct err *e)
{
	sign(p);
	struct kube_ref ref = plugin_connect_sessions(&p->connection, NULL);
	return kube_create(p->connection.client, &ref, p->manifest, NULL, e) < 0 ? plugin_connect_explain(e) : 0;
}

/* Ended early by us with something to show is what was wished. */
static int conclude_profile(const struct profile *p, const struct plugin_follow *f, const char *name)
{
	struct plugin_progress r;
	plugin_progress_read(f->session, &r);
	if (f->end == PLUGIN_FOLLOW_LEFT) {
		fprintf(stderr, "left; the session goes on ending: kubectl drdotnet ls -n %s\n", p->connection.namespace);
		return r.diagnosis[0] ? PLUGIN_OK : PLUGIN_FAILED;
	}
	if (f->end == PLUGIN_FOLLOW_DELIVERING)
		fprintf(stderr, "the reports are still being delivered; later: kubectl drdotnet report %s -n %s\n", name, p->connection.namespace);
	else if (!r.succeeded && !(f->canceled && r.diagnosis[0]))
		return plugin_print_failure(name, r.reason, r.message);
	return PLUGIN_OK;
}

static int follow_session(struct profile *p, struct err *e)
{
	const char *name = jsonx_str_at(p->manifest, "metadata.name", "");
	struct plugin_follow f = {.connection = &p->connection, .name = name, .signal_fd = p->signal_fd, .quiet = p->a->quiet};
	int status = plugin_follow_run(&f, e) < 0 ? -1 : PLUGIN_OK;
	if (status == PLUGIN_OK && f.session) {
		if (wants_object(p))
			print_object(p, f.session);
		else
			plugin_progress_print(f.session);
		status = conclude_profile(p, &f, name);
		if (p->a->output && f.end == PLUGIN_FOLLOW_COMPLETED && jsonx_str_at(f.session, "status.diagnosis", "")[0] &&
		    plugin_reports_download(p->a, &p->connection, f.session, p->a->output, e) < 0)
			status = -1;
		else if (status == PLUGIN_OK && !wants_object(p) && !p->a->output && f.end == PLUGIN_FOLLOW_COMPLETED)
			printf("\nkubectl drdotnet report %s -n %s   downloads them\n", name, p->connection.namespace);
	}
	json_decref(f.session);
	return status;
}

static int run_plugin_profile(struct profile *p, struct err *e)
{
	if (prepare_profile(p, e) < 0)
		return e->kind == ERR_INVALID && e->code == 0 ? PLUGIN_USAGE : PLUGIN_FAILED;
	if (p->a->dry_run)
		return print_object(p, p->manifest);
	if (create(p, e) < 0)
		return PLUGIN_FAILED;
	if (!p->a->no_wait) {
		int status = follow_session(p, e);
		return status < 0 ? PLUGIN_FAILED : status;
	}
	if (wants_object(p))
		return print_object(p, p->manifest);
	printf("%s\n", jsonx_str_at(p->manifest, "metadata.name", ""));
	return PLUGIN_OK;
}

int plugin_profile(const struct plugin_args *a)
{
	struct profile p = {.a = a, .signal_fd = -1};
	struct err e = ERR_INIT;
	int status = run_plugin_profile(&p, &e);
	if (e.kind != ERR_NONE)
		plugin_print_error(&e);
	json_decref(p.manifest);
	json_decref(p.selector);
	plugin_target_fini(&p.target);
	plugin_connection_fini(&p.connection);
	if (p.signal_fd >= 0)
		close(p.signal_fd);
	return status;
}
