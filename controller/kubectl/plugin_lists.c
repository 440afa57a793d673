#include "controller/kubectl/plugin_lists.h"

#include "common/base/cleanup.h"
#include "controller/kubectl/plugin_connect.h"
#include "controller/kubectl/plugin_follow.h"
#include "controller/kubectl/plugin_print.h"
#include "controller/kubectl/plugin_target.h"
#include "controller/kube/watch_stream.h"

#include <string.h>
#include <unistd.h>

#define TABLE_MAX_BYTES (16 * 1024 * 1024)
#define WATCH_SECONDS 290
#define STALL_MS 100000

struct list {
	const struct plugin_args *a;
	const char *plural;
	struct plugin_connection connection;
	struct kube_client *rows; /* fetches single rows while the connection's client watches */
	size_t widths[PLUGIN_COLUMNS];
	bool heads;               /* were printed */
	char resource_version[64];
};

static struct kube_ref list_ref(const struct list *l)
{
	return (struct kube_ref){.api = KUBE_SESSIONS, .plural = l->plural, .namespace = l->connection.namespace};
}

static void print_rows(struct list *l, const json_t *table)
{
	AUTO_BUF struct buf text;
	buf_init(&text, TABLE_MAX_BYTES);
	plugin_print_api_table(table, l->a->wide, l->a->all_namespaces, !l->heads, l->widths, &text);
	l->heads = true;
	fputs(buf_str(&text), stdout);
	fflush(stdout);
}

static int print_all(struct list *l, struct err *e)
{
	AUTO_JSON json_t *table = NULL;
	struct kube_ref ref = list_ref(l);
	if (kube_get_table(l->connection.client, &ref, &table, e) < 0)
		return plugin_connect_explain(e);
	snprintf(l->resource_version, sizeof l->resource_version, "%s", jsonx_str_at(table, "metadata.resourceVersion", ""));
	if (json_array_size(jsonx_at(table, "rows")) || l->a->watch)
		print_rows(l, table);
	else
		fprintf(stderr, "No %s found%s%s%s.\n", l->plural, l->connection.namespace ? " in namespace " : "",
			l->connection.namespace ? l->connection.namespace : "",
			strcmp(l->plural, SESSION_PLURAL) ? "" : ": kubectl drdotnet profile deploy/NAME makes one");
	return 0;
}

static int print_list_json(struct list *l, struct err *e)
{
	AUTO_JSON json_t *all = NULL;
	struct kube_ref ref = list_ref(l);
	if (kube_get(l->connection.client, &ref, &all, e) < 0)
		return plugin_connect_explain(e);
	return plugin_print_json(all, stdout) == PLUGIN_OK ? 0 : err_set(e, ERR_INTERNAL, 0, "writing to standard output");
}

static int on_listed_event(void *ctx, enum watch_type type, const json_t *object, struct err *e)
{
	struct list *l = ctx;
	AUTO_JSON json_t *table = NULL;
	if (type == WATCH_BOOKMARK || type == WATCH_DELETED)
		return 0;
	struct kube_ref ref = list_ref(l);
	ref.namespace = jsonx_str_at(object, "metadata.namespace", "");
	ref.name = jsonx_str_at(object, "metadata.name", "");
	if (!plugin_target_is_name(ref.name) || !plugin_target_is_name(ref.namespace) || kube_get_table(l->rows, &ref, &table, e) < 0)
		return -1;
	print_rows(l, table);
	return 0;
}

static int on_list_bytes(void *ctx, const char *data, size_t len, struct err *e)
{
	return watch_stream_feed(ctx, data, len, e);
}

