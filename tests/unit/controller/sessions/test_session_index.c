#include "controller/sessions/session_index.h"

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/yaml_json.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct object {
	const char *namespace, *name, *uid, *version, *profiler, *state, *target, *headline, *by;
	int64_t created_s;
};

static bool put(struct session_index *x, const struct object *o)
{
	char created[CLOCK_RFC3339_SIZE];
	clock_rfc3339(o->created_s * 1000, created);
	AUTO_JSON json_t *object = json_pack(
		"{s:{s:s, s:s, s:s, s:s, s:s, s:{s:s}}, s:{s:s}, s:{s:s, s:s, s:s}}", "metadata", "namespace", o->namespace, "name", o->name,
		"uid", o->uid, "resourceVersion", o->version, "creationTimestamp", created, "annotations", SESSION_REQUESTED_BY,
		o->by ? o->by : "", "spec", "profiler", o->profiler ? o->profiler : "CPUHotpaths", "status", "state",
		o->state ? o->state : "Succeeded", "targetSummary", o->target ? o->target : "app=a", "headline", o->headline ? o->headline : "");
	cr_assert(object);
	return session_index_put(x, object);
}

/* The names of all pages of a query, in order. */
static void names(struct session_index *x, struct session_query q, char *out, size_t size)
{
	struct session_page page;
	char cursor[SESSION_CURSOR_SIZE] = "";
	size_t len = 0, seen = 0, total = 0;
	out[0] = '\0';
	do {
		q.cursor = cursor[0] ? cursor : NULL;
		cr_assert_eq(session_index_query(x, &q, &page, NULL), 0);
		for (size_t i = 0; i < page.count; i++)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? " " : "", page.items[i].name);
		seen += page.count;
		total = page.total;
		memcpy(cursor, page.next, sizeof cursor);
		session_page_fini(&page);
	} while (cursor[0]);
	cr_expect_eq(seen, total);
}

static const struct object four[] = {
	{"shop", "cart", "u1", "10", NULL, "Running", "cart-1", "84% in Tax", "anna", 100},
	{"shop", "pay", "u2", "11", NULL, "Succeeded", "pay-1", "", "bert", 300},
	{"bank", "cart", "u3", "12", "Deadlocks", "Succeeded", "cart-9", "two locks", "", 200},
	{"bank", "last", "u4", "13", NULL, "Failed", "app=x", "", "anna", 300},
};

static struct session_index *index_of_four(void)
{
	struct session_index *x = session_index_new();
	for (size_t i = 0; i < 4; i++)
		cr_assert(put(x, &four[i]));
	return x;
}

Test(session_index, filters_and_pages)
{
	struct session_index *x = index_of_four();
	static const char *const shop[] = {"shop"}, *const both[] = {"bank", "shop"}, *const none[] = {""};
	static const struct {
		struct session_query q;
		const char *names;
	} rows[] = {
		{{.limit = 1}, "last pay cart cart"},
		{{.limit = 3}, "last pay cart cart"},
		{{.limit = 500}, "last pay cart cart"},
		{{.limit = 2, .namespaces = shop, .namespace_count = 1}, "pay cart"},
		{{.limit = 2, .namespaces = both, .namespace_count = 2}, "last pay cart cart"},
		{{.limit = 2, .namespaces = none, .namespace_count = 0}, ""},
		{{.limit = 2, .profiler = "Deadlocks"}, "cart"},
		{{.limit = 2, .state = "Succeeded"}, "pay cart"},
		{{.limit = 2, .state = "succeeded"}, ""},
		{{.limit = 2, .text = "CART"}, "cart cart"},
		{{.limit = 2, .text = "tax"}, "cart"},
		{{.limit = 2, .text = "anna"}, "last cart"},
		{{.limit = 2, .text = "bank."}, "last cart"},
		{{.limit = 2, .text = "shop.CART"}, "cart"},
		{{.limit = 2, .text = "cart.cart"}, ""},
		{{.limit = 2, .text = "cart-1.Running"}, ""},
		{{.limit = 2, .text = "u3"}, ""},
		{{.limit = 2, .text = "CPUHotpaths"}, ""},
		{{.limit = 2, .text = "nothing"}, ""},
		{{.limit = 2, .text = "cart", .state = "Running"}, "cart"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char got[256];
		names(x, rows[i].q, got, sizeof got);
		cr_expect_str_eq(got, rows[i].names, "row %zu: %s", i, got);
	}
	session_index_free(x);
}

Test(session_index, says_what_the_object_says)
{
	struct session_index *x = session_index_new();
	const char *text = "metadata: {namespace: a, name: n, uid: u, resourceVersion: '7', creationTimestamp: '2026-01-02T03:04:05Z',\n"
			   "  ownerReferences: [{kind: Job, name: j}, {kind: ProfilingTrigger, name: hot}]}\n"
			   "spec: {profiler: CPUHotpaths, target: {podName: p-1}}\n"
			   "status: {completionTime: '2026-01-02T03:05:05Z'}\n";
	AUTO_JSON json_t *object = jsonx_parse_yaml(text, strlen(text), "t", NULL);
	cr_assert(object && session_index_put(x, object));
	struct session_page page;
	cr_assert_eq(session_summary_of(object, &page), 0);
	const struct session_summary *s = &page.items[0];
	cr_expect_str_eq(s->trigger, "hot");
	cr_expect_str_eq(s->target, "p-1", "before there is a status");
	cr_expect_str_eq(s->state, "Pending");
	cr_expect_str_eq(s->requested_by, "");
	cr_expect_eq(s->completed_wall_ms - s->created_wall_ms, 60000);
	session_page_fini(&page);
	session_index_free(x);
}

Test(session_index, what_cannot_be_an_object_changes_nothing)
{
	struct session_index *x = session_index_new();
	static const char *const rows[] = {"{}", "[]", "{\"metadata\":7}", "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}",
					   "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"}}",
					   "{\"metadata\":{\"name\":{},\"namespace\":\"b\",\"uid\":\"u\"}}"};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_JSON json_t *object = jsonx_parse(rows[i], strlen(rows[i]), "t", NULL);
		cr_expect_not(session_index_put(x, object), "%s", rows[i]);
	}
	cr_expect_eq(session_index_size(x).sessions, 0);
	session_index_free(x);
}

