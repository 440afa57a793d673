#include "agent/profilers/survivors/survivors_page_data.h"

#include "agent/symbols/method_name.h"
#include "agent/profilers/survivors/survivors_source.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <stdlib.h>

#define MAX_NODES 5000
#define NAME_BYTES 160

static void put_name(struct report_file *f, const char *name)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, NAME_BYTES * 16);
	method_name_printable(name, NAME_BYTES, &shown);
	text_append_json(&f->text, buf_str(&shown), shown.len);
}

/* The numbers of the nodes' names; each type and each holder has one. Writes the names. */
static uint32_t *put_names(const struct survivors *s, const uint32_t *order, uint32_t count, struct report_file *f)
{
	uint32_t *numbers = mem_calloc(count, sizeof *numbers), next = 0;
	uint32_t *of_type = mem_calloc(s->snapshot->type_count + 1, sizeof *of_type);
	for (uint32_t i = 0; i < count; i++) {
		const struct survivors_node *n = &s->tree.nodes[order[i]];
		bool typed = n->type != HEAP_NODE_NONE;
		if (typed && of_type[n->type]) { /* 0 is the heap's */
			numbers[i] = of_type[n->type];
			continue;
		}
		numbers[i] = next++;
		if (typed)
			of_type[n->type] = numbers[i];
		buf_puts(&f->text, i ? ",\n" : "");
		put_name(f, survivors_tree_name(&s->tree, s->snapshot, order[i]));
		report_file_flow(f);
	}
	free(of_type);
	return numbers;
}

void survivors_page_data_write(const void *source, struct report_file *f)
{
	const struct survivors *s = ((const struct survivors_source *)source)->survivors;
	uint32_t *order = mem_calloc(MAX_NODES, sizeof *order);
	uint32_t count = survivors_tree_preorder(&s->tree, s->bytes / SURVIVORS_TREE_PART + 1, order, MAX_NODES), depth = 0;
	buf_printf(&f->text, "{\"all\":%" PRIu64 ",\"names\":[", s->bytes);
	uint32_t *numbers = put_names(s, order, count, f);
	buf_puts(&f->text, "],\n\"tree\":[");
	for (uint32_t i = 0; i < count; i++) {
		const struct survivors_node *n = &s->tree.nodes[order[i]];
		buf_printf(&f->text, "%s%" PRIu32 ",%" PRIu32 ",%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64, i ? ",\n" : "", i ? depth + 1 - n->depth : 0,
			   numbers[i], n->kind < SURVIVORS_KINDS ? (int)n->kind : -1, n->objects, n->bytes, n->retained);
		depth = n->depth;
		report_file_flow(f);
	}
	buf_puts(&f->text, "]}");
	free(numbers);
	free(order);
}
