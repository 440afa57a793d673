#include "controller/sessions/session_nodes.h"

#include "common/base/mem.h"
#include "controller/sessions/plan.h"

#include <stdlib.h>
#include <string.h>

static void drop_early_job(struct session_node *node, struct session_early_job *early)
{
	HASH_DEL(node->early, early);
	link_job_fini(&early->job);
	free(early);
}

static void drop_early_jobs(struct session_node *node)
{
	while (node->early)
		drop_early_job(node, node->early);
}

static void drop_node(struct session_nodes *n, struct session_node *node)
{
	drop_early_jobs(node);
	HASH_DEL(n->by_name, node);
	free(node->name);
	free(node);
}

void session_nodes_fini(struct session_nodes *n)
{
	while (n->by_name)
		drop_node(n, n->by_name);
}

struct session_node *session_nodes_find(const struct session_nodes *n, const char *name)
{
	struct session_node *node;
	HASH_FIND_STR(n->by_name, name, node);
	return node;
}

/* Nodes come and go all the time. */
static void drop_lost_nodes(struct session_nodes *n, int64_t now_ms)
{
	struct session_node *node, *next;
	HASH_ITER(hh, n->by_name, node, next) {
		if (!node->linked && now_ms - node->since_ms > PLAN_RETURN_MS)
			drop_node(n, node);
	}
}

bool session_nodes_link(struct session_nodes *n, const char *name, bool linked, bool says_complete, int64_t now_ms)
{
	if (!linked)
		drop_lost_nodes(n, now_ms);
	struct session_node *node = session_nodes_find(n, name);
	if (node && node->linked == linked)
		return false;
	if (!node) {
		node = mem_alloc(sizeof *node);
		node->name = mem_strdup(name);
		HASH_ADD_KEYPTR(hh, n->by_name, node->name, strlen(node->name), node);
	}
	drop_early_jobs(node);
	node->linked = linked;
	node->says_complete = linked && says_complete;
	node->since_ms = now_ms;
	node->complete_epoch = 0;
	return true;
}

static struct session_early_job *find_early_job(const struct session_node *node, const char *job_id)
{
	struct session_early_job *early;
	HASH_FIND_STR(node->early, job_id, early);
	return early;
}

void session_nodes_keep(struct session_nodes *n, const char *name, const struct link_job *job)
{
	struct session_node *node = session_nodes_find(n, name);
	if (!node || !node->linked)
		return;
	struct session_early_job *early = find_early_job(node, job->job_id);
	if (early)
		drop_early_job(node, early);
	else if (HASH_COUNT(node->early) == LINK_MAX_JOBS)
		drop_early_job(node, node->early);
	early = mem_alloc(sizeof *early);
	link_job_copy(&early->job, job);
	HASH_ADD_STR(node->early, job.job_id, early);
}

bool session_nodes_take(struct session_nodes *n, const char *name, const char *job_id, struct link_job *out)
{
	struct session_node *node = session_nodes_find(n, name);
	struct session_early_job *early = node ? find_early_job(node, job_id) : NULL;
	if (!early)
		return false;
	HASH_DEL(node->early, early);
	*out = early->job;
	free(early);
	return true;
}
