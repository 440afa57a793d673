#include "agent/profilers/stucktasks/stuck_numbers.h"

#include <string.h>

RULE_FIELDS(stuck_numbers, STUCK_NUMBERS);

const struct task_call *stuck_place(const struct task_group *g)
{
	return g->place < g->call_count ? &g->calls[g->place] : NULL;
}

#define PLACES_MAX 256

/* A sum over groups, by place. */
struct stuck_sum {
	double all;
	size_t places;
	struct stuck_at {
		const char *name;
		double count, before, came, behind, most;
	} at[PLACES_MAX];
};

static void add_to_sum(struct stuck_sum *s, const struct task_group *g, uint64_t count)
{
	const struct task_call *at = stuck_place(g);
	size_t i = 0;
	if (!count || !at)
		return;
	s->all += (double)count;
	while (i < s->places && strcmp(s->at[i].name, at->method) != 0)
		i++;
	if (i == PLACES_MAX)
		return;
	if (i == s->places)
		s->at[s->places++] = (struct stuck_at){.name = at->method};
	s->at[i].count += (double)count;
	s->at[i].before += (double)g->before;
	s->at[i].behind += (double)g->behind;
	s->at[i].came += g->count > g->before ? (double)(g->count - g->before) : 0;
	s->at[i].most = g->most > s->at[i].most ? g->most : s->at[i].most;
}

/* Where most of it is. */
static const struct stuck_at *most_of(const struct stuck_sum *s)
{
	static const struct stuck_at nowhere;
	const struct stuck_at *best = &nowhere;
	for (size_t i = 0; i < s->places; i++)
		if (s->at[i].count > best->count)
			best = &s->at[i];
	return best;
}

static uint64_t never_of(const struct task_group *g)
{
	return g->wait == TASK_WAIT_COMPLETION && !g->bounded && !g->main && stuck_place(g) ? g->unheld : 0;
}

/* None of those that waited at the first look has gone. A few that came since may be on their way yet; that many came and none went is no accident. */
#define CAME_LEAST 10
static bool none_went(const struct task_group *g)
{
	return g->lasting && g->lasting >= g->before && (g->count == g->before || g->count >= g->before + CAME_LEAST);
}

/* Replies that others may still give, and who waits for them. */
static uint64_t reply_of(const struct task_group *g)
{
	return g->wait == TASK_WAIT_COMPLETION && !g->bounded && !g->main && none_went(g) && stuck_place(g) && g->lasting > g->unheld ?
		       g->count - g->unheld + g->behind : 0;
}

static uint64_t response_of(const struct task_group *g)
{
	return g->asked && !g->bounded && none_went(g) && stuck_place(g) ? g->count + g->behind : 0;
}

static void sum_replies(const struct stuck_result *r, struct stuck_numbers *out)
{
	struct stuck_sum reply = {0}, response = {0};
	for (size_t i = 0; i < r->groups.count; i++) {
		add_to_sum(&reply, &r->groups.items[i], reply_of(&r->groups.items[i]));
		add_to_sum(&response, &r->groups.items[i], response_of(&r->groups.items[i]));
	}
	const struct stuck_at *most = most_of(&reply);
	out->reply = reply.all;
	out->reply_came = most->came;
	rules_set_text(&out->reply_place, most->name);
	most = most_of(&response);
	out->response = most->count;
	out->response_came = most->came;
	rules_set_text(&out->response_place, most->name);
}

/* Whether one of the group's operations stands behind a later await of that method than the call does: it may hold what the call waits for. */
static bool is_past(const struct task_group *g, const struct task_call *call)
{
	for (size_t i = 0; i < g->call_count; i++)
		if (!g->calls[i].framework && g->calls[i].state > call->state && strcmp(g->calls[i].method, call->method) == 0)
			return true;
	return false;
}

static void sum_past(const struct stuck_result *r, const struct task_group *queue, struct stuck_numbers *out)
{
	uint64_t most = 0;
	out->queue_past = 0;
	for (size_t k = queue->place; k < queue->call_count && out->queue_past <= 0; k++) {
		if (queue->calls[k].framework || queue->calls[k].state < 0)
			continue;
		for (size_t i = 0; i < r->groups.count; i++) {
			const struct task_group *g = &r->groups.items[i];
			if (!is_past(g, &queue->calls[k]))
				continue;
			out->queue_past += (double)g->count;
			if (g->count <= most || !stuck_place(g))
				continue;
			most = g->count;
			rules_set_text(&out->queue_past_place, stuck_place(g)->method);
			rules_set_text(&out->queue_past_wait, task_wait_words(g->wait));
		}
	}
}

static void sum_queues(const struct stuck_result *r, struct stuck_numbers *out)
{
	struct stuck_sum queue = {0};
	const struct task_group *largest = NULL;
	for (size_t i = 0; i < r->groups.count; i++) {
		const struct task_group *g = &r->groups.items[i];
		if (g->wait != TASK_WAIT_SEMAPHORE || g->bounded || !g->frozen)
			continue;
		add_to_sum(&queue, g, g->count);
		largest = stuck_place(g) && (!largest || g->count > largest->count) ? g : largest;
	}
	const struct stuck_at *most = most_of(&queue);
	if (largest && stuck_place(largest)->state >= 0)
		sum_past(r, largest, out);
	out->queue = most->count;
	out->queue_before = most->before;
	out->queue_most = most->most;
	rules_set_text(&out->queue_place, most->name);
}

