#include "agent/report_folded.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <string.h>

static void put_name(struct report_file *f, const char *name)
{
	size_t begin = f->text.len;
	buf_puts(&f->text, name);
	for (char *p = f->text.data + begin; (p = strchr(p, ';'));)
		*p = ':';
}

void report_folded_write(const struct report_source *s, struct report_file *f)
{
	const struct cpu_analysis *a = s->analysis;
	uint32_t path[REPORT_PATH_MAX];
	for (size_t i = 0; i < a->leaf_count; i++) {
		const struct cpu_leaf *l = &a->leaves[i];
		const struct cpu_thread *t = &a->threads[l->thread];
		size_t depth = report_path(&a->tree, l->node, path);
		put_name(f, t->name);
		buf_printf(&f->text, " (%lld)", (long long)t->tid);
		for (size_t k = 0; k < depth; k++) {
			buf_putc(&f->text, ';');
			put_name(f, a->methods[path[k]].name);
		}
		buf_putc(&f->text, ' ');
		report_file_number(f, l->count);
		buf_putc(&f->text, '\n');
		report_file_flow(f);
	}
}
