/* The agent's own folder for jobs: <root>/jobs/<job id>/{state.json, reports...}. It survives the agent, so that a report is delivered
 * late rather than lost. A job's state is written by rename. One thread at a time per job; spool_new and spool_list from one thread. */
#ifndef DRDOTNET_SPOOL_H
#define DRDOTNET_SPOOL_H

#include "common/base/err.h"
#include "common/link/link_msg.h"

struct spool;

/* Opens (makes) the folder. quota_bytes bounds all jobs' files together. */
struct spool *spool_new(const char *root, int64_t quota_bytes, struct err *e);
void spool_free(struct spool *s);

/* Less free space than this is none: a job would end without room for its reports. */
#define SPOOL_LEAST_FREE_BYTES (4 << 20)

/* Makes the job's folder, and anew what was removed above it. ERR_RETRY with REASON_SpoolFull when the quota is reached or the disk is (almost)
 * full, REASON_SpoolUnusable when it cannot be written. Returns a descriptor of it (the caller closes). */
int spool_job_create(struct spool *s, const char *job_id, struct err *e);
int spool_job_open(struct spool *s, const char *job_id, struct err *e); /* existing; ERR_NOT_FOUND */

/* The job's order and state, to go on after a restart. */
int spool_job_save(struct spool *s, const char *job_id, const struct link_order *order, const struct link_job *job, struct err *e);
int spool_job_load(struct spool *s, const char *job_id, struct link_order *order, struct link_job *job, struct err *e);

/* Job ids that are there (heap array of heap strings). */
size_t spool_list(struct spool *s, char ***ids);
void spool_job_remove(struct spool *s, const char *job_id);

/* Small persistent numbers of the agent, such as the highest epoch seen. 0 when absent. A number that was written once can be written again
 * on a full disk. */
int64_t spool_get_number(struct spool *s, const char *name);
int spool_set_number(struct spool *s, const char *name, int64_t value, struct err *e);

int64_t spool_used_bytes(struct spool *s);
int64_t spool_left_bytes(struct spool *s); /* of the quota; at least 1 */

#endif
