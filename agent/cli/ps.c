#include "agent/cli/ps.h"

#include "agent/cli/cli_words.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/size_text.h"
#include "common/base/text.h"
#include "common/terminal/term_table.h"

#include <stdlib.h>
#include <string.h>

#define CELL_MAX_CHARS 48
#define MESSAGE_MAX 4096
#define TEXT_MAX (16u << 20)

static void append_json_or_null(struct buf *out, const char *key, const char *s)
{
	buf_printf(out, ",\"%s\":", key);
	if (s)
		text_append_json(out, s, strlen(s));
	else
		buf_puts(out, "null");
}

static void append_json_number(struct buf *out, const char *key, int64_t v, bool known)
{
	if (known)
		buf_printf(out, ",\"%s\":%lld", key, (long long)v);
	else
		buf_printf(out, ",\"%s\":null", key);
}

static void append_json_process(struct buf *out, const struct target *t)
{
	if (t->pid != 0)
		buf_printf(out, "{\"pid\":%d", (int)t->pid);
	else
		buf_puts(out, "{\"pid\":null");
	append_json_number(out, "innerPid", t->inner_pid, t->inner_pid != 0);
	append_json_number(out, "uid", (int64_t)t->uid, t->uid != (uid_t)-1);
	append_json_or_null(out, "runtimeVersion", t->runtime_version);
	append_json_or_null(out, "entrypoint", t->entrypoint);
	append_json_or_null(out, "arch", t->arch);
	append_json_or_null(out, "rid", t->rid);
	append_json_or_null(out, "podUID", t->pod_uid);
	append_json_or_null(out, "containerID", t->container_id);
	append_json_or_null(out, "containerName", t->container_name);
	append_json_or_null(out, "commandLine", t->command_line);
	buf_printf(out, ",\"profilable\":%s", t->profilable ? "true" : "false");
	append_json_or_null(out, "reason", t->reason);
	AUTO_BUF struct buf words;
	buf_init(&words, MESSAGE_MAX);
	cli_words_put(t->message ? t->message : "", &words);
	append_json_or_null(out, "message", t->message ? buf_str(&words) : NULL);
	append_json_or_null(out, "remedy", cli_words_remedy(t->reason));
	buf_putc(out, '}');
}

static void append_json(struct buf *out, const struct target_list *l)
{
	buf_puts(out, "{\"processes\":[");
	for (size_t i = 0; i < l->count; i++) {
		buf_puts(out, i ? ",\n" : "\n");
		append_json_process(out, &l->items[i]);
	}
	buf_puts(out, l->count ? "\n]}\n" : "]}\n");
}

enum column { COLUMN_PID, COLUMN_INNER, COLUMN_UID, COLUMN_RUNTIME, COLUMN_ENTRYPOINT, COLUMN_CONTAINER, COLUMN_STATE, COLUMNS };
static const char *const titles[] = {"PID", "INNER", "UID", "RUNTIME", "ENTRYPOINT", "CONTAINER", "PROFILABLE"};

static char *cell_number(int64_t v, bool known)
{
	return known ? mem_printf("%lld", (long long)v) : mem_strdup("-");
}

static char *ps_cell_text(const char *s, size_t max_bytes)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 4096);
	text_append_printable(&text, s ? s : "-", s ? text_cut_utf8(s, max_bytes) : 1);
	return buf_steal(&text);
}

static char *ps_cell(const struct target *t, enum column c)
{
	switch (c) {
	case COLUMN_PID:
		return cell_number(t->pid, t->pid != 0);
	case COLUMN_INNER:
		return cell_number(t->inner_pid, t->inner_pid != 0);
	case COLUMN_UID:
		return cell_number((int64_t)t->uid, t->uid != (uid_t)-1);
	case COLUMN_RUNTIME:
		return ps_cell_text(t->runtime_version, CELL_MAX_CHARS);
	case COLUMN_ENTRYPOINT:
		return ps_cell_text(t->entrypoint ? t->entrypoint : t->command_line, CELL_MAX_CHARS);
	case COLUMN_CONTAINER:
		return t->container_name ? ps_cell_text(t->container_name, CELL_MAX_CHARS) : ps_cell_text(t->container_id, 12);
	default:
		break;
	}
	if (t->profilable)
		return mem_strdup("yes");
	AUTO_BUF struct buf words;
	buf_init(&words, MESSAGE_MAX);
	cli_words_put(t->message ? t->message : "not asked", &words);
	AUTO_FREE char *message = ps_cell_text(buf_str(&words), 300);
	return mem_printf("no: %s%s%s", t->reason ? t->reason : "", t->reason ? ": " : "", message);
}

static void append_table(struct buf *out, const struct target_list *l, const struct term_page *page)
{
	struct term_table table = {.wrap_last = true};
	char *cells[COLUMNS];
	for (int c = 0; c < COLUMNS; c++)
		cells[c] = mem_strdup(titles[c]);
	term_table_add_row_take(&table, cells, COLUMNS);
	for (size_t i = 0; i < l->count; i++) {
		for (int c = 0; c < COLUMNS; c++)
			cells[c] = ps_cell(&l->items[i], (enum column)c);
		term_table_add_row_take(&table, cells, COLUMNS);
	}
	term_table_put(page, &table, out);
}

static void append_hidden(struct buf *out, const struct target_list *l)
{
	if (l->hidden)
		buf_printf(out, "%zu .NET process%s belong%s to other users: use sudo to profile %s\n", l->hidden, size_text_plural(l->hidden, "", "es"),
			   size_text_plural(l->hidden, "s", ""), size_text_plural(l->hidden, "it", "them"));
}

int ps_print(const struct target_list *l, bool json, FILE *out)
{
	struct term_page page = term_page_of(out);
	AUTO_BUF struct buf text;
	buf_init(&text, TEXT_MAX);
	if (json)
		append_json(&text, l);
	else
		append_table(&text, l, &page);
	if (!json)
		append_hidden(&text, l);
	return fwrite(buf_str(&text), 1, text.len, out) == text.len && fflush(out) == 0 ? 0 : -1;
}

void ps_print_words(const struct target_list *l, const char *beginning, FILE *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t len = strlen(beginning);
	for (size_t i = 0; i < l->count; i++) {
		char id[16];
		const char *name = l->items[i].entrypoint;
		snprintf(id, sizeof id, "%d", (int)l->items[i].pid);
		if (strncmp(id, beginning, len) == 0)
			fprintf(out, "%s\n", id);
		if (name && *name && *name != '-' && !name[strspn(name, plain)] && strncmp(name, beginning, len) == 0)
			fprintf(out, "%s\n", name);
	}
}
