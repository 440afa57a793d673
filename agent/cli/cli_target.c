#include "agent/cli/cli_target.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/options.h"
#include "common/base/size_text.h"
#include "common/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAMES_MAX 300
#define SUGGESTIONS 32

static size_t length_of_name(const char *name)
{
	size_t len = strlen(name);
	return len > 4 && strcasecmp(name + len - 4, ".dll") == 0 ? len - 4 : len;
}

static bool is_called(const struct target *t, const char *name)
{
	size_t len = length_of_name(name);
	return t->entrypoint && length_of_name(t->entrypoint) == len && strncmp(t->entrypoint, name, len) == 0;
}

static bool is_called_in_any_case(const struct target *t, const char *name)
{
	size_t len = length_of_name(name);
	return t->entrypoint && length_of_name(t->entrypoint) == len && strncasecmp(t->entrypoint, name, len) == 0;
}

static bool holds(const struct target *t, const char *text)
{
	return t->command_line && strstr(t->command_line, text);
}

static bool holds_in_any_case(const struct target *t, const char *text)
{
	return t->command_line && strcasestr(t->command_line, text);
}

/* "2 .NET processes match: Checkout (pid 4711), Mail (pid 4712)" */
static int refuse_ambiguous(const struct target_list *some, struct err *e)
{
	AUTO_BUF struct buf names;
	buf_init(&names, NAMES_MAX);
	for (size_t i = 0; i < some->count && !names.full; i++) {
		const char *name = some->items[i].entrypoint ? some->items[i].entrypoint : ".NET process";
		buf_puts(&names, i ? ", " : "");
		text_append_printable(&names, name, text_cut_utf8(name, 60));
		buf_printf(&names, " (pid %d)", (int)some->items[i].pid);
	}
	return err_set_reason(e, ERR_INVALID, REASON_AmbiguousProcess, "%zu .NET processes match: %s%s", some->count, buf_str(&names),
			      names.full ? ", ..." : "");
}

/* Where no name is like it and one process did not tell its own (it is stopped, silent, ...), what is wrong with it says more. */
static int refuse_unknown_target(const struct target_list *l, const char *name, struct err *e)
{
	struct err inner = ERR_INIT;
	const char *names[SUGGESTIONS];
	size_t count = 0;
	for (size_t i = 0; i < l->count && count < SUGGESTIONS; i++)
		names[count++] = l->items[i].entrypoint;
	const char *nearest = option_nearest(name, names, count);
	if (!nearest)
		target_choose(l, NULL, name, 0, &inner);
	if (inner.kind && inner.reason != REASON_ProcessNotFound) {
		if (e)
			*e = inner;
		return -1;
	}
	return err_set_reason(e, ERR_NOT_FOUND, REASON_ProcessNotFound, "no .NET process has \"%.80s\" as its name or in its command line%s%.80s%s", name,
			      nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static int refuse_all(const struct target_list *l, struct err *e)
{
	if (!l->hidden)
		return err_set_reason(e, ERR_NOT_FOUND, REASON_NoDotnetProcess, "no .NET process was found");
	return err_set_reason(e, ERR_NOT_FOUND, REASON_NoDotnetProcess, "no .NET process of this user was found; %zu belong%s to other users: use sudo",
			      l->hidden, size_text_plural(l->hidden, "s", ""));
}

/* Of those that match, `some` (borrowed copies, which stand at `index` in the whole list). */
static ssize_t choose_of(const struct target_list *some, const size_t *index, struct err *e)
{
	struct err inner = ERR_INIT;
	ssize_t at = target_choose(some, NULL, NULL, 0, &inner);
	if (at >= 0)
		return (ssize_t)index[at];
	if (inner.reason == REASON_AmbiguousProcess)
		return refuse_ambiguous(some, e);
	if (e)
		*e = inner;
	return -1;
}

typedef bool match_fn(const struct target *t, const char *name);

ssize_t cli_target_choose(const struct target_list *l, const char *name, struct err *e)
{
	static match_fn *const ways[] = {is_called, is_called_in_any_case, holds, holds_in_any_case};
	struct target_list some = {.items = mem_calloc(l->count + 1, sizeof *some.items)};
	AUTO_FREE size_t *index = mem_calloc(l->count + 1, sizeof *index);
	for (size_t way = 0; way < sizeof ways / sizeof *ways && some.count == 0; way++) {
		for (size_t i = 0; i < l->count; i++) {
			if (name && !ways[way](&l->items[i], name))
				continue;
			index[some.count] = i;
			some.items[some.count++] = l->items[i];
		}
	}
	ssize_t at = -1;
	if (some.count)
		at = choose_of(&some, index, e);
	else if (l->count == 0)
		refuse_all(l, e);
	else
		refuse_unknown_target(l, name, e);
	free(some.items);
	return at;
}

ssize_t cli_target_choose_for(unsigned without, struct target_list *l, const char *name, struct err *e)
{
	struct err why = ERR_INIT;
	ssize_t at = cli_target_choose(l, name, &why);
	if (at < 0 && target_list_admit(l, why.reason, without))
		return cli_target_choose(l, name, e);
	if (at < 0 && e)
		*e = why;
	return at;
}
