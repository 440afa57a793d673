#include "controller/kubectl/plugin_ps.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "controller/kubectl/plugin_print.h"
#include "controller/kubectl/plugin_rest.h"

#include <string.h>

#define TABLE_MAX_BYTES (16 * 1024 * 1024)
#define CELL_MAX_BYTES 300
#define COLUMNS 9

static char *printable_process_text(const char *s)
{
	AUTO_BUF struct buf text;
	buf_init(&text, CELL_MAX_BYTES * 8);
	text_append_printable(&text, s, text_cut_utf8(s, CELL_MAX_BYTES));
	return mem_strdup(buf_str(&text));
}

static char *text_at(const json_t *item, const char *path)
{
	return printable_process_text(jsonx_str_at(item, path, ""));
}

static char *memory_of(const json_t *item)
{
	int64_t bytes = jsonx_int_at(item, "memoryBytes", -1);
	return bytes < 0 ? mem_strdup("") : mem_printf("%lldMi", (long long)(bytes >> 20));
}

static char *cpu_of(const json_t *item)
{
	int64_t milli = jsonx_int_at(item, "cpuMillicores", -1);
	return milli < 0 ? mem_strdup("") : mem_printf("%lldm", (long long)milli);
}

static char *verdict_of(const json_t *item)
{
	const char *reason = jsonx_str_at(item, "reason", "no");
	return json_is_true(json_object_get(item, "canProfile")) ? mem_strdup("yes") : printable_process_text(reason);
}

static void fill_process_row(const json_t *item, char **cells)
{
	cells[0] = text_at(item, "namespace");
	cells[1] = text_at(item, "pod");
	cells[2] = text_at(item, "container");
	cells[3] = mem_printf("%lld", (long long)jsonx_int_at(item, "pid", 0));
	cells[4] = text_at(item, "entrypoint");
	cells[5] = text_at(item, "runtimeVersion");
	cells[6] = cpu_of(item);
	cells[7] = memory_of(item);
	cells[8] = verdict_of(item);
}

void plugin_ps_print(const json_t *answer, bool namespaces, struct buf *out)
{
	static const char *const heads[COLUMNS] = {"NAMESPACE", "POD", "CONTAINER", "PID", "ENTRYPOINT", "RUNTIME", "CPU", "MEMORY", "PROFILE"};
	const json_t *items = jsonx_at(answer, "items");
	size_t i, count = json_array_size(items), skip = namespaces ? 0 : 1, width = COLUMNS - skip;
	char **cells = mem_calloc(count * COLUMNS + 1, sizeof *cells);
	const char **shown_cells = mem_calloc(count * width + 1, sizeof *shown_cells);
	json_t *item;
	json_array_foreach(items, i, item) {
		fill_process_row(item, cells + i * COLUMNS);
		for (size_t k = 0; k < width; k++)
			shown_cells[i * width + k] = cells[i * COLUMNS + skip + k];
	}
	plugin_print_table(heads + skip, width, shown_cells, count, NULL, out);
	for (size_t k = 0; k < count * COLUMNS; k++)
		free(cells[k]);
	free(cells);
	free(shown_cells);
}

static void print_warnings(const json_t *answer)
{
	size_t i;
	json_t *w;
	json_array_foreach(jsonx_at(answer, "warnings"), i, w) {
		AUTO_FREE char *node = text_at(w, "node");
		AUTO_FREE char *reason = text_at(w, "reason");
		AUTO_FREE char *message = text_at(w, "message");
		fprintf(stderr, "warning: %s%s%s: %s\n", node, node[0] ? ": " : "", reason, message);
	}
}

static int print_processes(const struct plugin_args *a, const json_t *answer)
{
	AUTO_BUF struct buf text;
	buf_init(&text, TABLE_MAX_BYTES);
	if (a->json)
		return plugin_print_json(answer, stdout) == PLUGIN_OK ? 0 : -1;
	plugin_ps_print(answer, a->all_namespaces, &text);
	fputs(buf_str(&text), stdout);
	fflush(stdout);
	print_warnings(answer);
	return 0;
}

int plugin_ps(const struct plugin_args *a)
{
	struct plugin_connection c = {0};
	struct plugin_rest rest = {.forward_fd = -1};
	struct err e = ERR_INIT;
	AUTO_JSON json_t *answer = NULL;
	static const char *const segments[] = {"processes", NULL};
	int rc = plugin_connect(a, -1, &c, &e);
	if (rc == 0)
		rc = plugin_rest_open(a, &c, &rest, &e);
	const char *query[] = {c.namespace ? "namespace" : NULL, c.namespace, NULL};
	if (rc == 0)
		rc = plugin_rest_json(&rest, segments, query, &answer, &e);
	if (rc == 0)
		rc = print_processes(a, answer);
	if (rc < 0)
		plugin_print_error(&e);
	plugin_rest_close(&rest);
	plugin_connection_fini(&c);
	return rc < 0 ? PLUGIN_FAILED : PLUGIN_OK;
}
