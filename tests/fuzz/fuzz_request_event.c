/* The payloads of events about requests, and what is made of paths, SQL and activity ids. */
#include "profiler/requests/activity_path.h"
#include "profiler/requests/call_event.h"
#include "profiler/requests/grpc_method_il.h"
#include "profiler/requests/listener_call.h"
#include "profiler/requests/shape_table.h"
#include "profiler/requests/sql_shape.h"
#include "tests/fuzz/fuzz_tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_shape(const struct path_shape *s)
{
	check(s->len <= PATH_SHAPE_BYTES);
	for (size_t i = 0; i < s->len; i++)
		check(s->text[i] >= ' ' && s->text[i] <= '~');
}

/* It has a number, and the number its text. */
static uint32_t check_interned(struct path_shape *s)
{
	uint16_t len = 0;
	uint32_t number = shape_table_intern(s);
	check_shape(s);
	check(number <= SHAPE_ROUTES_MOST);
	if (number) {
		const char *text = shape_table_text(number, &len);
		check(text && len <= PATH_SHAPE_BYTES);
	}
	return number;
}

/* Words are folded in any order, which `order` chooses. */
static void check_folding(struct path_shape s, uint64_t order)
{
	while (s.words) {
		unsigned words = s.words;
		path_shape_fold(&s, (unsigned)(order % words));
		check_shape(&s);
		check(s.words < words);
		check(path_shape_hash(&s, 0));
		order = order / words + (order << 32);
	}
}

/* Where the segments of a path end; how many there are. */
static unsigned ends_of_segments(const uint8_t *path, size_t units, size_t *ends)
{
	unsigned n = 0;
	for (size_t i = 0; i < units && n < PATH_SHAPE_SEGMENTS; i++)
		if ((path[2 * i] != '/' || path[2 * i + 1]) && (i + 1 == units || (path[2 * i + 2] == '/' && !path[2 * i + 3])))
			ends[n++] = i;
	return n;
}

/* The path behind `by` units of words. Returns its units; to be freed. */
static size_t stretch_path(const struct event_text *path, size_t by, uint8_t **out)
{
	uint8_t *to = *out = calloc(by + path->units + 1, 2);
	for (size_t i = 0; i < by; i++)
		to[2 * i] = i % 32 ? 'a' : '/';
	memcpy(to + 2 * by, path->data, 2 * path->units);
	return by + path->units;
}

/* Many paths that differ in one segment, then in another one or in all, as the input's last bytes say: more than SHAPE_SIBLINGS of a kind are folded. */
static void check_variants(const struct event_text *method, const struct event_text *path, size_t last_at, const uint8_t *data, size_t size)
{
	size_t ends[PATH_SHAPE_SEGMENTS];
	uint8_t *copy;
	size_t from = PATH_SHAPE_BYTES - 16 + data[size - 1] % 16; /* where its last word is to be: there is little room behind it */
	size_t units = stretch_path(path, data[size - 1] % 64 < 32 || from < last_at ? 0 : from - last_at, &copy);
	unsigned segments = ends_of_segments(copy, units, ends);
	shape_table_reset();
	for (unsigned round = 0; round < 2 && segments; round++) {
		unsigned which = data[size - 1 - round] % (segments + 1);
		for (unsigned i = 0; i < SHAPE_SIBLINGS + 5; i++) {
			struct path_shape s;
			for (unsigned k = 0; k < segments; k++)
				if (k == which || which == segments)
					copy[2 * ends[k]] = (uint8_t)('a' + i);
			path_shape_make(method, &(struct event_text){copy, units}, &s);
			check_interned(&s);
		}
	}
	free(copy);
}

static void check_path(const struct event_text *method, const struct event_text *path, const uint8_t *data, size_t size)
{
	struct path_shape s;
	path_shape_make(method, path, &s);
	check_shape(&s);
	check_folding(s, path_shape_hash(&s, UINT32_MAX));
	if (s.words && path->units < 1024)
		check_variants(method, path, s.word[s.words - 1].at, data, size);
}

static void check_routed(const struct request_end *end)
{
	struct route_values values;
	struct path_shape s;
	route_values_parse(&end->route, &values);
	path_shape_make_routed("GET /a", 6, &end->path, &values, &s);
	check_shape(&s);
	uint32_t number = check_interned(&s);
	shape_table_note_template(number, number);
	check(number == 0 || shape_table_template(number));
	path_shape_make_known(&end->path, &end->route, &s);
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
		check_path(&method, &path, data, size);
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
