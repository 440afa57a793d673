/* A bounded number of threads for work that may block. Any thread submits. */
#ifndef DRDOTNET_WEB_POOL_H
#define DRDOTNET_WEB_POOL_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct web_pool;
typedef void web_pool_task(void *arg);

struct web_pool *web_pool_new(size_t threads, struct err *e);

/* max_queued: false when as many wait already; 0: no bound (the caller has its own). false too after the stop began. */
bool web_pool_submit(struct web_pool *p, web_pool_task *task, void *arg, size_t max_queued);

/* Runs what is queued, then joins. */
void web_pool_free(struct web_pool *p);

#endif
