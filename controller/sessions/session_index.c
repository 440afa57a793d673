#include "controller/sessions/session_index.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "controller/kube/workload.h"
#include "controller/sessions/session_search.h"
#include "controller/sessions/session_texts.h"

#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_THE_END 64

/* Its key in the table is "<namespace>\0<name>", the beginning of its texts. */
struct entry {
	UT_hash_handle hh;
	uint64_t version;
	int64_t created_ms, completed_ms;
	uint16_t at[SESSION_TEXTS];
	uint16_t size; /* of text */
	bool seen;
	char text[];
};

struct session_index {
	pthread_mutex_t lock;
	struct entry *entries;
	/* Oldest first, so that a new session goes to the end. What comes in another order (a list does) is sorted in when somebody looks. */
	struct entry **order;
	size_t count, cap;
	bool unsorted;
	size_t text_bytes;
};

struct session_index *session_index_new(void)
{
	struct session_index *x = mem_alloc(sizeof *x);
	pthread_mutex_init(&x->lock, NULL);
	return x;
}

void session_index_free(struct session_index *x)
{
	if (!x)
		return;
	HASH_CLEAR(hh, x->entries);
	for (size_t i = 0; i < x->count; i++)
		free(x->order[i]);
	free(x->order);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

/* The order; the lock is held ------------------------------------------------------------------------------------- */

static const char *entry_text(const struct entry *n, enum session_text f)
{
	return n->text + n->at[f];
}

static int compare_key(const struct entry *n, int64_t created_ms, const char *uid)
{
	if (n->created_ms != created_ms)
		return n->created_ms < created_ms ? -1 : 1;
	return strcmp(entry_text(n, SESSION_UID), uid);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *const *left = a, *const *right = b;
	return compare_key(*left, (*right)->created_ms, entry_text(*right, SESSION_UID));
}

static void sort_entries(struct session_index *x)
{
	if (x->unsorted)
		qsort(x->order, x->count, sizeof *x->order, compare_entries);
	x->unsorted = false;
}

/* How many are older than this key. */
static size_t older_than(struct session_index *x, int64_t created_ms, const char *uid)
{
	sort_entries(x);
	size_t low = 0, high = x->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_key(x->order[middle], created_ms, uid) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sessions of one second come in any order: such a one is put in its place at once, so that a busy second costs no sort each. */
static void append(struct session_index *x, struct entry *n)
{
	GROW(x->order, x->count, x->cap);
	size_t i = x->count, lowest = x->count > NEAR_THE_END ? x->count - NEAR_THE_END : 0;
	while (!x->unsorted && i > lowest && compare_key(x->order[i - 1], n->created_ms, entry_text(n, SESSION_UID)) > 0)
		i--;
	if (i > 0 && i == lowest && compare_key(x->order[i - 1], n->created_ms, entry_text(n, SESSION_UID)) > 0) {
		x->unsorted = true;
		i = x->count;
	}
	memmove(x->order + i + 1, x->order + i, (x->count - i) * sizeof *x->order);
	x->order[i] = n;
	x->count++;
}

/* Entries; the lock is held --------------------------------------------------------------------------------------- */

static size_t make_session_key(const char *namespace, const char *name, char out[64 + 254])
{
	int n = snprintf(out, 64 + 254, "%.63s%c%.253s", namespace, '\0', name);
	return (size_t)n;
}

static struct entry *find_indexed_session(struct session_index *x, const char *namespace, const char *name)
{
	char key[64 + 254];
	struct entry *n = NULL;
	size_t len = make_session_key(namespace, name, key);
	HASH_FIND(hh, x->entries, key, len, n);
	return n;
}

static void insert_entry(struct session_index *x, struct entry *n)
{
	HASH_ADD_KEYPTR(hh, x->entries, n->text, (size_t)n->at[SESSION_TARGET] - 1, n);
	x->text_bytes += n->size;
}

static void unlink_entry(struct session_index *x, struct entry *n)
{
	HASH_DELETE(hh, x->entries, n);
	x->text_bytes -= n->size;
}

static void drop_indexed_session(struct session_index *x, struct entry *n)
{
	size_t i = older_than(x, n->created_ms, entry_text(n, SESSION_UID));
	memmove(x->order + i, x->order + i + 1, (--x->count - i) * sizeof *x->order);
	unlink_entry(x, n);
	free(n);
}

/* Objects ---------------------------------------------------------------------------------------------------------- */

static struct entry *make_entry(const json_t *object)
{
	const char *texts[SESSION_TEXTS];
	size_t len[SESSION_TEXTS], size = 0;
	char findings[SESSION_FINDINGS_TEXT];
	session_texts_read(object, texts, findings);
	for (int f = 0; f < SESSION_TEXTS; f++) {
		len[f] = text_cut_utf8(texts[f], session_text_max[f]);
		size += len[f] + 1;
	}
	if (!len[SESSION_NAMESPACE] || !len[SESSION_NAME] || !len[SESSION_UID])
		return NULL;
	struct entry *n = mem_alloc(sizeof *n + size);
	n->size = (uint16_t)size;
	size = 0;
	for (int f = 0; f < SESSION_TEXTS; f++) {
		n->at[f] = (uint16_t)size;
		memcpy(n->text + size, texts[f], len[f]);
		size += len[f] + 1;
	}
	n->version = strtoull(jsonx_str_at(object, "metadata.resourceVersion", "0"), NULL, 10);
	n->created_ms = jsonx_time_at(object, "metadata.creationTimestamp");
	n->completed_ms = jsonx_time_at(object, "status.completionTime");
	n->seen = true;
	return n;
}

/* Puts the new state of the same object in the place of the old one. */
static void replace_entry(struct session_index *x, struct entry *old, struct entry *n)
{
	x->order[older_than(x, old->created_ms, entry_text(old, SESSION_UID))] = n;
	unlink_entry(x, old);
	insert_entry(x, n);
	free(old);
}

bool session_index_put(struct session_index *x, const json_t *object)
{
	struct entry *n = make_entry(object);
	if (!n)
		return false;
	pthread_mutex_lock(&x->lock);
	struct entry *old = find_indexed_session(x, n->text, entry_text(n, SESSION_NAME));
	bool same = old && strcmp(entry_text(old, SESSION_UID), entry_text(n, SESSION_UID)) == 0;
	bool echo = same && n->version && n->version <= old->version;
	if (echo) {
		old->seen = true;
		free(n);
	} else if (same && old->created_ms == n->created_ms) {
		replace_entry(x, old, n);
	} else {
		if (old)
			drop_indexed_session(x, old);
		append(x, n);
		insert_entry(x, n);
	}
	pthread_mutex_unlock(&x->lock);
	return !echo;
}

bool session_index_remove(struct session_index *x, const char *namespace, const char *name, const char *uid)
{
	pthread_mutex_lock(&x->lock);
	struct entry *n = find_indexed_session(x, namespace, name);
	bool found = n && (!uid || strcmp(entry_text(n, SESSION_UID), uid) == 0);
	if (found)
		drop_indexed_session(x, n);
	pthread_mutex_unlock(&x->lock);
	return found;
}

void session_index_list_begin(struct session_index *x, const char *namespace)
{
	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < x->count; i++) {
		if (!namespace || strcmp(x->order[i]->text, namespace) == 0)
			x->order[i]->seen = false;
	}
	pthread_mutex_unlock(&x->lock);
}

void session_index_list_end(struct session_index *x, const char *namespace, session_gone_fn *gone, void *ctx)
{
	struct entry **lost = NULL;
	size_t kept = 0, lost_count = 0, lost_cap = 0;
	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < x->count; i++) {
		struct entry *n = x->order[i];
		if (n->seen || (namespace && strcmp(n->text, namespace) != 0)) {
			x->order[kept++] = n;
			continue;
		}
		unlink_entry(x, n);
		GROW(lost, lost_count, lost_cap);
		lost[lost_count++] = n;
	}
	x->count = kept;
	pthread_mutex_unlock(&x->lock);
	for (size_t i = 0; i < lost_count; i++) {
		if (gone)
			gone(ctx, entry_text(lost[i], SESSION_NAMESPACE), entry_text(lost[i], SESSION_NAME));
		free(lost[i]);
	}
	free(lost);
}

