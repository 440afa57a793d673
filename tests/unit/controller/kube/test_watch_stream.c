#include "controller/kube/watch_stream.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen {
	char text[512];
	int fail_at, count;
};

static int on_event(void *ctx, enum watch_type type, const json_t *object, struct err *e)
{
	struct seen *s = ctx;
	size_t at = strlen(s->text);
	snprintf(s->text + at, sizeof s->text - at, "%d:%s ", (int)type, jsonx_str_at(object, "metadata.name", "-"));
	return ++s->count == s->fail_at ? err_set(e, ERR_INTERNAL, 7, "enough") : 0;
}

#define EVENT(type, name, rv) "{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" rv "\"}}}\n"

Test(watch_stream, cuts_events_from_pieces_of_any_size)
{
	static const char text[] = EVENT("ADDED", "a", "5") "\n" EVENT("MODIFIED", "b", "6") EVENT("SOMETHING", "x", "7") EVENT("DELETED", "c", "8")
		EVENT("BOOKMARK", "d", "9") "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"not whole\"";
	for (size_t piece = 1; piece <= sizeof text; piece++) {
		struct seen seen = {.fail_at = -1};
		struct watch_stream w;
		struct err e = ERR_INIT;
		watch_stream_init(&w, "1", on_event, &seen);
		for (size_t at = 0; at < sizeof text - 1; at += piece) {
			size_t n = sizeof text - 1 - at < piece ? sizeof text - 1 - at : piece;
			cr_assert_eq(watch_stream_feed(&w, text + at, n, &e), 0, "piece %zu: %s", piece, e.message);
		}
		cr_expect_str_eq(seen.text, "0:a 1:b 2:c 3:d ", "piece %zu: %s", piece, seen.text);
		cr_expect_str_eq(w.resource_version, "9");
		watch_stream_fini(&w);
	}
}

Test(watch_stream, errors_end_it)
{
	static const struct {
		const char *text;
		enum err_kind kind;
		const char *message;
	} rows[] = {
		{"{\"type\":\"ERROR\",\"object\":{\"code\":410,\"message\":\"too old\"}}\n", ERR_GONE, "the watch ended: too old"},
		{"{\"type\":\"ERROR\",\"object\":{\"code\":500}}\n", ERR_RETRY, "the watch ended: no message"},
		{"{\"type\":\"ADDED\"}\n", ERR_PROTOCOL, "watch event: lacks type or object"},
		{"{\"object\":{}}\n", ERR_PROTOCOL, "watch event: lacks type or object"},
		{"{\"type\":7,\"object\":{}}\n", ERR_PROTOCOL, "watch event: lacks type or object"},
		{"{\"type\":\"ADDED\",\"object\":[]}\n", ERR_PROTOCOL, "watch event: lacks type or object"},
		{"[]\n", ERR_PROTOCOL, "watch event: lacks type or object"},
		{"rubbish\n", ERR_PROTOCOL, NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct seen seen = {.fail_at = -1};
		struct watch_stream w;
		struct err e = ERR_INIT;
		watch_stream_init(&w, "1", on_event, &seen);
		cr_expect_eq(watch_stream_feed(&w, rows[i].text, strlen(rows[i].text), &e), -1, "%s", rows[i].text);
		cr_expect_eq(e.kind, rows[i].kind, "%s", rows[i].text);
		if (rows[i].message)
			cr_expect_str_eq(e.message, rows[i].message);
		cr_expect_str_eq(w.resource_version, "1", "it is resumed from where it was");
		watch_stream_fini(&w);
	}
}

Test(watch_stream, a_callback_ends_it_before_its_event_counts)
{
	static const char text[] = EVENT("ADDED", "a", "5") EVENT("ADDED", "b", "6") EVENT("ADDED", "c", "7");
	struct seen seen = {.fail_at = 2};
	struct watch_stream w;
	struct err e = ERR_INIT;
	watch_stream_init(&w, "1", on_event, &seen);
	cr_expect_eq(watch_stream_feed(&w, text, sizeof text - 1, &e), -1);
	cr_expect_eq(e.code, 7);
	cr_expect_str_eq(seen.text, "0:a 0:b ");
	cr_expect_str_eq(w.resource_version, "5");
	watch_stream_fini(&w);
}

Test(watch_stream, lines_are_bounded_and_large_ones_leave_no_memory)
{
	static const char head[] = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\",\"x\":\"", tail[] = "\"}}}";
	for (int over = 0; over < 2; over++) {
		size_t len = WATCH_LINE_MAX + (size_t)over;
		char *text = malloc(len + 1);
		memset(text, 'x', len);
		memcpy(text, head, sizeof head - 1);
		memcpy(text + len - (sizeof tail - 1), tail, sizeof tail - 1);
		text[len] = '\n';
		struct seen seen = {.fail_at = -1};
		struct watch_stream w;
		struct err e = ERR_INIT;
		watch_stream_init(&w, "1", on_event, &seen);
		cr_expect_eq(watch_stream_feed(&w, text, len + 1, &e), over ? -1 : 0, "over %d: %s", over, e.message);
		cr_expect_eq(seen.count, over ? 0 : 1);
		cr_expect_eq(e.kind, over ? ERR_PROTOCOL : ERR_NONE);
		if (!over)
			cr_expect_leq(w.line.cap, 65536);
		watch_stream_fini(&w);
		free(text);
	}
}

Test(watch_stream, an_absurd_version_is_not_taken)
{
	char text[300];
	struct seen seen = {.fail_at = -1};
	struct watch_stream w;
	struct err e = ERR_INIT;
	watch_stream_init(&w, "1", on_event, &seen);
	snprintf(text, sizeof text, "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%0100d\"}}}\n", 7);
	cr_expect_eq(watch_stream_feed(&w, text, strlen(text), &e), 0);
	cr_expect_str_eq(w.resource_version, "1");
	watch_stream_fini(&w);
}