/* .NET 10's type, and that of those before. */
static bool waits_for_room(const struct task_group *g)
{
	bool writes = strstr(g->awaited, "BlockedWriteAsyncOperation") || strstr(g->awaited, "VoidAsyncOperationWithData");
	return g->wait == TASK_WAIT_CHANNEL && !g->bounded && writes;
}

static void sum_writers(const struct stuck_result *r, struct stuck_numbers *out)
{
	struct stuck_sum writers = {0};
	out->writers_lasting = 0;
	for (size_t i = 0; i < r->groups.count; i++) {
		const struct task_group *g = &r->groups.items[i];
		if (!waits_for_room(g) || !stuck_place(g))
			continue;
		add_to_sum(&writers, g, g->count);
		out->writers_lasting += (double)g->lasting;
	}
	const struct stuck_at *most = most_of(&writers);
	out->writers = most->count;
	out->writers_before = most->before;
	rules_set_text(&out->writers_place, most->name);
}

/* Requests without a connection, and those with one: for which operation of the application they are. */
static void sum_connections(const struct stuck_result *r, enum task_wait wait, struct stuck_sum *waiting, struct stuck_sum *holding)
{
	for (size_t i = 0; i < r->groups.count; i++) {
		const struct task_group *g = &r->groups.items[i];
		if (g->wait == wait)
			add_to_sum(g->queued ? waiting : holding, g, g->lasting);
	}
}

static double all_before(const struct stuck_result *r, enum task_wait wait)
{
	double sum = 0;
	for (size_t i = 0; i < r->groups.count; i++)
		if (r->groups.items[i].wait == wait && r->groups.items[i].queued)
			sum += (double)r->groups.items[i].before;
	return sum;
}

static void sum_pools(const struct stuck_result *r, struct stuck_numbers *out)
{
	struct stuck_sum http = {0}, http_open = {0}, database = {0}, database_open = {0};
	sum_connections(r, TASK_WAIT_HTTP, &http, &http_open);
	sum_connections(r, TASK_WAIT_DATABASE, &database, &database_open);
	bool of_database = database.all > http.all;
	const struct stuck_sum *waiting = of_database ? &database : &http, *open = of_database ? &database_open : &http_open;
	out->http_waiting = http.all;
	out->http_open = http_open.all;
	out->database_waiting = database.all;
	out->database_open = database_open.all;
	rules_set_text(&out->http_place, most_of(&http)->name);
	rules_set_text(&out->database_place, most_of(&database)->name);
	out->served = all_before(r, of_database ? TASK_WAIT_DATABASE : TASK_WAIT_HTTP) - waiting->all;
	out->holding = most_of(open)->count;
	rules_set_text(&out->holding_place, most_of(open)->name);
	const struct task_pool *p = &r->groups.pool;
	if (!p->address || p->wait != (of_database ? TASK_WAIT_DATABASE : TASK_WAIT_HTTP))
		return;
	out->pool_used = p->open - (p->idle_known ? p->idle : 0);
	out->pool_most = p->most;
}

static void sum_blocked(const struct stuck_result *r, struct stuck_numbers *out)
{
	struct stuck_sum blocked = {0};
	for (size_t i = 0; i < r->groups.count; i++) {
		const struct task_group *g = &r->groups.items[i];
		if (!g->main && g->lasting && stuck_place(g))
			add_to_sum(&blocked, g, g->blocks < g->lasting ? g->blocks : g->lasting);
	}
	out->blocked = blocked.all;
	rules_set_text(&out->blocked_place, most_of(&blocked)->name);
}

void stuck_numbers_of(const struct stuck_result *r, struct stuck_numbers *out)
{
	struct stuck_sum never = {0};
	rules_clear(&stuck_numbers_fields, out);
	out->seconds_between = (double)r->between_ns / 1e9;
	out->tasks = (double)(r->groups.boxes + r->groups.tasks + r->groups.completed);
	out->operations = (double)r->groups.operations;
	out->lasting = (double)r->groups.lasting;
	out->holders_known = r->holders_known;
	out->faults = (double)r->groups.lasting_faults;
	out->fault_most = (double)r->groups.fault_most;
	rules_set_text(&out->fault_place, r->groups.fault_place);
	for (size_t i = 0; i < r->groups.count; i++)
		add_to_sum(&never, &r->groups.items[i], never_of(&r->groups.items[i]));
	out->never = r->holders_known ? never.all : NAN;
	out->never_kept = 0;
	for (size_t i = 0; i < r->groups.count; i++)
		out->never_kept += never_of(&r->groups.items[i]) ? (double)r->groups.items[i].kept : 0;
	out->never_most = most_of(&never)->count;
	out->never_behind = most_of(&never)->behind;
	out->never_places = (double)never.places;
	rules_set_text(&out->never_place, most_of(&never)->name);
	sum_replies(r, out);
	sum_queues(r, out);
	sum_writers(r, out);
	sum_pools(r, out);
	sum_blocked(r, out);
}