/* Queries ---------------------------------------------------------------------------------------------------------- */

int session_cursor_parse(const char *text, int64_t *created_wall_ms, char uid[40])
{
	char *end;
	if (!isdigit((unsigned char)text[0]) || strlen(text) >= SESSION_CURSOR_SIZE)
		return -1;
	long long created = strtoll(text, &end, 10);
	size_t len = *end == '-' ? strlen(end + 1) : 0;
	if (len == 0 || len >= 40 || created == INT64_MAX)
		return -1;
	*created_wall_ms = created;
	memcpy(uid, end + 1, len + 1);
	return 0;
}

static bool in_namespaces(const struct entry *n, const struct session_query *q)
{
	if (!q->namespaces)
		return true;
	for (size_t i = 0; i < q->namespace_count; i++) {
		if (strcmp(n->text, q->namespaces[i]) == 0)
			return true;
	}
	return false;
}

/* Its id is the first two texts with a dot between. */
static bool entry_has_text(const struct entry *n, const char *text)
{
	size_t len = strlen(text), key = n->at[SESSION_TARGET];
	return session_search_contains(n->text, key - 1, '.', text, len) ||
	       session_search_contains(n->text + key, n->at[SESSION_UID] - key, '\0', text, len);
}

static bool entry_passes(const struct entry *n, const struct session_query *q)
{
	return in_namespaces(n, q) && (!q->profiler || strcmp(entry_text(n, SESSION_PROFILER), q->profiler) == 0) &&
	       (!q->state || strcmp(entry_text(n, SESSION_STATE), q->state) == 0) && (!q->text || entry_has_text(n, q->text));
}

