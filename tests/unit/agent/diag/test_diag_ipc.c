#include "agent/diag/diag_codec.h"
#include "agent/diag/diag_environment.h"
#include "agent/diag/diag_exchange.h"
#include "agent/diag/diag_ipc.h"
#include "agent/diag/diag_socket.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "tests/unit/agent/host/fake_proc.h"

static struct fake_proc proc;
static char folder[512];

static void setup(void)
{
	fake_proc_init(&proc);
	fake_path(&proc, folder, "tmp");
	mkdir(folder, 0777);
}

static void teardown(void)
{
	fake_proc_fini(&proc);
}

TestSuite(diag_ipc, .init = setup, .fini = teardown, .timeout = 20);

static struct fake_server serve(enum fake_behaviour how)
{
	char path[600];
	struct fake_server s = fake_server(&proc, how, 1);
	snprintf(path, sizeof path, "%s/sock", folder);
	unlink(path);
	fake_serve_at(&s, path);
	return s;
}

static int dial(pid_t pid, int64_t wait_ms, struct err *e)
{
	AUTO_FD int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return diag_socket_connect(dir, "sock", (uid_t)-1, pid, clock_mono_ms() + wait_ms, e);
}

static const struct {
	enum fake_behaviour how;
	bool ok;
	enum err_kind kind;
} servers[] = {
	{FAKE_ANSWERS, true, 0},
	{FAKE_TRICKLES, true, 0},
	{FAKE_SILENT, false, ERR_TIMEOUT},
	{FAKE_HUGE, false, ERR_TIMEOUT},
	{FAKE_CLOSES, false, ERR_GONE},
	{FAKE_GARBAGE, false, ERR_PROTOCOL},
	{FAKE_SHORT, false, ERR_PROTOCOL},
	{FAKE_ENDLESS_COUNT, false, ERR_PROTOCOL},
	{FAKE_REFUSES, false, ERR_INTERNAL},
	{FAKE_OLD_RUNTIME, false, ERR_INVALID},
};

static int ask_process_info(int fd, struct diag_process_info *out, int64_t deadline_ms, struct err *e)
{
	struct diag_exchange x;
	diag_exchange_init_question(&x, fd, DIAG_PROCESS_INFO3);
	int r = diag_exchange_run(&x, deadline_ms, e);
	if (r == 0)
		r = diag_exchange_process_info(&x, DIAG_PROCESS_INFO3, out, e);
	diag_exchange_fini(&x);
	return r;
}

Test(diag_ipc, asks_any_kind_of_server)
{
	for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
		struct fake_server s = serve(servers[i].how);
		struct err e = ERR_INIT;
		struct diag_process_info info;
		AUTO_FD int fd = dial(s.pid, 1000, &e);
		cr_assert_geq(fd, 0, "%s", e.message);
		int64_t began = clock_mono_ms();
		int r = ask_process_info(fd, &info, began + 300, &e);
		cr_expect_lt(clock_mono_ms() - began, 1500);
		cr_expect_eq(r, servers[i].ok ? 0 : -1, "row %zu: %s", i, e.message);
		if (r == 0) {
			cr_expect_str_eq(info.entrypoint, "Shop");
			cr_expect_eq(info.pid, 1);
			diag_process_info_fini(&info);
			diag_process_info_fini(&info);
		} else {
			cr_expect_eq(e.kind, servers[i].kind, "row %zu: %s: %s", i, err_kind_name(e.kind), e.message);
		}
	}
}

Test(diag_ipc, checks_who_listens)
{
	struct fake_server s = serve(FAKE_ANSWERS);
	struct err e = ERR_INIT;
	cr_expect_eq(dial(s.pid + 1, 100, &e), -1);
	cr_expect_eq(e.kind, ERR_PROTOCOL);
	AUTO_FD int any = dial(0, 100, &e);
	cr_expect_geq(any, 0);
}

