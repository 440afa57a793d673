#include "common/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Ends `s` before a UTF-8 sequence that the cut at `size` bytes has torn. */
static void trim_torn_utf8(char *s, size_t size)
{
	size_t n = strlen(s);
	if (n + 1 < size)
		return;
	size_t i = n;
	while (i > 0 && ((unsigned char)s[i - 1] & 0xC0) == 0x80)
		i--;
	if (i == 0)
		return;
	unsigned char lead = (unsigned char)s[i - 1];
	size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
	if (n - (i - 1) < want)
		s[i - 1] = '\0';
}

static void set_message(struct err *e, enum err_kind kind, int code, const char *reason, const char *fmt, va_list args)
{
	e->kind = kind;
	e->code = code;
	e->reason = reason;
	vsnprintf(e->message, sizeof e->message, fmt, args);
	trim_torn_utf8(e->message, sizeof e->message);
}

int err_set(struct err *e, enum err_kind kind, int code, const char *fmt, ...)
{
	if (!e)
		return -1;
	va_list args;
	va_start(args, fmt);
	set_message(e, kind, code, NULL, fmt, args);
	va_end(args);
	return -1;
}

int err_set_reason(struct err *e, enum err_kind kind, const char *reason, const char *fmt, ...)
{
	if (!e)
		return -1;
	va_list args;
	va_start(args, fmt);
	set_message(e, kind, 0, reason, fmt, args);
	va_end(args);
	return -1;
}

static enum err_kind kind_of_errno(int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
	case ENXIO:
		return ERR_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EROFS:
		return ERR_DENIED;
	case ESRCH:
		return ERR_GONE;
	case ETIMEDOUT:
		return ERR_TIMEOUT;
	case EAGAIN:
	case EINTR:
	case ENOSPC:
	case EMFILE:
	case ENFILE:
	case EPIPE:
	case ECONNREFUSED:
	case ECONNRESET:
	case ECONNABORTED:
	case ENETUNREACH:
	case EHOSTUNREACH:
		return ERR_RETRY;
	default:
		return ERR_INTERNAL;
	}
}

int err_set_errno(struct err *e, int errnum, const char *fmt, ...)
{
	if (!e)
		return -1;
	va_list args;
	va_start(args, fmt);
	set_message(e, kind_of_errno(errnum), errnum, NULL, fmt, args);
	va_end(args);
	size_t n = strlen(e->message);
	snprintf(e->message + n, sizeof e->message - n, ": %s", strerror(errnum));
	return -1;
}

int err_prefix(struct err *e, const char *fmt, ...)
{
	if (!e || e->kind == ERR_NONE)
		return -1;
	char old[ERR_MESSAGE_SIZE];
	memcpy(old, e->message, sizeof old);
	va_list args;
	va_start(args, fmt);
	vsnprintf(e->message, sizeof e->message, fmt, args);
	va_end(args);
	size_t n = strlen(e->message);
	snprintf(e->message + n, sizeof e->message - n, ": %s", old);
	trim_torn_utf8(e->message, sizeof e->message);
	return -1;
}

const char *err_kind_name(enum err_kind kind)
{
	static const char *const names[] = {
		[ERR_NONE] = "None",         [ERR_RETRY] = "Retry",       [ERR_TIMEOUT] = "Timeout",
		[ERR_CONFLICT] = "Conflict", [ERR_GONE] = "Gone",         [ERR_NOT_FOUND] = "NotFound",
		[ERR_DENIED] = "Denied",     [ERR_PROTOCOL] = "Protocol", [ERR_INVALID] = "Invalid",
		[ERR_CANCELED] = "Canceled", [ERR_INTERNAL] = "Internal",
	};
	return (size_t)kind < sizeof names / sizeof names[0] && names[kind] ? names[kind] : "Unknown";
}
