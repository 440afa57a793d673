#include "controller/sessions/budget.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct budget_node {
	char *name;
	int64_t running, kept;
	int64_t longs;                 /* of `running` */
	uint64_t closed, closed_long;  /* in this turn: somebody before waits for it; a long one does, for what long ones may have */
	UT_hash_handle hh;
};

struct budget_namespace {
	char *name;
	int64_t used;
	uint64_t served;               /* the turn of its last grant */
	struct budget_session *queue;  /* those that wait, the next one first */
	size_t sessions;
	int64_t counted;               /* like `used`, while places are counted */
	struct budget_session *next;   /* where a turn has got to */
	UT_hash_handle hh;
};

struct budget_session {
	char *key;
	struct budget_namespace *namespace;
	int priority;
	int64_t created_ms;
	size_t want;                   /* pods that it wants, or that it occupies */
	bool granted, is_long;
	struct budget_node **nodes;    /* that it occupies or waits for */
	size_t running, kept;
	size_t place;
	struct budget_session *prev, *next;
	UT_hash_handle hh;
};

void budget_init(struct budget *b, const struct budget_limits *limits)
{
	*b = (struct budget){.limits = *limits};
}

static struct budget_session *find_budget_session(const struct budget *b, const char *key)
{
	struct budget_session *s = NULL;
	HASH_FIND_STR(b->sessions, key, s);
	return s;
}

static struct budget_namespace *take_namespace(struct budget *b, const char *name)
{
	struct budget_namespace *n = NULL;
	HASH_FIND_STR(b->namespaces, name, n);
	if (!n) {
		n = mem_alloc(sizeof *n);
		n->name = mem_strdup(name);
		HASH_ADD_KEYPTR(hh, b->namespaces, n->name, strlen(n->name), n);
	}
	n->sessions++;
	return n;
}

static void leave_namespace(struct budget *b, struct budget_namespace *n)
{
	if (--n->sessions)
		return;
	HASH_DEL(b->namespaces, n);
	free(n->name);
	free(n);
}

/* Nodes stay as long as something occupies or wants them, and a little longer: see forget_nodes. */
static struct budget_node *take_node(struct budget *b, const char *name)
{
	struct budget_node *n = NULL;
	HASH_FIND_STR(b->nodes, name, n);
	if (!n) {
		n = mem_alloc(sizeof *n);
		n->name = mem_strdup(name);
		HASH_ADD_KEYPTR(hh, b->nodes, n->name, strlen(n->name), n);
	}
	return n;
}

/* With no session left nobody points to a node: a fleet whose nodes come and go must not grow the table for ever. */
static void forget_nodes(struct budget *b)
{
	struct budget_node *n, *next;
	if (b->sessions)
		return;
	HASH_ITER(hh, b->nodes, n, next) {
		HASH_DEL(b->nodes, n);
		free(n->name);
		free(n);
	}
}

static bool comes_before(const struct budget_session *a, const struct budget_session *s)
{
	if (a->priority != s->priority)
		return a->priority > s->priority;
	if (a->created_ms != s->created_ms)
		return a->created_ms < s->created_ms;
	return strcmp(a->key, s->key) < 0;
}

/* From the end: most that come are the youngest. */
static void enqueue_budget_session(struct budget *b, struct budget_session *s)
{
	struct budget_namespace *n = s->namespace;
	struct budget_session *at = n->queue ? n->queue->prev : NULL;
	while (at && comes_before(s, at))
		at = at == n->queue ? NULL : at->prev;
	if (at)
		DL_APPEND_ELEM(n->queue, at, s);
	else
		DL_PREPEND(n->queue, s);
	b->waiting++;
}

static void dequeue(struct budget *b, struct budget_session *s)
{
	DL_DELETE(s->namespace->queue, s);
	b->waiting--;
	s->place = 0;
}

static void run_on(const struct budget_session *s, struct budget_node *n, int64_t sign)
{
	n->running += sign;
	n->longs += s->is_long ? sign : 0;
}

