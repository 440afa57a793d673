#include "agent/cli/cli_target.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <string.h>

/* Borrowed copies of the processes whose command line holds the text; *index has their places in the whole list. */
static struct target_list holding(const struct target_list *l, const char *text, size_t *index)
{
	struct target_list some = {.items = mem_calloc(l->count + 1, sizeof *some.items)};
	for (size_t i = 0; i < l->count; i++) {
		if (l->items[i].command_line && strstr(l->items[i].command_line, text)) {
			index[some.count] = i;
			some.items[some.count++] = l->items[i];
		}
	}
	return some;
}

ssize_t cli_target_choose(const struct target_list *l, const char *name, struct err *e)
{
	struct err inner = ERR_INIT;
	ssize_t at = target_choose(l, NULL, name, 0, &inner);
	if (at < 0 && name && inner.kind == ERR_NOT_FOUND) {
		AUTO_FREE size_t *index = mem_calloc(l->count + 1, sizeof *index);
		struct target_list some = holding(l, name, index);
		if (some.count) {
			inner = (struct err)ERR_INIT;
			at = target_choose(&some, NULL, NULL, 0, &inner);
			at = at >= 0 ? (ssize_t)index[at] : -1;
		}
		free(some.items);
	}
	if (at < 0 && e)
		*e = inner;
	return at;
}
