#include "controller/kubectl/plugin_reports.h"

#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"
#include "common/report/report_diff.h"
#include "common/report/report_diff_file.h"
#include "controller/kubectl/plugin_print.h"
#include "controller/kubectl/plugin_progress.h"
#include "controller/kubectl/plugin_rest.h"
#include "controller/kubectl/plugin_target.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>

#define REPORT_MAX_BYTES (256 * 1024 * 1024)

bool plugin_reports_is_file_name(const char *name)
{
	size_t len = strlen(name);
	if (len == 0 || len > 200 || name[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == '/' || name[i] == 0x7f)
			return false;
	return true;
}

/* one file --------------------------------------------------------------------------------------------------------- */

struct download {
	struct buf body;
	EVP_MD_CTX *hash;
};

static int receive_report(void *ctx, const char *data, size_t len, struct err *e)
{
	struct download *d = ctx;
	EVP_DigestUpdate(d->hash, data, len);
	return buf_append(&d->body, data, len) < 0 ? err_set(e, ERR_INVALID, 0, "a report larger than %d MiB", REPORT_MAX_BYTES >> 20) : 0;
}

static int check_download(const struct download *d, const json_t *report, struct err *e)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	char hex[2 * EVP_MAX_MD_SIZE + 1] = "";
	EVP_DigestFinal_ex(d->hash, digest, &len);
	for (unsigned i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	const char *expected = jsonx_str_at(report, "sha256", hex);
	if (jsonx_int_at(report, "sizeBytes", (int64_t)d->body.len) != (int64_t)d->body.len || strcasecmp(expected, hex) != 0)
		return err_set(e, ERR_PROTOCOL, 0, "it is not what the session's status says: another size or sha256");
	return 0;
}

/* What the status says of it is what came. *out is initialised here. */
static int fetch_report(struct plugin_rest *rest, const char *id, const char *pod, const json_t *report, struct buf *out, struct err *e)
{
	const char *name = jsonx_str_at(report, "name", "");
	const char *segments[] = {"sessions", id, "reports", pod, name, NULL};
	struct download d = {.hash = EVP_MD_CTX_new()};
	buf_init(&d.body, REPORT_MAX_BYTES);
	int rc = d.hash && EVP_DigestInit_ex(d.hash, EVP_sha256(), NULL) == 1 ? 0 : err_set(e, ERR_INTERNAL, 0, "no SHA-256");
	if (rc == 0 && (plugin_rest_bytes(rest, segments, receive_report, &d, e) < 0 || check_download(&d, report, e) < 0))
		rc = err_prefix(e, "%.200s of %.100s", name, pod);
	EVP_MD_CTX_free(d.hash);
	*out = d.body;
	return rc;
}

static const json_t *report_named(const json_t *target, const char *name)
{
	size_t i;
	json_t *report;
	json_array_foreach(jsonx_at(target, "reports"), i, report) {
		if (strcmp(jsonx_str_at(report, "name", ""), name) == 0)
			return report;
	}
	return NULL;
}

static char *id_of(const json_t *session)
{
	return mem_printf("%s.%s", jsonx_str_at(session, "metadata.namespace", ""), jsonx_str_at(session, "metadata.name", ""));
}

static int get_named_session(struct plugin_connection *c, const char *name, json_t **out, struct err *e)
{
	if (!plugin_target_is_name(name))
		return err_set(e, ERR_INVALID, 0, "%.100s: no name of a session", name);
	struct kube_ref ref = plugin_connect_sessions(c, name);
	return kube_get(c->client, &ref, out, e) < 0 ? plugin_connect_explain(e) : 0;
}

/* a session's ------------------------------------------------------------------------------------------------------ */

static bool is_wanted(const struct plugin_args *a, const json_t *target)
{
	const char *pod = jsonx_str_at(target, "podName", "");
	return json_array_size(jsonx_at(target, "reports")) && (a->command == PLUGIN_PROFILE || !a->pod || strcmp(a->pod, pod) == 0);
}

static size_t count_wanted(const struct plugin_args *a, const json_t *session)
{
	size_t i, count = 0;
	json_t *target;
	json_array_foreach(jsonx_at(session, "status.targets"), i, target)
		count += is_wanted(a, target);
	return count;
}

static int save_target(const struct plugin_args *a, struct plugin_rest *rest, const char *id, const json_t *target, const char *folder, struct err *e)
{
	const char *pod = jsonx_str_at(target, "podName", "");
	size_t i;
	json_t *report;
	if (fsio_mkdir_p(folder, 0777, e) < 0)
		return -1;
	json_array_foreach(jsonx_at(target, "reports"), i, report) {
		const char *name = jsonx_str_at(report, "name", "");
		AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
		AUTO_BUF struct buf body = {0};
		if (!plugin_reports_is_file_name(name))
			return err_set(e, ERR_PROTOCOL, 0, "the status names a report that is no file's name");
		if (fetch_report(rest, id, pod, report, &body, e) < 0 || fsio_write_atomic(path, body.data ? body.data : "", body.len, 0644, e) < 0)
			return -1;
	}
	if (a->open)
		printf("%s/report.html\n", folder);
	else
		fprintf(a->json ? stderr : stdout, "reports of %s in %s: open %s/report.html\n", pod, folder, folder);
	return 0;
}

int plugin_reports_download(const struct plugin_args *a, struct plugin_connection *c, const json_t *session, const char *folder, struct err *e)
{
	size_t i, count = count_wanted(a, session);
	json_t *target;
	struct plugin_rest rest;
	AUTO_FREE char *id = id_of(session);
	if (!count)
		return err_set(e, ERR_NOT_FOUND, 0, "the session %.200s has no reports%s%.100s", jsonx_str_at(session, "metadata.name", ""),
			       a->pod ? " of pod " : "", a->pod ? a->pod : "");
	if (plugin_rest_open(a, c, &rest, e) < 0)
		return -1;
	int rc = 0;
	json_array_foreach(jsonx_at(session, "status.targets"), i, target) {
		const char *pod = jsonx_str_at(target, "podName", "");
		if (rc < 0 || !is_wanted(a, target))
			continue;
		AUTO_FREE char *place = count > 1 ? mem_printf("%s/%s", folder, pod) : mem_strdup(folder);
		rc = plugin_target_is_name(pod) ? save_target(a, &rest, id, target, place, e) : err_set(e, ERR_PROTOCOL, 0, "the status names no pod");
	}
	plugin_rest_close(&rest);
	return rc;
}

/* Without the REST API the diagnosis and the places are still worth something. */
static int run_report(const struct plugin_args *a, struct plugin_connection *c, struct err *e)
{
	const char *name = a->words.at[0];
	AUTO_JSON json_t *session = NULL;
	if (get_named_session(c, name, &session, e) < 0)
		return -1;
	if (plugin_reports_download(a, c, session, a->output ? a->output : name, e) == 0)
		return 0;
	if (e->kind != ERR_INVALID && e->kind != ERR_NOT_FOUND && !a->open)
		plugin_progress_print(session);
	return -1;
}

static int run_with_connection(const struct plugin_args *a, int (*command)(const struct plugin_args *a, struct plugin_connection *c, struct err *e))
{
	struct plugin_connection c = {0};
	struct err e = ERR_INIT;
	int rc = plugin_connect(a, -1, &c, &e);
	if (rc == 0)
		rc = command(a, &c, &e);
	if (rc < 0)
		plugin_print_error(&e);
	plugin_connection_fini(&c);
	return rc < 0 ? PLUGIN_FAILED : PLUGIN_OK;
}

int plugin_reports_report(const struct plugin_args *a)
{
	return run_with_connection(a, run_report);
}

/* diff ------------------------------------------------------------------------------------------------------------- */

/* The first pod's (or --pod's) report.json. */
static int fetch_json(const struct plugin_args *a, struct plugin_connection *c, struct plugin_rest *rest, const char *name, struct buf *out, struct err *e)
{
	AUTO_JSON json_t *session = NULL;
	size_t i;
	json_t *target;
	if (get_named_session(c, name, &session, e) < 0)
		return -1;
	AUTO_FREE char *id = id_of(session);
	json_array_foreach(jsonx_at(session, "status.targets"), i, target) {
		const json_t *wanted = is_wanted(a, target) ? report_named(target, "report.json") : NULL;
		if (wanted)
			return fetch_report(rest, id, jsonx_str_at(target, "podName", ""), wanted, out, e);
	}
	return err_set(e, ERR_NOT_FOUND, 0, "the session %.200s has no report.json%s%.100s", name, a->pod ? " of pod " : "", a->pod ? a->pod : "");
}

static int diff_sessions(const struct plugin_args *a, struct plugin_connection *c, struct err *e)
{
	AUTO_BUF struct buf before = {0}, after = {0};
	struct plugin_rest rest;
	if (plugin_rest_open(a, c, &rest, e) < 0)
		return -1;
	int rc = fetch_json(a, c, &rest, a->words.at[0], &before, e);
	if (rc == 0)
		rc = fetch_json(a, c, &rest, a->words.at[1], &after, e);
	plugin_rest_close(&rest);
	if (rc < 0)
		return -1;
	AUTO_JSON json_t *diff = report_diff_make_text(buf_str(&before), before.len, a->words.at[0], buf_str(&after), after.len, a->words.at[1], e);
	return diff ? report_diff_write(diff, a->json, a->output, stdout, e) : -1;
}

int plugin_reports_diff(const struct plugin_args *a)
{
	struct err e = ERR_INIT;
	bool files[2] = {strchr(a->words.at[0], '/') != NULL, strchr(a->words.at[1], '/') != NULL};
	if (!files[0] && !files[1])
		return run_with_connection(a, diff_sessions);
	int rc = files[0] && files[1] ? report_diff_files(a->words.at[0], a->words.at[1], a->json, a->output, stdout, &e)
				      : err_set(&e, ERR_INVALID, 0, "give two sessions or two files (files have a '/', such as ./report.json)");
	if (rc < 0)
		plugin_print_error(&e);
	return rc < 0 ? PLUGIN_FAILED : PLUGIN_OK;
}
