#include "controller/sessions/session_health.h"

#include "common/api/finding.h"
#include "common/base/mem.h"
#include "controller/base/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKLOADS_MAX 1000

const char *session_health_next(const char *findings, char id[48], bool *possible, int *score)
{
	char mark;
	int used = 0;
	if (sscanf(findings, " %47[A-Za-z0-9]%c%d%n", id, &mark, score, &used) != 3)
		return NULL;
	*possible = mark == '?';
	return findings + used;
}

struct series_list {
	struct metric_value *items;
	size_t count, cap;
};

static void add_findings(struct series_list *list, const struct session_summary *s)
{
	const char *kind = s->workload, *name = strchr(kind, '/'), *next = s->findings;
	char id[48];
	bool possible;
	int score;
	while (name && (next = session_health_next(next, id, &possible, &score))) {
		if (!finding_is_harm(id))
			continue;
		GROW(list->items, list->count, list->cap);
		list->items[list->count++] = (struct metric_value){
			.value = mem_printf("%s,%s,%s,%.*s,%s", id, s->profiler, s->namespace, (int)(name - kind), kind, name + 1), .n = score};
	}
}

void session_health_measure(struct session_index *x)
{
	struct session_page page;
	struct series_list list = {0};
	session_index_newest(x, WORKLOADS_MAX, &page);
	for (size_t i = 0; i < page.count; i++)
		add_findings(&list, &page.items[i]);
	session_page_fini(&page);
	metrics_replace(METRIC_FINDING_SCORE, list.items, list.count);
	for (size_t i = 0; i < list.count; i++)
		free((char *)list.items[i].value);
	free(list.items);
}
