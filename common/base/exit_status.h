/* How a process ended, in the words that shells and Kubernetes use: "exit code 134 (SIGABRT)". Pure; any thread. */
#ifndef DRDOTNET_EXIT_STATUS_H
#define DRDOTNET_EXIT_STATUS_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct exit_status {
	bool known;
	int64_t code;       /* 128 and the signal, where one ended it */
	const char *signal; /* "SIGABRT"; NULL: none of those that end processes in practice; static */
};

/* What waitpid(2) gives. */
struct exit_status exit_status_of_wait(int status);

/* What is told of a container: where a signal ended it, the code alone may say so. */
struct exit_status exit_status_of_code(int64_t code, int64_t signal);

/* Appends "exit code 134 (SIGABRT)"; nothing where it is not known. */
void exit_status_text(const struct exit_status *s, struct buf *out);

#endif