Test(session_index, old_versions_are_echoes)
{
	struct session_index *x = index_of_four();
	struct object o = four[0];
	o.state = "Succeeded";
	cr_expect_not(put(x, &o), "the same version");
	o.version = "9";
	cr_expect_not(put(x, &o), "an older one");
	o.version = "100";
	cr_expect(put(x, &o));
	cr_expect_not(session_index_remove(x, "shop", "cart", "another"));
	o.uid = "u9";
	o.version = "5";
	cr_expect(put(x, &o), "another object of the same name");
	cr_expect_eq(session_index_size(x).sessions, 4);
	cr_expect(session_index_remove(x, "shop", "cart", NULL));
	cr_expect_not(session_index_remove(x, "shop", "cart", NULL));
	session_index_free(x);
}

Test(session_index, cursors)
{
	static const struct {
		const char *text;
		int rc;
	} rows[] = {{"1-u", 0}, {"0-a-b", 0}, {"", -1}, {"-u", -1}, {"1", -1}, {"1-", -1}, {"x-u", -1}, {" 1-u", -1}, {"-1-u", -1},
		    {"9223372036854775807-u", -1}, {"99999999999999999999-u", -1}, {"1-0123456789012345678901234567890123456789", -1},
		    {"1-012345678901234567890123456789012345678", 0}};
	struct session_index *x = index_of_four();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int64_t created;
		char uid[40];
		cr_expect_eq(session_cursor_parse(rows[i].text, &created, uid), rows[i].rc, "%s", rows[i].text);
		struct session_query q = {.limit = 1, .cursor = rows[i].text};
		struct session_page page;
		struct err e = ERR_INIT;
		cr_expect_eq(session_index_query(x, &q, &page, &e), rows[i].rc, "%s", rows[i].text);
		cr_expect(rows[i].rc == 0 || e.kind == ERR_INVALID);
		session_page_fini(&page);
	}
	for (size_t limit = 0; limit < SESSION_PAGE_MAX + 2; limit += SESSION_PAGE_MAX + 1) {
		struct session_query q = {.limit = limit};
		struct session_page page;
		cr_expect_eq(session_index_query(x, &q, &page, NULL), -1);
	}
	session_index_free(x);
}

Test(session_index, namespaces)
{
	struct session_index *x = index_of_four();
	char **list;
	size_t count = session_index_namespaces(x, 10, &list);
	cr_assert_eq(count, 2);
	cr_expect_str_eq(list[0], "bank");
	cr_expect_str_eq(list[1], "shop");
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
	session_index_free(x);
}

/* Against a model: a plain array that is sorted by a plain sort each time. */
#define MODEL_MAX 400

struct model {
	struct {
		int ns, name, uid, state;
		uint64_t version;
		int64_t created_s;
		bool seen;
	} items[MODEL_MAX];
	size_t count;
};

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	return *state ^= *state << 5;
}

