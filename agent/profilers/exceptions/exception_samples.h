/* Samples of the process's CPU time while an Exceptions session runs, from outside: which part of it is the runtime's handling of exceptions. That is managed
 * code which the stacks name (.NET 9 and newer), or native code directly below a place that is known to throw: below that very call the runtime does nothing
 * else. Where perf events are not allowed there are no samples. The session's thread. */
#ifndef DRDOTNET_EXCEPTION_SAMPLES_H
#define DRDOTNET_EXCEPTION_SAMPLES_H

#include "agent/host/maps.h"
#include "agent/perf/perf_pump.h"
#include "agent/profilers/exceptions/exception_capture.h"
#include "agent/session/attached_session.h"
#include "agent/stacks/cpu_collect.h"

struct exception_samples { /* zeroed */
	struct perf_sampler *perf; /* NULL: they are not allowed */
	struct perf_pump *pump;
	struct cpu_collect *collect;
	struct cpu_capture capture;
	struct maps maps;
	struct native_sample { /* of native code: where managed code called it */
		int64_t time_ns;  /* as in the capture */
		uint64_t ip;
	} *native;
	size_t native_count, native_cap;
	uint64_t *throwing;      /* where exceptions were thrown: return addresses */
	size_t throwing_count, throwing_cap;
};

void exception_samples_open(struct exception_samples *x, struct attached_session *s);
void exception_samples_tick(struct exception_samples *x, struct attached_session *s, bool last);
void exception_samples_stop(struct exception_samples *x);
/* The stack of a throw, leaf first. */
void exception_samples_threw(void *samples, const uint64_t *ips, size_t depth);
/* A sample of that time, since the capture's beginning, whose stack begins so. */
void exception_samples_note(struct exception_samples *x, int64_t time_ns, const uint64_t *ips, size_t depth);
/* Counts the capture's samples into *out: those with the unwinder next to the leaf, before any of the application's code. The profiler's own count
 * neither way. */
void exception_samples_count(struct exception_samples *x, struct exception_capture *out);
/* Whatever has been opened. */
void exception_samples_close(struct exception_samples *x, struct attached_session *s);

#endif
