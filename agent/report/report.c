#include "agent/report/report.h"

#include "agent/report/report_file.h"
#include "agent/report/report_head.h"
#include "agent/report/report_view.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

void report_result_fini(struct report_result *r)
{
	free(r->headline);
	free(r->diagnosis);
	free(r->findings);
	*r = (struct report_result){0};
}

struct writing {
	int dirfd;
	struct report_result *out;
	struct err *e; /* of the first that failed */
	int rc;
};

/* A disk that has no room for one may have it for the next, which is smaller. */
static void write_file(struct writing *x, const struct report_writer *w, const void *source)
{
	struct report_file f;
	struct err *e = x->rc == 0 ? x->e : NULL;
	int rc = report_file_begin(&f, x->dirfd, w->name, e);
	if (rc == 0) {
		w->write(source, &f);
		rc = report_file_commit(&f, w->media_type, &x->out->reports[x->out->report_count], e);
	}
	report_file_fini(&f);
	x->out->report_count += rc == 0;
	x->rc = rc < 0 ? -1 : x->rc;
}

struct page_source {
	const struct report_page *page;
	const struct report_head *head;
};

static void write_page(const void *source, struct report_file *f)
{
	const struct page_source *s = source;
	report_view_write(s->page, s->head, f);
}

static void keep_findings(const struct findings *from, struct report_result *out)
{
	size_t count = 0;
	while (from && count < from->count && count < FINDINGS_REPORTED && from->list[count].score > 0)
		count++;
	out->finding_count = count;
	out->findings = findings_copy(from ? from->list : NULL, count);
}

char *report_headline(const char *text)
{
	return mem_strndup(text, strcspn(text, "\n"));
}

int report_write(const struct report_files *files, const void *source, const struct report_head *h, int dirfd, struct report_result *out,
		 struct err *e)
{
	struct writing x = {dirfd, out, e, 0};
	struct buf text;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	report_head_text(h, &text);
	*out = (struct report_result){.headline = mem_strdup(h->headline), .diagnosis = buf_steal(&text)};
	keep_findings(h->findings, out);
	write_file(&x, &(struct report_writer){"summary.md", "text/markdown; charset=utf-8", files->summary}, source);
	write_file(&x, &(struct report_writer){"report.json", "application/json", files->json}, source);
	write_file(&x, &(struct report_writer){"report.html", "text/html; charset=utf-8", write_page}, &(struct page_source){&files->page, h});
	for (size_t i = 0; i < files->more_count; i++)
		write_file(&x, &files->more[i], source);
	return x.rc;
}