static void put_model(struct session_index *x, struct model *m, size_t i)
{
	char ns[16], name[16], uid[16], version[24], state[8];
	snprintf(ns, sizeof ns, "ns%d", m->items[i].ns);
	snprintf(name, sizeof name, "s%d", m->items[i].name);
	snprintf(uid, sizeof uid, "u%06d", m->items[i].uid);
	snprintf(version, sizeof version, "%llu", (unsigned long long)m->items[i].version);
	snprintf(state, sizeof state, "S%d", m->items[i].state);
	cr_assert(put(x, &(struct object){.namespace = ns, .name = name, .uid = uid, .version = version, .state = state,
					  .created_s = m->items[i].created_s}));
}

static int newer(const struct model *m, size_t a, size_t b)
{
	if (m->items[a].created_s != m->items[b].created_s)
		return m->items[a].created_s > m->items[b].created_s;
	return m->items[a].uid > m->items[b].uid;
}

static void check_model(struct session_index *x, const struct model *m, int ns, size_t limit)
{
	size_t order[MODEL_MAX], count = 0;
	for (size_t i = 0; i < m->count; i++) {
		if (ns >= 0 && m->items[i].ns != ns)
			continue;
		size_t k = count++;
		for (; k > 0 && newer(m, i, order[k - 1]); k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	char wanted[16];
	snprintf(wanted, sizeof wanted, "ns%d", ns);
	const char *const set[] = {wanted};
	struct session_query q = {.limit = limit, .namespaces = ns >= 0 ? set : NULL, .namespace_count = 1};
	char cursor[SESSION_CURSOR_SIZE] = "";
	size_t at = 0;
	do {
		struct session_page page;
		q.cursor = cursor[0] ? cursor : NULL;
		cr_assert_eq(session_index_query(x, &q, &page, NULL), 0);
		cr_assert_eq(page.total, count);
		for (size_t i = 0; i < page.count; i++, at++) {
			char uid[16], state[8];
			cr_assert_lt(at, count);
			snprintf(uid, sizeof uid, "u%06d", m->items[order[at]].uid);
			snprintf(state, sizeof state, "S%d", m->items[order[at]].state);
			cr_assert_str_eq(page.items[i].uid, uid);
			cr_assert_str_eq(page.items[i].state, state);
		}
		memcpy(cursor, page.next, sizeof cursor);
		session_page_fini(&page);
	} while (cursor[0]);
	cr_assert_eq(at, count);
	cr_assert_eq(session_index_size(x).sessions, m->count);
}

static size_t find_model(const struct model *m, int ns, int name)
{
	size_t i = 0;
	while (i < m->count && (m->items[i].ns != ns || m->items[i].name != name))
		i++;
	return i;
}

static void drop_model(struct model *m, size_t i)
{
	m->items[i] = m->items[--m->count];
}

/* Adds, changes or replaces one. */
static void step_put(struct session_index *x, struct model *m, uint32_t r, uint64_t version, int *uid)
{
	int ns = (int)(r % 3), name = (int)(r / 3 % 90);
	size_t i = find_model(m, ns, name);
	bool exists = i < m->count;
	if (!exists)
		m->count++;
	if (!exists || r % 17 == 0) {
		m->items[i].ns = ns;
		m->items[i].name = name;
		m->items[i].uid = ++*uid * 7919 % 1000000;
		/* mostly the newest, sometimes of the past as in a list */
		m->items[i].created_s = r % 5 ? (int64_t)version / 4 : (int64_t)(r % 50);
	}
	m->items[i].version = version;
	m->items[i].state = (int)(r / 7 % 5);
	m->items[i].seen = true;
	put_model(x, m, i);
}

static int lost;

static void count_lost(void *ctx, const char *namespace, const char *name)
{
	(void)ctx;
	lost += namespace[0] && name[0];
}

/* A list that lacks some. */
static void step_list(struct session_index *x, struct model *m, uint32_t *random, uint64_t version)
{
	int ns = (int)(next_random(random) % 4) - 1, dropped = 0;
	char name[16];
	snprintf(name, sizeof name, "ns%d", ns);
	session_index_list_begin(x, ns < 0 ? NULL : name);
	for (size_t i = m->count; i-- > 0;) {
		if (ns >= 0 && m->items[i].ns != ns)
			continue;
		if (next_random(random) % 8 == 0) {
			drop_model(m, i);
			dropped++;
		} else {
			m->items[i].version = version;
			put_model(x, m, i);
		}
	}
	lost = 0;
	session_index_list_end(x, ns < 0 ? NULL : name, count_lost, NULL);
	cr_assert_eq(lost, dropped);
}

Test(session_index, random_operations_against_a_model, .timeout = 120)
{
	for (uint32_t seed = 1; seed <= 20; seed++) {
		struct session_index *x = session_index_new();
		struct model m = {.count = 0};
		uint32_t random = seed * 2654435761u | 1;
		int uid = 0;
		for (uint64_t version = 1; version < 600; version++) {
			uint32_t r = next_random(&random);
			size_t i = m.count ? r / 64 % m.count : 0;
			if (r % 64 == 0) {
				step_list(x, &m, &random, version);
			} else if (r % 4 == 0 && m.count) {
				char ns[16], name[16];
				snprintf(ns, sizeof ns, "ns%d", m.items[i].ns);
				snprintf(name, sizeof name, "s%d", m.items[i].name);
				cr_assert(session_index_remove(x, ns, name, NULL));
				drop_model(&m, i);
			} else {
				step_put(x, &m, r >> 3, version, &uid);
			}
			if (r % 5 == 0)
				check_model(x, &m, (int)(r % 4) - 1, 1 + r % 40);
		}
		check_model(x, &m, -1, 100);
		session_index_free(x);
	}
}

/* A reader pages through while sessions come and go: what was there all the time is seen once. */
Test(session_index, pages_stay_good_while_sessions_come_and_go)
{
	struct session_index *x = session_index_new();
	char name[24], uid[24], version[24];
	uint64_t v = 0;
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "s%d", i);
		snprintf(uid, sizeof uid, "u%d", i);
		snprintf(version, sizeof version, "%llu", (unsigned long long)++v);
		put(x, &(struct object){.namespace = "a", .name = name, .uid = uid, .version = version, .created_s = i / 3});
	}
	char cursor[SESSION_CURSOR_SIZE] = "";
	int seen[300] = {0}, step = 0;
	do {
		struct session_page page;
		struct session_query q = {.limit = 7, .cursor = cursor[0] ? cursor : NULL};
		cr_assert_eq(session_index_query(x, &q, &page, NULL), 0);
		for (size_t i = 0; i < page.count; i++) {
			int n = atoi(page.items[i].name + 1);
			if (n < 300)
				seen[n]++;
		}
		memcpy(cursor, page.next, sizeof cursor);
		if (page.count) /* the one that the cursor names goes away */
			session_index_remove(x, "a", page.items[page.count - 1].name, NULL);
		session_page_fini(&page);
		snprintf(name, sizeof name, "s%d", 1000 + step);
		snprintf(uid, sizeof uid, "u%d", 1000 + step);
		snprintf(version, sizeof version, "%llu", (unsigned long long)++v);
		put(x, &(struct object){.namespace = "a", .name = name, .uid = uid, .version = version, .created_s = 1000 + step++});
	} while (cursor[0]);
	for (int i = 0; i < 300; i++)
		cr_expect_eq(seen[i], 1, "session %d was seen %d times", i, seen[i]);
	session_index_free(x);
}

