/* The REST API's backend for the processes of this machine. */
#ifndef DRDOTNET_SERVE_BACKEND_H
#define DRDOTNET_SERVE_BACKEND_H

#include "agent/serve/serve_processes.h"
#include "agent/serve/serve_sessions.h"
#include "common/rest/rest_backend.h"

/* Everything is borrowed. */
struct serve_backend {
	const char *token;
	struct serve_processes *processes;
	struct serve_sessions *sessions;
};

struct rest_backend serve_backend_make(struct serve_backend *b);

#endif
