/* Exceptions by kind (type and shape of the message) and by site (kind, thread, stack), on their way from the threads that throw to the library's own.
 * Fixed memory, lock-free; what does not fit is counted. */
#ifndef DRDOTNET_THROW_SITES_H
#define DRDOTNET_THROW_SITES_H

#include "common/proto/channel_exceptions.h"
#include "profiler/base/channel_io.h"
#include "profiler/exceptions/exception_event.h"

/* Own thread, while no exceptions are told of. `wanted`: enum channel_exceptions_want. */
void throw_sites_reset(uint32_t wanted);

/* CLR callback: on the thread that throws, and where it has reached a catch block. */
void throw_sites_thrown(const struct exception_thrown *e, uint64_t now_ns);
void throw_sites_caught(uint64_t address, uint64_t now_ns);
void throw_sites_malformed(void);

/* Own thread: kinds and sites that are new since the last time. */
void throw_sites_send_new(struct channel_io *io);
/* Fills what is counted here. */
void throw_sites_state(struct channel_exceptions_state *out);

#endif
