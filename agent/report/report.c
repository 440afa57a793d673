#include "agent/report/report.h"

#include "agent/report/report_file.h"
#include "agent/report/report_head.h"
#include "common/base/mem.h"

#include <stdlib.h>

void report_result_fini(struct report_result *r)
{
	free(r->headline);
	free(r->diagnosis);
	free(r->findings);
	*r = (struct report_result){0};
}

/* A disk that has no room for one may have it for the next, which is smaller. */
static int write_file(const struct report_writer *w, const void *source, int dirfd, struct report_result *out, struct err *e)
{
	struct report_file f;
	int rc = report_file_begin(&f, dirfd, w->name, e);
	if (rc == 0) {
		w->write(source, &f);
		rc = report_file_commit(&f, w->media_type, &out->reports[out->report_count], e);
	}
	report_file_fini(&f);
	out->report_count += rc == 0;
	return rc;
}

static void keep_findings(const struct findings *from, struct report_result *out)
{
	size_t count = 0;
	while (from && count < from->count && count < FINDINGS_REPORTED && from->list[count].score > 0)
		count++;
	out->finding_count = count;
	out->findings = findings_copy(from ? from->list : NULL, count);
}

int report_write(const struct report_writer *w, size_t count, const void *source, const struct report_head *h, int dirfd,
		 struct report_result *out, struct err *e)
{
	int result = 0;
	struct buf text;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	report_head_text(h, &text);
	*out = (struct report_result){.headline = mem_strdup(h->headline), .diagnosis = buf_steal(&text)};
	keep_findings(h->findings, out);
	for (size_t i = 0; i < count; i++)
		if (write_file(&w[i], source, dirfd, out, result == 0 ? e : NULL) < 0)
			result = -1;
	return result;
}
