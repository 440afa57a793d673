/* A session as the API server gives it, into the index; and what a client says is a cursor. The first line is the cursor, the rest the
 * object. What the index shows stays within its bounds, and each session is found again by what a page calls the next one. */
#include "controller/rest/rest_access.h"
#include "controller/sessions/session_index.h"
#include "controller/kube/workload.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_page(struct session_index *x, const char *cursor)
{
	struct session_page page;
	struct session_query q = {.limit = 1, .cursor = cursor};
	struct err e = ERR_INIT;
	if (session_index_query(x, &q, &page, &e) < 0) {
		if (e.kind != ERR_INVALID)
			abort();
		return;
	}
	for (size_t i = 0; i < page.count; i++) {
		const struct session_summary *s = &page.items[i];
		if (!s->name[0] || strlen(s->name) > 253 || strlen(s->namespace) > 63 || strlen(s->uid) > 39 || strlen(s->headline) > 320)
			abort();
	}
	session_page_fini(&page);
}

/* The same object, and one that is a little newer: two pages of one. */
static void page_through(struct session_index *x)
{
	struct session_page first, second;
	struct session_query q = {.limit = 1};
	if (session_index_query(x, &q, &first, NULL) < 0)
		abort();
	q.cursor = first.next;
	if (first.next[0] && (session_index_query(x, &q, &second, NULL) < 0 || second.count != 1 || second.next[0]))
		abort();
	if (first.next[0])
		session_page_fini(&second);
	session_page_fini(&first);
}

static void show(const json_t *object, const char *cursor)
{
	static const char other[] = "{\"metadata\":{\"namespace\":\"a\",\"name\":\"b\",\"uid\":\"c\",\"creationTimestamp\":\"2026-01-02T03:04:05Z\"}}";
	struct session_index *x = session_index_new();
	struct session_page page;
	AUTO_JSON json_t *second = jsonx_parse(other, sizeof other - 1, "other", NULL);
	bool taken = session_index_put(x, object);
	if (taken != (session_summary_of(object, &page) == 0))
		abort();
	if (taken) {
		check_page(x, cursor);
		session_index_put(x, second);
		page_through(x);
		session_page_fini(&page);
	}
	session_index_free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *line_end = memchr(data, '\n', size);
	size_t len = line_end ? (size_t)(line_end - (const char *)data) : 0;
	char *cursor = strndup((const char *)data, len);
	struct err e = ERR_INIT;
	AUTO_JSON json_t *object = line_end ? jsonx_parse(line_end + 1, size - len - 1, "fuzz", &e) : NULL;
	if (object) {
		struct workload w;
		struct rest_wish wish = {"list", "drdotnet.dev", "profilingsessions", cursor};
		show(object, cursor);
		workload_of_pod(object, &w);
		json_decref(rest_access_review_body(object, &wish));
	}
	free(cursor);
	return 0;
}
