/* Errors as values.
 *
 * Fallible functions return int (>= 0 good, -1 failed) or a pointer (NULL failed) and take `struct err *e` last.
 * On success *e is untouched; on failure it is set exactly once, by the function where the failure happened
 * (operation + object + reason); outer layers add identity with err_prefix(). Only the function that stops an
 * error logs it. The value has a fixed size: nothing to free, works without memory, any thread. */
#ifndef DRDOTNET_ERR_H
#define DRDOTNET_ERR_H

#include <stddef.h>

/* The kind is a decision: what may the caller do about it? */
enum err_kind {
	ERR_NONE = 0,
	ERR_RETRY,     /* transient: try again after a back-off */
	ERR_TIMEOUT,   /* a deadline passed */
	ERR_CONFLICT,  /* somebody else changed the object: read again, then try again */
	ERR_GONE,      /* existed and no longer does (process ended, resourceVersion expired) */
	ERR_NOT_FOUND, /* does not exist */
	ERR_DENIED,    /* not allowed; a person must grant it */
	ERR_PROTOCOL,  /* the other side spoke nonsense */
	ERR_INVALID,   /* the user must change what was asked for */
	ERR_CANCELED,  /* asked to stop */
	ERR_INTERNAL,  /* our own mistake, or the system's */
};

#define ERR_MESSAGE_SIZE 480

struct err {
	enum err_kind kind;
	int code;           /* errno, HTTP status or HRESULT, as the message says; 0: none */
	const char *reason; /* CamelCase condition reason with static storage (common/api/reason.h), or NULL */
	char message[ERR_MESSAGE_SIZE];
};

#define ERR_INIT {ERR_NONE, 0, NULL, {0}}

/* Sets *e (which may be NULL: the caller does not care) and returns -1, so that one may `return err_set(...)`.
 * The message is cut at ERR_MESSAGE_SIZE - 1 bytes, on a UTF-8 boundary. */
int err_set(struct err *e, enum err_kind kind, int code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The same with a condition reason. `reason` must have static storage. */
int err_set_reason(struct err *e, enum err_kind kind, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Sets *e from an errno value: the kind is derived (ENOENT: NOT_FOUND, EACCES/EPERM: DENIED, ESRCH: GONE,
 * ETIMEDOUT: TIMEOUT, EAGAIN/ECONNREFUSED/ECONNRESET/EPIPE/ENOSPC...: RETRY, else INTERNAL) and ": <strerror>" is
 * appended to the message. Returns -1. */
int err_set_errno(struct err *e, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "<formatted>: " before the message of a set error. Returns -1. */
int err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "Retry", "Timeout", ... for logs and tests. */
const char *err_kind_name(enum err_kind kind);

#endif