static void occupy_budget(struct budget *b, struct budget_session *s, int64_t sign)
{
	b->used += sign * (int64_t)s->want;
	s->namespace->used += sign * (int64_t)s->want;
	for (size_t i = 0; i < s->running; i++)
		run_on(s, s->nodes[i], sign);
	for (size_t i = s->running; i < s->running + s->kept; i++)
		s->nodes[i]->kept += sign;
}

static void set_nodes(struct budget *b, struct budget_session *s, const struct budget_hold *h)
{
	size_t count = h->running + h->kept;
	free(s->nodes);
	s->nodes = count ? mem_calloc(count, sizeof(struct budget_node *)) : NULL;
	s->running = h->running;
	s->kept = h->kept;
	for (size_t i = 0; i < count; i++)
		s->nodes[i] = take_node(b, h->nodes[i]);
}

static struct budget_session *add_budget_session(struct budget *b, const struct budget_request *r)
{
	struct budget_session *s = mem_alloc(sizeof *s);
	s->key = mem_strdup(r->key);
	s->namespace = take_namespace(b, r->namespace);
	s->priority = r->priority;
	s->created_ms = r->created_ms;
	s->want = r->want;
	s->is_long = r->is_long;
	HASH_ADD_KEYPTR(hh, b->sessions, s->key, strlen(s->key), s);
	return s;
}

void budget_ask(struct budget *b, const struct budget_request *r)
{
	if (!find_budget_session(b, r->key))
		enqueue_budget_session(b, add_budget_session(b, r));
}

static bool has_place(const struct budget *b, const struct budget_node *n)
{
	return n->closed != b->turn && n->running < b->limits.max_pods_per_node && n->running + n->kept < b->limits.max_jobs_per_node;
}

/* Where a node has one place only, there is none to keep. */
static bool may_be_long(const struct budget *b, const struct budget_node *n)
{
	int64_t most = b->limits.max_pods_per_node > 1 ? b->limits.max_pods_per_node - 1 : 1;
	return n->closed_long != b->turn && n->longs < most;
}

static bool has_room(const struct budget *b, const struct budget_session *s, const struct budget_node *n)
{
	return has_place(b, n) && (!s->is_long || may_be_long(b, n));
}

static bool is_closed(const struct budget *b, const struct budget_session *s, const struct budget_node *n)
{
	return n->closed == b->turn || (s->is_long && n->closed_long == b->turn);
}

/* Nothing runs there but the first `count` pods of this session itself. */
static bool is_alone(const struct budget_session *s, const struct budget_node *n, size_t count)
{
	int64_t own = 0;
	for (size_t i = 0; i < count; i++)
		own += s->nodes[i] == n;
	return n->running + n->kept == own;
}

/* The first of its nodes that is full; NULL: all have room. Several pods of one node need as much, but a session of more of them than the budget
 * has gets an empty node all the same. */
static struct budget_node *full_node(const struct budget *b, struct budget_session *s)
{
	size_t tried = 0;
	while (tried < s->running) {
		struct budget_node *n = s->nodes[tried];
		if (!has_room(b, s, n) && (is_closed(b, s, n) || !is_alone(s, n, tried)))
			break;
		run_on(s, n, 1);
		tried++;
	}
	struct budget_node *full = tried < s->running ? s->nodes[tried] : NULL;
	while (tried)
		run_on(s, s->nodes[--tried], -1);
	return full;
}

bool budget_choose(struct budget *b, const char *key, const char *const *nodes, size_t count)
{
	struct budget_session *s = find_budget_session(b, key);
	if (!s || !s->granted)
		return false;
	occupy_budget(b, s, -1);
	set_nodes(b, s, &(struct budget_hold){.nodes = nodes, .running = count});
	s->want = count;
	b->turn++;
	if (full_node(b, s)) {
		s->granted = false;
		enqueue_budget_session(b, s);
		return false;
	}
	occupy_budget(b, s, 1);
	return true;
}

