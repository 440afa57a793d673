#include "agent/diag/diag_ipc.h"

#include "agent/diag/diag_codec.h"
#include "agent/diag/diag_environment.h"
#include "agent/diag/diag_exchange.h"
#include "agent/diag/diag_socket.h"
#include "agent/target/target_fs.h"
#include "common/base/cleanup.h"
#include "common/base/step.h"

#include <stdio.h>
#include <string.h>

int diag_ipc_connect_in(int tmp_fd, const struct target *t, int64_t deadline_ms, struct err *e)
{
	const char *name = t->socket_path ? strrchr(t->socket_path, '/') : NULL;
	if (!name)
		return err_set(e, ERR_NOT_FOUND, 0, "the process has no diagnostics socket");
	return diag_socket_connect(tmp_fd, name + 1, t->uid, t->pid, deadline_ms, e);
}

int diag_ipc_connect(const struct target *t, int64_t deadline_ms, struct err *e)
{
	AUTO_FD int tmp = target_open_tmp(t, e);
	return tmp < 0 ? -1 : diag_ipc_connect_in(tmp, t, deadline_ms, e);
}

static int receive_environment(struct diag_exchange *x, struct diag_environment *environment, int64_t deadline_ms, struct err *e)
{
	uint8_t chunk[8192];
	while (environment->missing > 0) {
		size_t want = environment->missing < sizeof chunk ? environment->missing : sizeof chunk;
		ssize_t n = diag_exchange_more(x, chunk, want, deadline_ms, e);
		if (n < 0 || diag_environment_feed(environment, chunk, (size_t)n, e) < 0)
			return -1;
	}
	return 0;
}

static int environment_of(struct diag_exchange *x, struct buf *out, int64_t deadline_ms, struct err *e)
{
	struct diag_environment environment;
	size_t len;
	uint32_t size;
	const uint8_t *payload = diag_exchange_payload(x, &len);
	if (diag_exchange_ok(x, "the environment was refused", e) < 0 || diag_decode_environment_size(payload, len, &size, e) < 0)
		return -1;
	int r = diag_environment_init(&environment, size, e);
	if (r == 0)
		r = receive_environment(x, &environment, deadline_ms, e);
	if (r == 0)
		*out = environment.kept;
	if (r == 0)
		environment.kept = (struct buf){0};
	diag_environment_fini(&environment);
	return r;
}

int diag_ipc_environment(int fd, struct buf *out, int64_t deadline_ms, struct err *e)
{
	struct diag_exchange x;
	*out = (struct buf){0};
	diag_exchange_init_question(&x, fd, DIAG_PROCESS_ENVIRONMENT);
	int r = diag_exchange_run(&x, deadline_ms, e);
	if (r == 0)
		r = environment_of(&x, out, deadline_ms, e);
	diag_exchange_fini(&x);
	return r;
}

static int check_attached(const struct diag_exchange *x, struct err *e)
{
	size_t len;
	const uint8_t *payload = diag_exchange_payload(x, &len);
	if (x->header.set != DIAG_SET_SERVER || (x->header.command != DIAG_SERVER_OK && x->header.command != DIAG_SERVER_ERROR))
		return err_set(e, ERR_PROTOCOL, 0, "the diagnostics port replied to the attach with command 0x%02x 0x%02x",
			       x->header.set, x->header.command);
	uint32_t hresult = diag_decode_hresult(payload, len);
	if (x->header.command == DIAG_SERVER_OK && (len < 4 || hresult < 0x80000000u))
		return 0;
	return diag_refusal(e, "the profiler was not attached", hresult);
}

int diag_ipc_attach(int fd, const uint8_t clsid[16], const char *library_inner_path, const uint8_t *client_data, size_t client_len,
		    int64_t attach_timeout_ms, int64_t deadline_ms, struct err *e)
{
	AUTO_BUF struct buf message;
	buf_init(&message, DIAG_MESSAGE_MAX);
	if (diag_encode_attach(&message, (uint32_t)attach_timeout_ms, clsid, library_inner_path, client_data, client_len, e) < 0)
		return -1;
	struct diag_exchange x;
	diag_exchange_init(&x, fd, message.data, message.len);
	int r = diag_exchange_step(&x, e);
	STEP("attach-asked");
	if (r >= 0)
		r = diag_exchange_run(&x, deadline_ms, e);
	if (r == 0)
		r = check_attached(&x, e);
	diag_exchange_fini(&x);
	return r;
}