Test(diag_ipc, says_when_nobody_listens)
{
	char path[600];
	struct err e = ERR_INIT;
	cr_expect_eq(dial(0, 100, &e), -1);
	cr_expect_eq(e.kind, ERR_NOT_FOUND);
	snprintf(path, sizeof path, "%s/sock", folder);
	close(fake_listen(path));
	cr_expect_eq(dial(0, 100, &e), -1);
	cr_expect_eq(e.kind, ERR_GONE);
	unlink(path);
	cr_assert_eq(symlink("other", path), 0);
	cr_expect_eq(dial(0, 100, &e), -1);
	unlink(path);
	cr_assert_eq(mkfifo(path, 0666), 0);
	int64_t began = clock_mono_ms();
	cr_expect_eq(dial(0, 100, &e), -1);
	cr_expect_eq(e.kind, ERR_PROTOCOL);
	cr_expect_lt(clock_mono_ms() - began, 100, "a FIFO does not block");
}

Test(diag_ipc, does_not_wait_on_a_full_queue_for_ever)
{
	struct fake_server s = serve(FAKE_NEVER_ACCEPTS);
	int held[8], count = 0;
	struct err e = ERR_INIT;
	int64_t began = clock_mono_ms();
	while (count < 8 && (held[count] = dial(s.pid, 50, &e)) >= 0)
		count++;
	cr_assert_lt(count, 8, "the queue never filled");
	cr_expect_eq(e.kind, ERR_TIMEOUT, "%s", e.message);
	cr_expect_lt(clock_mono_ms() - began, 1000);
	while (count > 0)
		close(held[--count]);
}

static void put_environment(struct buf *out, const char *const *variables, size_t count)
{
	uint32_t n = (uint32_t)count;
	buf_append(out, &n, sizeof n);
	for (size_t i = 0; i < count; i++)
		fake_put_string(out, variables[i]);
}

/* The reply of a runtime that announces `announced` bytes, and the block. */
static void send_environment(int fd, uint8_t command, uint32_t announced, const struct buf *block)
{
	uint8_t reply[DIAG_HEADER_SIZE + 6] = {0};
	diag_encode_header(reply, sizeof reply, DIAG_SET_SERVER, command);
	memcpy(reply + DIAG_HEADER_SIZE, &announced, sizeof announced);
	cr_assert_eq(fsio_write_all(fd, reply, sizeof reply), 0);
	cr_assert_eq(fsio_write_all(fd, block->data, block->len), 0);
}

Test(diag_ipc, asks_for_the_environment)
{
	static const char *const variables[] = {"PATH=/bin", "CORECLR_ENABLE_PROFILING=1", "SECRET=x", "DOTNET_gcServer=1", "", "COMPlus_a=b"};
	static const char kept[] = "CORECLR_ENABLE_PROFILING=1\0DOTNET_gcServer=1\0COMPlus_a=b";
	int pair[2];
	uint8_t request[64];
	struct err e = ERR_INIT;
	AUTO_BUF struct buf out = {0};
	AUTO_BUF struct buf block;
	buf_init(&block, 4096);
	put_environment(&block, variables, sizeof variables / sizeof variables[0]);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	send_environment(pair[1], DIAG_SERVER_OK, (uint32_t)block.len, &block);
	cr_assert_eq(diag_ipc_environment(pair[0], &out, clock_mono_ms() + 5000, &e), 0, "%s", e.message);
	cr_expect_eq(out.len, sizeof kept);
	cr_expect_arr_eq(out.data, kept, sizeof kept);
	cr_expect_eq(recv(pair[1], request, sizeof request, 0), DIAG_HEADER_SIZE);
	cr_expect_arr_eq(request, "DOTNET_IPC_V1\0\x14\0\x04\x02\0\0", DIAG_HEADER_SIZE);
	close(pair[0]);
	close(pair[1]);
}