static void describe_entry(const struct entry *n, const char *text, struct session_summary *out)
{
	*out = (struct session_summary){
		.namespace = text,
		.name = text + n->at[SESSION_NAME],
		.uid = text + n->at[SESSION_UID],
		.profiler = text + n->at[SESSION_PROFILER],
		.target = text + n->at[SESSION_TARGET],
		.state = text + n->at[SESSION_STATE],
		.headline = text + n->at[SESSION_HEADLINE],
		.requested_by = text + n->at[SESSION_REQUESTER],
		.trigger = text + n->at[SESSION_TRIGGER],
		.workload = text + n->at[SESSION_WORKLOAD],
		.findings = text + n->at[SESSION_FINDINGS],
		.created_wall_ms = n->created_ms,
		.completed_wall_ms = n->completed_ms,
	};
}

/* Copies the chosen ones, so that they may be read without the lock. */
static void fill_page(struct session_page *p, struct entry *const *chosen, size_t count)
{
	size_t bytes = count * sizeof *p->items;
	for (size_t i = 0; i < count; i++)
		bytes += chosen[i]->size;
	p->items = mem_alloc(bytes ? bytes : 1);
	p->count = count;
	char *text = (char *)(p->items + count);
	for (size_t i = 0; i < count; i++) {
		memcpy(text, chosen[i]->text, chosen[i]->size);
		describe_entry(chosen[i], text, &p->items[i]);
		text += chosen[i]->size;
	}
}

static void name_next(struct session_page *p)
{
	const struct session_summary *last = &p->items[p->count - 1];
	snprintf(p->next, sizeof p->next, "%" PRId64 "-%s", last->created_wall_ms, last->uid);
}