struct reading {
	struct session_index *index;
	size_t rounds;
};

static void *read_pages(void *arg)
{
	struct reading *r = arg;
	for (size_t i = 0; i < r->rounds; i++) {
		struct session_page page;
		struct session_query q = {.limit = 20, .text = "a"};
		cr_assert_eq(session_index_query(r->index, &q, &page, NULL), 0);
		for (size_t k = 0; k < page.count; k++)
			cr_assert(page.items[k].name[0] == 's');
		session_page_fini(&page);
	}
	return NULL;
}

Test(session_index, readers_beside_the_watch, .timeout = 120)
{
	struct session_index *x = session_index_new();
	struct reading r = {x, 500};
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, read_pages, &r);
	char name[24], uid[24], version[24];
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "s%d", i % 97);
		snprintf(uid, sizeof uid, "u%d", i);
		snprintf(version, sizeof version, "%d", i + 1);
		put(x, &(struct object){.namespace = "a", .name = name, .uid = uid, .version = version, .created_s = i % 13});
		if (i % 11 == 0)
			session_index_remove(x, "a", name, NULL);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	session_index_free(x);
}

Test(session_index, memory_of_finished_sessions)
{
	struct session_index *x = session_index_new();
	char name[40], uid[40], version[24];
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof name, "checkout-cpu-%d", i);
		snprintf(uid, sizeof uid, "01234567-89ab-cdef-0123-%012d", i);
		snprintf(version, sizeof version, "%d", i + 1);
		put(x, &(struct object){"shop", name, uid, version, "CPUHotpaths", "Succeeded", "checkout-7d8f9c-abcde",
					"84% of CPU in Checkout.Pricing.Tax.Compute; called from Checkout.Cart.Total ...",
					"system:serviceaccount:shop:web", 1000 + i});
	}
	struct session_index_size size = session_index_size(x);
	cr_expect_eq(size.sessions, 10000);
	cr_expect_leq(size.bytes / size.sessions, 500, "%zu bytes a session", size.bytes / size.sessions);
	session_index_free(x);
}