void budget_hold(struct budget *b, const struct budget_request *r, const struct budget_hold *h)
{
	struct budget_session *s = find_budget_session(b, r->key);
	if (!s)
		s = add_budget_session(b, r);
	else if (s->granted)
		occupy_budget(b, s, -1);
	else
		dequeue(b, s);
	s->granted = true;
	set_nodes(b, s, h);
	s->want = h->running;
	occupy_budget(b, s, 1);
}

static void drop_budget_session(struct budget *b, struct budget_session *s)
{
	if (s->granted)
		occupy_budget(b, s, -1);
	else
		dequeue(b, s);
	HASH_DEL(b->sessions, s);
	leave_namespace(b, s->namespace);
	free(s->nodes);
	free(s->key);
	free(s);
}

void budget_release(struct budget *b, const char *key)
{
	struct budget_session *s = find_budget_session(b, key);
	if (!s)
		return;
	drop_budget_session(b, s);
	forget_nodes(b);
}

void budget_fini(struct budget *b)
{
	struct budget_session *s, *next;
	HASH_ITER(hh, b->sessions, s, next)
		drop_budget_session(b, s);
	forget_nodes(b);
}

/* The namespace whose turn it is: of those with somebody left, the one that has least. */
static struct budget_namespace *next_namespace(struct budget *b)
{
	struct budget_namespace *best = NULL, *n, *tmp;
	HASH_ITER(hh, b->namespaces, n, tmp) {
		if (n->next && (!best || n->counted < best->counted || (n->counted == best->counted && n->served < best->served)))
			best = n;
	}
	return best;
}

static void begin_turn(struct budget *b)
{
	struct budget_namespace *n, *tmp;
	b->turn++;
	HASH_ITER(hh, b->namespaces, n, tmp) {
		n->next = n->queue;
		n->counted = n->used;
	}
}

/* Who is not long gets past one that waits for what long ones may have. */
static void close_nodes(struct budget *b, struct budget_session *s)
{
	for (size_t i = 0; i < s->running; i++) {
		struct budget_node *n = s->nodes[i];
		if (s->is_long && has_place(b, n))
			n->closed_long = b->turn;
		else
			n->closed = b->turn;
	}
}

static void grant_budget(struct budget *b, struct budget_session *s)
{
	dequeue(b, s);
	s->granted = true;
	s->namespace->served = b->turn;
	occupy_budget(b, s, 1);
	s->namespace->counted = s->namespace->used;
}

void budget_grant(struct budget *b, budget_key_fn *fn, void *ctx)
{
	if (!b->waiting || b->used >= b->limits.max_pods)
		return;
	begin_turn(b);
	for (struct budget_namespace *n; (n = next_namespace(b));) {
		struct budget_session *s = n->next;
		n->next = s->next;
		if (b->used && b->used + (int64_t)s->want > b->limits.max_pods)
			return;
		if (full_node(b, s)) {
			close_nodes(b, s);
			continue;
		}
		grant_budget(b, s);
		fn(ctx, s->key);
	}
}

void budget_count_places(struct budget *b)
{
	size_t place = 0;
	begin_turn(b);
	for (struct budget_namespace *n; (n = next_namespace(b));) {
		n->next->place = ++place;
		n->counted += (int64_t)n->next->want;
		n->next = n->next->next;
	}
}

bool budget_look(const struct budget *b, const char *key, struct budget_place *out)
{
	struct budget_session *s = find_budget_session(b, key);
	*out = (struct budget_place){.granted = false};
	if (!s)
		return false;
	struct budget_node *full = s->granted ? NULL : full_node(b, s);
	*out = (struct budget_place){.granted = s->granted, .place = s->place, .of = b->waiting, .node = full ? full->name : NULL};
	out->kept_for_short = full && s->is_long && full->running < b->limits.max_pods_per_node;
	return true;
}

void budget_each(const struct budget *b, budget_key_fn *fn, void *ctx)
{
	struct budget_session *s, *next;
	HASH_ITER(hh, b->sessions, s, next)
		fn(ctx, s->key);
}
