/* The hub's word on the pods whose next container is waited for. */
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "controller/link/hub_private.h"

#include <string.h>

/* Where the node's pods begin in a list that is sorted by nodes, and how many there are. */
static size_t find_node_pods(const struct awaited_pod *pods, size_t count, const char *node, size_t *begin)
{
	size_t low = 0, high = count, end;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(pods[middle].node, node) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < count && strcmp(pods[end].node, node) == 0; end++)
		;
	*begin = low;
	return end - low;
}

static bool send_awaited(struct hub_link *l, int64_t valid_seconds, const struct awaited_pod *pods, size_t count)
{
	struct link_msg m = {.type = LINK_MSG_AWAIT_STARTS, .epoch = l->hub->epoch};
	size_t begin, found = find_node_pods(pods, count, l->node, &begin);
	found = found < LINK_MAX_AWAITED_PODS ? found : LINK_MAX_AWAITED_PODS;
	AUTO_FREE struct link_awaited_pod *own = mem_calloc(found ? found : 1, sizeof *own);
	for (size_t i = 0; i < found; i++)
		own[i] = pods[begin + i].pod;
	m.u.await_starts = (struct link_await_starts){valid_seconds, own, found};
	return hub_post(l, &m, NULL) == 0;
}

size_t agent_hub_await_starts(struct agent_hub *h, const char *node, int64_t valid_seconds, const struct awaited_pod *pods, size_t count)
{
	size_t told = 0;
	pthread_mutex_lock(&h->lock);
	struct hub_link *l = node ? hub_find_link(h, node) : h->nodes;
	for (; l; l = node ? NULL : l->hh.next)
		told += h->epoch > 0 && l->info.pod_starts && send_awaited(l, valid_seconds, pods, count);
	pthread_mutex_unlock(&h->lock);
	if (told)
		hub_wake(h);
	return told;
}
