/* Empties a sampler's rings on a thread of its own into bounded memory, whatever its owner is waiting for (an attach, the library's answers, a process
 * that is slow): a ring holds half a second, and a sample that did not fit is lost. The samples hold pieces of stacks: agent/perf/secret_memory.h. */
#ifndef DRDOTNET_PERF_PUMP_H
#define DRDOTNET_PERF_PUMP_H

#include "agent/perf/perf_sampler.h"

struct perf_pump;

/* From here on the sampler's rings are the pump's, until perf_pump_stop(). NULL: no thread could be made. */
struct perf_pump *perf_pump_start(struct perf_sampler *s, struct err *e);

/* Readable when much has come. */
int perf_pump_fd(const struct perf_pump *p);

/* Hands over what has come so far, names of threads first. */
void perf_pump_take(struct perf_pump *p, perf_sample_fn *on_sample, perf_comm_fn *on_comm, void *ctx);

/* The context switches so far, unordered; *list is the caller's to free. All of those before *until_ns (CLOCK_MONOTONIC) have been given by now; so are the
 * samples with their stacks, if they are taken afterwards. *missing: records that found no room here or in the kernel, and times in which the
 * thread did not run, of all until now. Returns how many. */
size_t perf_pump_take_switches(struct perf_pump *p, struct perf_switch **list, int64_t *until_ns, uint64_t *missing);

/* After perf_sampler_stop(): the last ones may be taken afterwards. The sampler is its owner's again. */
void perf_pump_stop(struct perf_pump *p);
/* Samples that found no room since nobody took the others. */
uint64_t perf_pump_dropped(const struct perf_pump *p);
uint64_t perf_pump_dropped_switches(const struct perf_pump *p);
/* For so long in all the thread did not run when it was due, each time for more than a second: what the events told then is not whole. After the stop. */
int64_t perf_pump_stalled_ns(const struct perf_pump *p);
int64_t perf_pump_cpu_ns(const struct perf_pump *p); /* of its thread, after the stop */
void perf_pump_free(struct perf_pump *p);

#endif
