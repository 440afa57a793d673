/* One request and its reply on a diagnostics connection, in steps that never block: many processes are asked at once,
 * and a silent one costs nobody else's time. Owned by one thread; the descriptor stays the caller's. */
#ifndef DRDOTNET_DIAG_EXCHANGE_H
#define DRDOTNET_DIAG_EXCHANGE_H

#include "agent/diag/diag_codec.h"
#include "common/base/buf.h"
#include "common/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct diag_exchange {
	int fd;               /* non-blocking; borrowed */
	struct buf out, in;
	size_t sent;
	struct diag_header header; /* of the reply, once its first bytes are there */
};

/* `message` is a whole encoded message; it is copied. */
void diag_exchange_init(struct diag_exchange *x, int fd, const void *message, size_t len);
/* To ask a question of the Process command set: a header is all of it. */
void diag_exchange_init_question(struct diag_exchange *x, int fd, enum diag_command question);
/* The same in two parts, for a connection that was made just now: a runtime waits for the question on each connection, one after the other, and answers
 * nobody else meanwhile. The answer is waited for later. */
void diag_exchange_ask(int fd, enum diag_command question);
void diag_exchange_init_asked(struct diag_exchange *x, int fd);
void diag_exchange_fini(struct diag_exchange *x);

/* What to poll the descriptor for. */
short diag_exchange_events(const struct diag_exchange *x);

/* Sends and receives what is possible now. 1: the whole reply is there; 0: not yet; -1: ERR_PROTOCOL, or ERR_GONE when the
 * other end closed. */
int diag_exchange_step(struct diag_exchange *x, struct err *e);

/* Steps until the reply is there or the deadline has passed (ERR_TIMEOUT). 0 or -1. */
int diag_exchange_run(struct diag_exchange *x, int64_t deadline_ms, struct err *e);

/* Receives some of what follows the whole reply, at least one byte: how many. -1: ERR_GONE, ERR_TIMEOUT. */
ssize_t diag_exchange_more(struct diag_exchange *x, void *out, size_t size, int64_t deadline_ms, struct err *e);

/* The reply's payload, borrowed. Valid after a step gave 1. */
const uint8_t *diag_exchange_payload(const struct diag_exchange *x, size_t *len);

/* 0 when a finished exchange's reply is an OK; `refused` begins the error when it says no. */
int diag_exchange_ok(const struct diag_exchange *x, const char *refused, struct err *e);

/* Reads a finished exchange as the answer to ProcessInfo. */
int diag_exchange_process_info(const struct diag_exchange *x, enum diag_command asked, struct diag_process_info *out,
			       struct err *e);

#endif
