/* What every long-running program does at its start. Main thread, before others are made. */
#ifndef DRDOTNET_DAEMON_H
#define DRDOTNET_DAEMON_H

#include "common/base/err.h"

/* malloc for programs with few threads, none of which allocates much: one arena, freed pages given back. */
void daemon_keep_memory_small(void);

/* SIGTERM and SIGINT are blocked, in threads made later too, and SIGPIPE is ignored. */
void daemon_block_signals(void);

/* A descriptor that is readable once SIGTERM or SIGINT has come, or -1. The caller's to close. */
int daemon_signal_fd(struct err *e);

#endif
