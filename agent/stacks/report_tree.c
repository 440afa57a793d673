#include "agent/stacks/report_tree.h"

enum column { COLUMN_PARENT, COLUMN_METHOD, COLUMN_SELF, COLUMN_TOTAL, COLUMN_OBJECTS };

static uint64_t value_of(const struct stack_tree *t, const uint64_t *objects, enum column column, uint32_t node)
{
	const struct stack_node *n = &t->nodes[node];
	switch (column) {
	case COLUMN_PARENT:
		return t->rank[n->parent];
	case COLUMN_METHOD:
		return n->method;
	case COLUMN_SELF:
		return n->self;
	case COLUMN_TOTAL:
		return n->total;
	case COLUMN_OBJECTS:
		return objects[node];
	}
	return 0;
}

static void put_column(struct report_file *f, const struct stack_tree *t, const uint64_t *objects, const char *key, enum column column)
{
	buf_printf(&f->text, "%s\"%s\":[", column ? ",\n" : "", key);
	for (size_t i = 0; i < t->count; i++) {
		if (i)
			buf_putc(&f->text, ',');
		if (i == 0 && column <= COLUMN_METHOD)
			buf_puts(&f->text, "-1"); /* the root has neither */
		else
			report_file_number(f, value_of(t, objects, column, t->order[i]));
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

void report_tree_json(struct report_file *f, const struct stack_tree *t, const uint64_t *objects)
{
	static const char *const keys[] = {"parent", "method", "self", "total", "objects"};
	buf_puts(&f->text, ",\n\"tree\":{");
	for (int column = COLUMN_PARENT; column <= (objects ? COLUMN_OBJECTS : COLUMN_TOTAL); column++)
		put_column(f, t, objects, keys[column], column);
	buf_puts(&f->text, "}");
}
