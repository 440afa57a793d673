/* What a pod belongs to, as people know it: its Deployment, StatefulSet, DaemonSet, CronJob, Job, ... Pure. */
#ifndef DRDOTNET_WORKLOAD_H
#define DRDOTNET_WORKLOAD_H

#include "common/base/jsonx.h"

#define WORKLOAD_TEXT_SIZE 318

struct workload {
	char kind[64], name[254];
};

/* A ReplicaSet whose name ends in the pod's template hash is its Deployment's, a Job that a CronJob has made is the CronJob's, by its name and the
 * pod's labels: no right to read Jobs is needed; a pod without an owner is its own. */
void workload_of_pod(const json_t *pod, struct workload *out);

/* "Deployment/checkout" */
void workload_text_of_pod(const json_t *pod, char out[WORKLOAD_TEXT_SIZE]);

#endif
