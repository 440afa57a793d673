/* Threads for what may block on the API server: token and access reviews, upload grants. Each has a Kubernetes client of
 * its own. The queue is bounded: when it is full, the caller says "try again" to its peer. */
#ifndef DRDOTNET_REVIEW_POOL_H
#define DRDOTNET_REVIEW_POOL_H

#include "common/base/err.h"
#include "controller/kube/kube_client.h"

struct review_pool;

/* Runs in a pool thread and frees `arg`. `kube` is NULL when the pool ends before the task's turn. */
typedef void review_task(void *arg, struct kube_client *kube);

/* `kube` must outlive the pool. */
struct review_pool *review_pool_new(const struct kube_config *kube, size_t threads, size_t max_queued, struct err *e);

/* Any thread. ERR_RETRY when the queue is full (`arg` is still the caller's). */
int review_pool_submit(struct review_pool *p, review_task *task, void *arg, struct err *e);

/* Cancels the calls under way, runs what is queued with NULL clients, joins. */
void review_pool_free(struct review_pool *p);

#endif