int session_index_query(struct session_index *x, const struct session_query *wanted, struct session_page *out, struct err *e)
{
	*out = (struct session_page){0};
	int64_t created_ms = 0;
	char uid[40];
	if (wanted->limit < 1 || wanted->limit > SESSION_PAGE_MAX)
		return err_set(e, ERR_INVALID, 0, "limit: must be between 1 and %d", SESSION_PAGE_MAX);
	if (wanted->cursor && session_cursor_parse(wanted->cursor, &created_ms, uid) < 0)
		return err_set(e, ERR_INVALID, 0, "continue: not a value that a list has given; begin without it");
	AUTO_FREE char *folded = mem_strdup(wanted->text);
	session_search_fold(folded);
	struct session_query copy = *wanted, *q = &copy;
	copy.text = folded;
	struct entry **chosen = mem_calloc(q->limit, sizeof *chosen);
	size_t count = 0;
	bool more = false;
	pthread_mutex_lock(&x->lock);
	sort_entries(x);
	size_t from = q->cursor ? older_than(x, created_ms, uid) : x->count;
	for (size_t i = x->count; i-- > 0;) {
		if (!entry_passes(x->order[i], q))
			continue;
		out->total++;
		if (i >= from)
			continue;
		if (count < q->limit)
			chosen[count++] = x->order[i];
		else
			more = true;
	}
	fill_page(out, chosen, count);
	pthread_mutex_unlock(&x->lock);
	free(chosen);
	if (more)
		name_next(out);
	return 0;
}

/* A workload and a profiler that were met. */
struct met {
	UT_hash_handle hh;
	size_t len;
	char key[64 + WORKLOAD_TEXT_SIZE + 64];
};

static bool ended_well(const struct entry *n)
{
	return strcmp(entry_text(n, SESSION_STATE), "Succeeded") == 0 || strcmp(entry_text(n, SESSION_STATE), REASON_PartiallySucceeded) == 0;
}

static bool meet(struct met **all, const struct entry *n)
{
	struct met *m = mem_alloc(sizeof *m), *known = NULL;
	m->len = (size_t)snprintf(m->key, sizeof m->key, "%s\n%s\n%s", n->text, entry_text(n, SESSION_WORKLOAD), entry_text(n, SESSION_PROFILER));
	HASH_FIND(hh, *all, m->key, m->len, known);
	if (known)
		free(m);
	else
		HASH_ADD_KEYPTR(hh, *all, m->key, m->len, m);
	return !known;
}

void session_index_newest(struct session_index *x, size_t most, struct session_page *out)
{
	struct met *all = NULL, *m, *next;
	struct entry **chosen = mem_calloc(most + 1, sizeof *chosen);
	size_t count = 0;
	*out = (struct session_page){0};
	pthread_mutex_lock(&x->lock);
	sort_entries(x);
	for (size_t i = x->count; i-- > 0 && count < most;) {
		const struct entry *n = x->order[i];
		if (entry_text(n, SESSION_WORKLOAD)[0] && ended_well(n) && meet(&all, n))
			chosen[count++] = x->order[i];
	}
	fill_page(out, chosen, count);
	pthread_mutex_unlock(&x->lock);
	out->total = count;
	HASH_ITER(hh, all, m, next) {
		HASH_DELETE(hh, all, m);
		free(m);
	}
	free(chosen);
}

void session_page_fini(struct session_page *p)
{
	if (!p)
		return;
	free(p->items);
	*p = (struct session_page){0};
}

int session_summary_of(const json_t *object, struct session_page *out)
{
	*out = (struct session_page){.total = 1};
	struct entry *n = make_entry(object);
	if (!n)
		return -1;
	fill_page(out, &n, 1);
	free(n);
	return 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t session_index_namespaces(struct session_index *x, size_t max, char ***out)
{
	size_t count = 0;
	*out = mem_calloc(max ? max : 1, sizeof **out);
	pthread_mutex_lock(&x->lock);
	for (size_t i = x->count; i-- > 0 && count < max;) {
		size_t k = 0;
		while (k < count && strcmp((*out)[k], x->order[i]->text) != 0)
			k++;
		if (k == count)
			(*out)[count++] = mem_strdup(x->order[i]->text);
	}
	pthread_mutex_unlock(&x->lock);
	qsort(*out, count, sizeof **out, compare_texts);
	return count;
}

struct session_index_size session_index_size(struct session_index *x)
{
	struct session_index_size size;
	pthread_mutex_lock(&x->lock);
	size.sessions = x->count;
	size.bytes = x->count * sizeof(struct entry) + x->text_bytes + x->cap * sizeof *x->order;
	if (x->entries)
		size.bytes += HASH_OVERHEAD(hh, x->entries) - HASH_COUNT(x->entries) * sizeof(UT_hash_handle);
	pthread_mutex_unlock(&x->lock);
	return size;
}