Test(diag_ipc, is_not_led_astray_by_a_word_of_the_environment)
{
	static const char *const one[] = {"A=1"};
	AUTO_BUF struct buf block;
	buf_init(&block, 4096);
	put_environment(&block, one, 1);
	const uint32_t right = (uint32_t)block.len;
	const struct {
		uint8_t command;
		uint32_t announced;
		bool closes;
		enum err_kind kind;
	} rows[] = {
		{DIAG_SERVER_OK, 0, true, ERR_PROTOCOL},		{DIAG_SERVER_OK, 3, true, ERR_PROTOCOL},
		{DIAG_SERVER_OK, right - 1, true, ERR_PROTOCOL},	{DIAG_SERVER_OK, right + 1, true, ERR_GONE},
		{DIAG_SERVER_OK, right + 1, false, ERR_TIMEOUT},	{DIAG_SERVER_OK, DIAG_ENVIRONMENT_MAX, true, ERR_GONE},
		{DIAG_SERVER_OK, DIAG_ENVIRONMENT_MAX + 1, true, ERR_PROTOCOL}, {DIAG_SERVER_OK, UINT32_MAX, true, ERR_PROTOCOL},
		{DIAG_SERVER_ERROR, DIAG_E_UNKNOWN_COMMAND, true, ERR_INVALID}, {0x17, right, true, ERR_PROTOCOL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int pair[2];
		struct err e = ERR_INIT;
		struct buf out;
		cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
		send_environment(pair[1], rows[i].command, rows[i].announced, &block);
		if (rows[i].closes)
			shutdown(pair[1], SHUT_WR);
		cr_expect_eq(diag_ipc_environment(pair[0], &out, clock_mono_ms() + (rows[i].closes ? 5000 : 50), &e), -1, "row %zu", i);
		cr_expect_eq(e.kind, rows[i].kind, "row %zu: %s: %s", i, err_kind_name(e.kind), e.message);
		buf_fini(&out);
		close(pair[0]);
		close(pair[1]);
	}
}

Test(diag_ipc, reads_the_answer_to_an_attach)
{
	static const struct {
		uint8_t command;
		uint32_t hresult;
		const char *reason; /* NULL: attached */
		enum err_kind kind;
	} rows[] = {
		{DIAG_SERVER_OK, 0, NULL, 0},
		{DIAG_SERVER_OK, 1, NULL, 0},
		{DIAG_SERVER_OK, 0x8013136Au, "ProfilerAlreadyActive", ERR_CONFLICT},
		{DIAG_SERVER_ERROR, 0x8013136Au, "ProfilerAlreadyActive", ERR_CONFLICT},
		{DIAG_SERVER_ERROR, 0x80131515u, "DiagnosticsDisabled", ERR_INVALID},
		{DIAG_SERVER_ERROR, 0x8007007Eu, "AttachFailed", ERR_INTERNAL},
		{0x17, 0, "", ERR_PROTOCOL},
	};
	static const uint8_t clsid[16] = {9};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int pair[2];
		uint8_t reply[DIAG_HEADER_SIZE + 4], request[256];
		struct err e = ERR_INIT;
		cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
		diag_encode_header(reply, sizeof reply, DIAG_SET_SERVER, rows[i].command);
		memcpy(reply + DIAG_HEADER_SIZE, &rows[i].hresult, 4);
		cr_assert_eq(fsio_write_all(pair[1], reply, sizeof reply), 0);
		int r = diag_ipc_attach(pair[0], clsid, "/tmp/x.so", (const uint8_t *)"abc", 3, 500, clock_mono_ms() + 1000, &e);
		cr_expect_eq(r, rows[i].reason ? -1 : 0, "row %zu: %s", i, e.message);
		if (rows[i].reason && *rows[i].reason)
			cr_expect_str_eq(e.reason, rows[i].reason);
		if (rows[i].reason)
			cr_expect_eq(e.kind, rows[i].kind, "row %zu", i);
		if (rows[i].reason && *rows[i].reason)
			cr_expect_eq((uint32_t)e.code, rows[i].hresult);
		cr_expect_eq(recv(pair[1], request, sizeof request, 0), 20 + 4 + 16 + 4 + 20 + 4 + 3);
		close(pair[0]);
		close(pair[1]);
	}
}
