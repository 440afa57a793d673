#include "common/report/report_diff_file.h"

#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"
#include "common/report/report_diff.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define OUTPUT_MAX_BYTES (4 * 1024 * 1024)

static int read_report_file(const char *given, char **path, struct buf *text, struct err *e)
{
	struct stat st;
	bool folder = fstatat(AT_FDCWD, given, &st, 0) == 0 && S_ISDIR(st.st_mode);
	*path = folder ? mem_printf("%s/report.json", given) : mem_strdup(given);
	return fsio_read(AT_FDCWD, *path, REPORT_DIFF_FILE_MAX_BYTES, text, e);
}

static int render(const json_t *diff, bool json, struct buf *out, struct err *e)
{
	buf_init(out, OUTPUT_MAX_BYTES);
	if (!json)
		return report_diff_print(diff, out) == 0 ? 0 : err_set(e, ERR_INTERNAL, 0, "the comparison is too long");
	AUTO_FREE char *text = json_dumps(diff, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
	buf_puts(out, text ? text : "");
	return text && buf_putc(out, '\n') == 0 ? 0 : err_set(e, ERR_INTERNAL, 0, "the comparison is too long");
}

int report_diff_write(const json_t *diff, bool json, const char *output, FILE *out, struct err *e)
{
	AUTO_BUF struct buf text = {0};
	if (render(diff, json, &text, e) < 0)
		return -1;
	if (output)
		return fsio_write_atomic(output, text.data, text.len, 0644, e);
	if (fwrite(text.data, 1, text.len, out) != text.len || fflush(out) != 0)
		return err_set_errno(e, errno, "writing the comparison");
	return 0;
}

json_t *report_diff_file_read(const char *given, struct err *e)
{
	AUTO_FREE char *path = NULL;
	AUTO_BUF struct buf text = {0};
	return read_report_file(given, &path, &text, e) < 0 ? NULL : jsonx_parse(buf_str(&text), text.len, path, e);
}

int report_diff_file_check(const char *given, const char *profiler, struct err *e)
{
	AUTO_JSON json_t *report = report_diff_file_read(given, e);
	if (!report)
		return -1;
	const char *found = jsonx_str_at(report, "profiler", NULL);
	if (!found)
		return err_set(e, ERR_INVALID, 0, "%.200s: no report.json of Dr-Dotnet", given);
	if (strcmp(found, profiler) != 0)
		return err_set(e, ERR_INVALID, 0, "%.200s: a report of %.60s, not of %s", given, found, profiler);
	return 0;
}

json_t *report_diff_file_make(const char *before, const char *after, struct err *e)
{
	AUTO_FREE char *before_path = NULL;
	AUTO_FREE char *after_path = NULL;
	AUTO_BUF struct buf before_text = {0}, after_text = {0};
	if (read_report_file(before, &before_path, &before_text, e) < 0 || read_report_file(after, &after_path, &after_text, e) < 0)
		return NULL;
	return report_diff_make_text(buf_str(&before_text), before_text.len, before_path, buf_str(&after_text), after_text.len, after_path, e);
}

int report_diff_files(const char *before, const char *after, bool json, const char *output, FILE *out, struct err *e)
{
	AUTO_JSON json_t *diff = report_diff_file_make(before, after, e);
	return diff ? report_diff_write(diff, json, output, out, e) : -1;
}
