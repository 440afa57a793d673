/* The payloads of events about requests, and what is made of paths, SQL and activity ids. */
#include "profiler/requests/activity_path.h"
#include "profiler/requests/call_event.h"
#include "profiler/requests/grpc_method_il.h"
#include "profiler/requests/listener_call.h"
#include "profiler/requests/sql_shape.h"
#include "tests/fuzz/fuzz_tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_shape(const struct path_shape *s)
{
	check(s->len <= PATH_SHAPE_BYTES);
	for (size_t i = 0; i < s->len; i++)
		check(s->text[i] >= ' ' && s->text[i] <= '~');
}

static void check_path(const struct event_text *method, const struct event_text *path)
{
	struct path_shape s;
	path_shape_make(method, path, &s);
	check_shape(&s);
	while (s.words) {
		path_shape_fold(&s, s.words - 1u);
		check_shape(&s);
		check(path_shape_hash(&s, 0));
	}
}

static void check_routed(const struct request_end *end)
{
	struct route_values values;
	struct path_shape s;
	route_values_parse(&end->route, &values);
	path_shape_make_routed("GET /a", 6, &end->path, &values, &s);
	check_shape(&s);
}

static void check_sql(const struct event_text *sql)
{
	char out[SQL_SHAPE_BYTES];
	for (enum sql_dialect d = SQL_OF_ANY; d <= SQL_OF_MYSQL; d++) {
		uint16_t len = sql_shape_make(sql, d, out);
		check(len <= sizeof out);
		for (size_t i = 0; i < len; i++)
			check(out[i] >= ' ' && out[i] <= '~' && out[i] != '\'' && out[i] != '"');
	}
}

static void check_command(const uint8_t *data, size_t size)
{
	struct listener_call c;
	struct path_shape s;
	uint64_t ns;
	if (listener_call_read(data, size, &c) && c.moment == CALL_START)
		check_shape(&c.shape);
	if (call_event_opened(data, size, &s)) {
		check_shape(&s);
		check(!call_event_queue_shape(s.text, s.len, &s));
	}
	if (call_event_queued(data, size, &ns))
		check(ns <= UINT64_C(1000000000000000));
	call_event_moment(CALL_NPGSQL, 0, data, size);
}

static void check_il(const uint8_t *data, size_t size)
{
	struct grpc_method_il found[4];
	unsigned count = grpc_method_il_read(data, size, found, 4);
	check(count <= 4);
	for (unsigned i = 0; i < count; i++)
		check(found[i].kind <= GRPC_DUPLEX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct event_text method, path, whole = {data, size / 2};
	struct request_end end;
	struct path_shape call;
	if (request_event_start(data, size, &method, &path))
		check_path(&method, &path);
	if (request_event_end(data, size, &end))
		check_routed(&end);
	end.path = end.route = whole;
	check_routed(&end);
	if (request_event_start(data, size, &end.path, &end.route))
		check_routed(&end);
	check_sql(&whole);
	for (int k = 0; k < CALL_KINDS; k++)
		if (call_event_start((enum call_kind)k, data, size, &call))
			check_shape(&call);
	check_command(data, size);
	check_il(data, size);
	if (request_event_activity(data, size)) {
		struct activity_path p = activity_path_of(data);
		for (unsigned i = 0; activity_path_parent(&p); i++)
			check(i < 24);
	}
	return 0;
}
