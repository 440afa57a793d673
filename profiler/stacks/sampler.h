/* CPU sampling from within, for targets that perf events cannot reach: a timer on every thread's CPU clock sends a signal to that
 * thread (the runtime's own, see runtime_signal.h), whose handler walks its own stack. Coarser than perf events: capped at
 * the kernel's HZ, and short bursts on many threads get less than their share. Own thread, but for the handler in sampler.c. */
#ifndef DRDOTNET_SAMPLER_H
#define DRDOTNET_SAMPLER_H

#include "profiler/base/channel_io.h"

#define SAMPLER_MAX_HERTZ 1000

void sampler_reset(void);
/* 0, or an errno and a message: EBUSY when no signal is safe for it. */
int sampler_start(void *info, uint32_t hertz, const char **message);
/* Afterwards no timer of ours exists and the signal is the runtime's again; a handler may still be running. Idempotent. */
void sampler_stop(void);
/* After stop: waits until no thread can still be in our handler, but not without end. false: the library must not be unmapped: there are threads
 * of which that is not known, or somebody has put a handler before ours, which may call ours. */
bool sampler_settle(void);
bool sampler_running(void);
void sampler_tick(void);                   /* every TICK_MS: finds new threads, frees those of ended ones */
void sampler_drain(struct channel_io *io); /* moves what was collected into SAMPLES frames */
struct channel_sampling sampler_counts(void);

#endif
