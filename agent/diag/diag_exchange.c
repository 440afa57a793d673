#include "agent/diag/diag_exchange.h"

#include "common/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#define CLOSED_WITHIN_REPLY "the diagnostics port closed the connection within its reply"

void diag_exchange_init(struct diag_exchange *x, int fd, const void *message, size_t len)
{
	*x = (struct diag_exchange){.fd = fd};
	buf_init(&x->out, DIAG_MESSAGE_MAX);
	buf_init(&x->in, DIAG_MESSAGE_MAX);
	buf_append(&x->out, message, len);
}

void diag_exchange_init_question(struct diag_exchange *x, int fd, enum diag_command question)
{
	uint8_t message[DIAG_HEADER_SIZE];
	diag_encode_header(message, sizeof message, DIAG_SET_PROCESS, (uint8_t)question);
	diag_exchange_init(x, fd, message, sizeof message);
}

/* A header always has room; where the other end is gone, reading tells. */
void diag_exchange_ask(int fd, enum diag_command question)
{
	uint8_t message[DIAG_HEADER_SIZE];
	diag_encode_header(message, sizeof message, DIAG_SET_PROCESS, (uint8_t)question);
	send(fd, message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void diag_exchange_init_asked(struct diag_exchange *x, int fd)
{
	diag_exchange_init(x, fd, "", 0);
}

void diag_exchange_fini(struct diag_exchange *x)
{
	buf_fini(&x->out);
	buf_fini(&x->in);
}

short diag_exchange_events(const struct diag_exchange *x)
{
	return x->sent < x->out.len ? POLLOUT : POLLIN;
}

static bool must_wait(int errnum)
{
	return errnum == EAGAIN || errnum == EWOULDBLOCK || errnum == EINTR;
}

static int send_some(struct diag_exchange *x, struct err *e)
{
	ssize_t n = send(x->fd, x->out.data + x->sent, x->out.len - x->sent, MSG_NOSIGNAL);
	if (n < 0 && must_wait(errno))
		return 0;
	if (n < 0)
		return err_set(e, ERR_GONE, errno, "the diagnostics port closed the connection before the request");
	x->sent += (size_t)n;
	return 1;
}

/* How many bytes the reply still lacks, as far as it is known. */
static size_t missing(const struct diag_exchange *x)
{
	return (x->in.len < DIAG_HEADER_SIZE ? DIAG_HEADER_SIZE : x->header.size) - x->in.len;
}

static int receive_some(struct diag_exchange *x, struct err *e)
{
	char chunk[4096];
	size_t want = missing(x) < sizeof chunk ? missing(x) : sizeof chunk;
	ssize_t n = recv(x->fd, chunk, want, 0);
	if (n < 0 && must_wait(errno))
		return 0;
	if (n <= 0)
		return err_set(e, ERR_GONE, n < 0 ? errno : 0, CLOSED_WITHIN_REPLY);
	bool had_header = x->in.len >= DIAG_HEADER_SIZE;
	buf_append(&x->in, chunk, (size_t)n);
	if (!had_header && x->in.len >= DIAG_HEADER_SIZE)
		return diag_decode_header((const uint8_t *)x->in.data, &x->header, e) < 0 ? -1 : 1;
	return 1;
}

int diag_exchange_step(struct diag_exchange *x, struct err *e)
{
	while (x->sent < x->out.len) {
		int r = send_some(x, e);
		if (r <= 0)
			return r;
	}
	while (x->in.len < DIAG_HEADER_SIZE || missing(x) > 0) {
		int r = receive_some(x, e);
		if (r <= 0)
			return r;
	}
	return 1;
}

static int wait_for_exchange(const struct diag_exchange *x, int64_t deadline_ms, struct err *e)
{
	int64_t left = deadline_ms - clock_mono_ms();
	if (left <= 0)
		return err_set(e, ERR_TIMEOUT, 0, "the diagnostics port did not answer in time");
	struct pollfd p = {.fd = x->fd, .events = diag_exchange_events(x)};
	poll(&p, 1, left > 60000 ? 60000 : (int)left);
	return 0;
}

int diag_exchange_run(struct diag_exchange *x, int64_t deadline_ms, struct err *e)
{
	for (;;) {
		int r = diag_exchange_step(x, e);
		if (r != 0)
			return r < 0 ? -1 : 0;
		if (wait_for_exchange(x, deadline_ms, e) < 0)
			return -1;
	}
}

ssize_t diag_exchange_more(struct diag_exchange *x, void *out, size_t size, int64_t deadline_ms, struct err *e)
{
	for (;;) {
		if (wait_for_exchange(x, deadline_ms, e) < 0) /* before each look: who drips without end is not followed for ever */
			return -1;
		ssize_t n = recv(x->fd, out, size, 0);
		if (n > 0)
			return n;
		if (n == 0 || !must_wait(errno))
			return err_set(e, ERR_GONE, n < 0 ? errno : 0, CLOSED_WITHIN_REPLY);
	}
}

const uint8_t *diag_exchange_payload(const struct diag_exchange *x, size_t *len)
{
	*len = x->in.len - DIAG_HEADER_SIZE;
	return (const uint8_t *)x->in.data + DIAG_HEADER_SIZE;
}

int diag_exchange_ok(const struct diag_exchange *x, const char *refused, struct err *e)
{
	size_t len;
	const uint8_t *payload = diag_exchange_payload(x, &len);
	if (x->header.set != DIAG_SET_SERVER ||
	    (x->header.command != DIAG_SERVER_OK && x->header.command != DIAG_SERVER_ERROR))
		return err_set(e, ERR_PROTOCOL, 0, "the diagnostics port replied with command 0x%02x 0x%02x", x->header.set,
			       x->header.command);
	return x->header.command == DIAG_SERVER_OK ? 0 : diag_refusal(e, refused, diag_decode_hresult(payload, len));
}

int diag_exchange_process_info(const struct diag_exchange *x, enum diag_command asked, struct diag_process_info *out,
			       struct err *e)
{
	size_t len;
	const uint8_t *payload = diag_exchange_payload(x, &len);
	if (diag_exchange_ok(x, "the process information was refused", e) < 0)
		return -1;
	return diag_decode_process_info(asked, payload, len, out, e);
}
