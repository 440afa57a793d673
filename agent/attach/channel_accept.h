/* The listening end of a profiler channel: makes the socket and waits for the one connection that knows the nonce. Others (another
 * process of the pod may connect and stay silent) neither get in nor keep the right one out. One thread. */
#ifndef DRDOTNET_CHANNEL_ACCEPT_H
#define DRDOTNET_CHANNEL_ACCEPT_H

#include "common/base/err.h"
#include "common/proto/channel.h"

#include <sys/types.h>

/* A listening socket as file `name` of the folder, which any uid may connect to. */
int channel_accept_listen(int dirfd, const char *name, struct err *e);

#define CHANNEL_VERSION_TEXT_MAX 64

struct channel_peer {
	struct channel_hello hello; /* library_version borrows from `version` */
	char version[CHANNEL_VERSION_TEXT_MAX];
};

/* The connected descriptor (non-blocking), or -1. expected_pid 0: do not look. */
int channel_accept_wait(int listen_fd, const uint8_t nonce[CHANNEL_NONCE_BYTES], pid_t expected_pid, int64_t deadline_ms,
			struct channel_peer *peer, struct err *e);

#endif
