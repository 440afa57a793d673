#include "agent/heap/heap_share.h"

static uint64_t stretch(uint64_t us, int64_t limit_millicores)
{
	return (uint64_t)((double)us * 1000 / (double)limit_millicores);
}

void heap_share_predict(struct heap_prediction *p, int64_t limit_millicores)
{
	if (limit_millicores <= 0 || limit_millicores >= 1000)
		return;
	p->walk_us = stretch(p->walk_us, limit_millicores);
	p->collection_us = stretch(p->collection_us, limit_millicores);
	p->types_us = stretch(p->types_us, limit_millicores);
}
