/* /api/sessions/{id}/download: all reports as one zip, made while it is read. Names in it are <session>/<pod>/<file>; a report that cannot be
 * had is there as <file>.error.txt. */
#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/rest/rest_id.h"
#include "common/rest/rest_private.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define READ_BYTES 65536
#define WAITING_MAX_BYTES (1024 * 1024) /* what one step can make: a piece of a file and its headers, or the folder at the end */

struct zip_file {
	char *pod, *name;
};

struct zip {
	struct rest_api *api;
	struct rest_caller caller;
	struct rest_session_id id;
	struct zip_file *files;
	size_t count, cap, at;
	time_t made;
	struct archive *archive;
	struct buf waiting;           /* made, not yet read */
	struct rest_report report;    /* of files[at] */
	bool open, ended, closed;
};

static la_ssize_t take_bytes(struct archive *a, void *ctx, const void *data, size_t len)
{
	struct zip *z = ctx;
	if (z->closed || buf_append(&z->waiting, data, len) == 0)
		return (la_ssize_t)len;
	archive_set_error(a, EFBIG, "too much at once");
	return -1;
}

static int zip_failed(struct zip *z, struct err *e)
{
	const char *why = archive_error_string(z->archive);
	return err_set(e, ERR_INTERNAL, 0, "writing a zip file: %s", why ? why : "unknown error");
}

static int begin_entry(struct zip *z, const char *suffix, int64_t size, struct err *e)
{
	const struct zip_file *f = &z->files[z->at];
	struct archive_entry *entry = archive_entry_new();
	char *name = mem_printf("%s/%s/%s%s", z->id.name, f->pod, f->name, suffix);
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_mtime(entry, z->made, 0);
	if (size >= 0)
		archive_entry_set_size(entry, size);
	int rc = archive_write_header(z->archive, entry) == ARCHIVE_OK ? 0 : zip_failed(z, e);
	archive_entry_free(entry);
	free(name);
	return rc;
}

static int write_data(struct zip *z, const void *data, size_t len, struct err *e)
{
	return archive_write_data(z->archive, data, len) == (la_ssize_t)len ? 0 : zip_failed(z, e);
}

static int end_entry(struct zip *z, struct err *e)
{
	z->at++;
	return archive_write_finish_entry(z->archive) == ARCHIVE_OK ? 0 : zip_failed(z, e);
}

static int begin_file(struct zip *z, struct err *e)
{
	const struct zip_file *f = &z->files[z->at];
	const struct rest_backend *b = &z->api->backend;
	struct rest_problem p = REST_PROBLEM_INIT;
	z->report = (struct rest_report){.size_bytes = -1};
	if (b->report_open(b->ctx, &z->caller, &z->id, f->pod, f->name, &z->report, &p) == 0) {
		z->open = true;
		return begin_entry(z, "", z->report.size_bytes, e);
	}
	size_t len = strlen(p.detail);
	if (begin_entry(z, ".error.txt", (int64_t)len, e) < 0 || write_data(z, p.detail, len, e) < 0)
		return -1;
	return end_entry(z, e);
}

static int go_on_with_file(struct zip *z, struct err *e)
{
	char *piece = mem_realloc(NULL, READ_BYTES, 1);
	ssize_t n = z->report.stream.read(z->report.stream.ctx, piece, READ_BYTES, e);
	int rc = n > 0 ? write_data(z, piece, (size_t)n, e) : (int)n;
	free(piece);
	if (n != 0)
		return rc;
	z->report.stream.close(z->report.stream.ctx);
	z->open = false;
	return end_entry(z, e);
}

static int zip_step(struct zip *z, struct err *e)
{
	if (z->open)
		return go_on_with_file(z, e);
	if (z->at < z->count)
		return begin_file(z, e);
	z->ended = true;
	return archive_write_close(z->archive) == ARCHIVE_OK ? 0 : zip_failed(z, e);
}

static ssize_t zip_read(void *ctx, void *out, size_t size, struct err *e)
{
	struct zip *z = ctx;
	while (z->waiting.len == 0 && !z->ended)
		if (zip_step(z, e) < 0)
			return -1;
	size_t n = z->waiting.len < size ? z->waiting.len : size;
	if (n)
		memcpy(out, z->waiting.data, n);
	buf_consume(&z->waiting, n);
	return (ssize_t)n;
}

static void zip_close(void *ctx)
{
	struct zip *z = ctx;
	if (z->open)
		z->report.stream.close(z->report.stream.ctx);
	z->closed = true; /* what it writes at its end is for nobody; archive_write_fail() would leave memory behind */
	if (z->archive)
		archive_write_free(z->archive);
	for (size_t i = 0; i < z->count; i++) {
		free(z->files[i].pod);
		free(z->files[i].name);
	}
	rest_caller_fini(&z->api->backend, &z->caller);
	buf_fini(&z->waiting);
	free(z->files);
	free(z);
}

/* Only names that cannot leave the folder they are unpacked in. */
static void add_file(struct zip *z, const char *pod, const char *name)
{
	if (!rest_id_is_name(pod) || !rest_id_is_file(name))
		return;
	GROW(z->files, z->count, z->cap);
	z->files[z->count++] = (struct zip_file){mem_strdup(pod), mem_strdup(name)};
}

static void add_files(struct zip *z, const json_t *session)
{
	const json_t *targets = jsonx_at(session, "status.targets"), *target, *report;
	size_t i, k;
	json_array_foreach(targets, i, target)
		json_array_foreach(json_object_get(target, "reports"), k, report)
			add_file(z, jsonx_str_at(target, "podName", ""), jsonx_str_at(report, "name", ""));
}

static struct archive *make_archive(struct zip *z)
{
	struct archive *a = archive_write_new();
	if (!a)
		return NULL;
	if (archive_write_set_format_zip(a) == ARCHIVE_OK && archive_write_set_bytes_per_block(a, 0) == ARCHIVE_OK &&
	    archive_write_open(a, z, NULL, take_bytes, NULL) == ARCHIVE_OK)
		return a;
	archive_write_free(a);
	return NULL;
}

/* The stream needs the caller for longer than the call lasts. */
static int keep_caller(struct rest_call *c, struct zip *z)
{
	return rest_authenticate(c->backend, c->caller.token, &z->caller, &c->problem);
}

int rest_zip_get(struct rest_call *c)
{
	struct rest_session_id id;
	AUTO_JSON json_t *session = NULL;
	if (rest_path_id(c, &id) < 0 || c->backend->session_get(c->backend->ctx, &c->caller, &id, &session, &c->problem) < 0)
		return -1;
	struct zip *z = mem_alloc(sizeof *z);
	z->api = c->api;
	z->id = id;
	z->made = time(NULL);
	buf_init(&z->waiting, WAITING_MAX_BYTES);
	add_files(z, session);
	z->archive = make_archive(z);
	if (z->count == 0)
		rest_problem_set(&c->problem, 404, NULL, NULL, "This session has no reports (yet); its status says why.");
	else if (!z->archive)
		rest_problem_set(&c->problem, 500, NULL, NULL, "The zip file cannot be made.");
	if (c->problem.status || keep_caller(c, z) < 0) {
		zip_close(z);
		return -1;
	}
	char *value = mem_printf("attachment; filename=\"%s.%s.zip\"", id.namespace, id.name);
	web_respond_header(c->r, "content-disposition", value);
	free(value);
	web_respond_stream(c->r, 200, "application/zip", -1, (struct web_stream){zip_read, zip_close, z});
	return 0;
}