static int watch_once(struct list *l, struct err *e)
{
	struct watch_stream stream;
	char from[64];
	snprintf(from, sizeof from, "%s", l->resource_version);
	watch_stream_init(&stream, from, on_listed_event, l);
	struct kube_watch_request q = {.rv = from, .timeout_seconds = WATCH_SECONDS, .stall_timeout_ms = STALL_MS, .on_body = on_list_bytes, .ctx = &stream};
	struct kube_ref ref = list_ref(l);
	int rc = kube_watch_once(l->connection.client, &ref, &q, e);
	snprintf(l->resource_version, sizeof l->resource_version, "%s", stream.resource_version);
	watch_stream_fini(&stream);
	return rc;
}

/* Until Ctrl-C, or a failure that is none of a watch's usual ends. */
static int watch_list(struct list *l, int cancel_fd, struct err *e)
{
	l->rows = kube_client_new(&l->connection.config, cancel_fd, e);
	if (!l->rows)
		return -1;
	for (;;) {
		struct err why = ERR_INIT;
		if (watch_once(l, &why) == 0 || why.kind == ERR_TIMEOUT)
			continue;
		if (why.kind == ERR_CANCELED)
			return 0;
		if (why.kind != ERR_GONE) {
			*e = why;
			return -1;
		}
		if (print_all(l, e) < 0)
			return -1;
	}
}

static int run_list(const struct plugin_args *a, const char *plural)
{
	struct list l = {.a = a, .plural = plural};
	struct err e = ERR_INIT;
	AUTO_FD int signal_fd = a->watch ? plugin_follow_signals(&e) : -1;
	int rc = plugin_connect(a, signal_fd, &l.connection, &e);
	if (rc == 0)
		rc = a->json ? print_list_json(&l, &e) : print_all(&l, &e);
	if (rc == 0 && a->watch)
		rc = watch_list(&l, signal_fd, &e);
	if (rc < 0)
		plugin_print_error(&e);
	kube_client_free(l.rows);
	plugin_connection_fini(&l.connection);
	return rc < 0 ? PLUGIN_FAILED : PLUGIN_OK;
}

int plugin_lists_sessions(const struct plugin_args *a)
{
	return run_list(a, SESSION_PLURAL);
}

int plugin_lists_triggers(const struct plugin_args *a)
{
	return run_list(a, "profilingtriggers");
}

typedef int each_fn(const struct plugin_connection *c, const char *name, struct err *e);

/* All of them, whatever becomes of one. */
static int for_each_operand(const struct plugin_args *a, each_fn *fn, const char *done)
{
	struct plugin_connection c;
	struct err e = ERR_INIT;
	int status = PLUGIN_OK;
	if (plugin_connect(a, -1, &c, &e) < 0) {
		plugin_print_error(&e);
		return PLUGIN_FAILED;
	}
	for (size_t i = 0; i < a->words.count; i++) {
		struct err why = ERR_INIT;
		const char *name = a->words.at[i];
		int rc = plugin_target_is_name(name) ? fn(&c, name, &why) : err_set(&why, ERR_INVALID, 0, "%.100s: no name of a session", name);
		if (rc == 0) {
			printf("%s %s\n", name, done);
			continue;
		}
		status = PLUGIN_FAILED;
		plugin_connect_explain(&why);
		plugin_print_error(&why);
	}
	plugin_connection_fini(&c);
	return status;
}

static int cancel_session_by_name(const struct plugin_connection *c, const char *name, struct err *e)
{
	AUTO_JSON json_t *patch = json_pack("{s:{s:b}}", "spec", "cancel", 1);
	struct kube_ref ref = plugin_connect_sessions(c, name);
	return kube_patch(c->client, &ref, KUBE_PATCH_MERGE, patch, NULL, e);
}

static int delete(const struct plugin_connection *c, const char *name, struct err *e)
{
	struct kube_ref ref = plugin_connect_sessions(c, name);
	return kube_delete(c->client, &ref, NULL, NULL, e);
}

int plugin_lists_cancel(const struct plugin_args *a)
{
	return for_each_operand(a, cancel_session_by_name, "canceled");
}

int plugin_lists_delete(const struct plugin_args *a)
{
	return for_each_operand(a, delete, "deleted");
}
