/* One file of a report. A report is the work of processes that nobody trusts: it is served with a policy that lets its own scripts run in an
 * origin of its own, without network. */
#include "common/base/mem.h"
#include "common/report/report_policy.h"
#include "common/rest/rest_id.h"
#include "common/rest/rest_private.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 65536

static int open_backend_report(struct rest_call *c, const struct rest_session_id *id, const char *pod, const char *file, struct rest_report *out)
{
	*out = (struct rest_report){.size_bytes = -1};
	if (!rest_id_is_name(pod) || !rest_id_is_file(file))
		return rest_problem_set(&c->problem, 404, NULL, NULL, "There is no such report; the session's status names those that there are.");
	return c->backend->report_open(c->backend->ctx, &c->caller, id, pod, file, out, &c->problem);
}

static void add_disposition(struct rest_call *c, const struct rest_session_id *id, const struct rest_report *report, const char *file)
{
	bool shown = strncmp(report->media_type, "text/html", 9) == 0;
	char *value = mem_printf("%s; filename=\"%s-%s\"", shown ? "inline" : "attachment", id->name, file);
	web_respond_header(c->r, "content-disposition", value);
	free(value);
}

int rest_reports_get(struct rest_call *c)
{
	struct rest_session_id id;
	struct rest_report report;
	const char *file = web_request_param(c->q, "file");
	if (rest_path_id(c, &id) < 0 || open_backend_report(c, &id, web_request_param(c->q, "pod"), file, &report) < 0)
		return -1;
	if (report.sha256[0] && web_respond_not_modified(c->r, c->q, report.sha256)) {
		report.stream.close(report.stream.ctx);
		return 0;
	}
	add_disposition(c, &id, &report, file);
	web_respond_header(c->r, "content-security-policy", REPORT_POLICY);
	web_respond_stream(c->r, 200, report.media_type, report.size_bytes, report.stream);
	return 0;
}

static int read_whole(struct web_stream *s, size_t max_bytes, struct buf *out, struct err *e)
{
	char *piece = mem_realloc(NULL, PIECE_BYTES, 1);
	ssize_t n;
	int rc = 0;
	while (rc == 0 && (n = s->read(s->ctx, piece, PIECE_BYTES, e)) != 0) {
		if (n < 0)
			rc = -1;
		else if (buf_append(out, piece, (size_t)n) < 0)
			rc = err_set(e, ERR_INVALID, 0, "the report is larger than %zu bytes", max_bytes);
	}
	free(piece);
	return rc;
}

int rest_reports_read(struct rest_call *c, const struct rest_session_id *id, const char *pod, const char *file, size_t max_bytes,
		      struct buf *out)
{
	struct rest_report report;
	struct err e = ERR_INIT;
	buf_init(out, max_bytes);
	if (open_backend_report(c, id, pod, file, &report) < 0)
		return -1;
	int rc = read_whole(&report.stream, max_bytes, out, &e);
	report.stream.close(report.stream.ctx);
	return rc < 0 ? rest_problem_from_err(&c->problem, &e) : 0;
}
