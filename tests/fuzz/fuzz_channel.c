/* The agent's end of the profiler channel against a library (or whoever got at its socket) that says anything. First byte: which
 * request waits for an answer when the bytes arrive, and whether they begin with the hello or come after a right one. */
#include "agent/attach/profiler_channel.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/proto/channel.h"
#include "tests/fuzz/fuzz_tools.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define IP_COUNT 3
#define OWN_HELLO 0x80
#define MAX_INPUT 131072 /* less than a socket buffers: nothing here waits */

static int folder = -1;
static char folder_path[] = "/tmp/drdotnet-fuzz-XXXXXX";

static void remove_folder(void)
{
	rmdir(folder_path);
}

static void make_folder(void)
{
	check(mkdtemp(folder_path) != NULL);
	folder = open(folder_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	check(folder >= 0);
	atexit(remove_folder);
}

static int connect_to(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int big = 4 * MAX_INPUT, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder_path, name);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &big, sizeof big);
	check(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0);
	return fd;
}

static void send_hello(const struct profiler_channel *ch, int fd)
{
	uint8_t data[CHANNEL_CLIENT_DATA_MAX], frame[256];
	struct channel_client_data d;
	struct channel_hello h = {.version = CHANNEL_VERSION, .flags = CHANNEL_NOTIFICATION_ONLY, .runtime_major = 10};
	struct wire_writer w;

	ssize_t n = profiler_channel_client_data(ch, "/tmp/s", data, sizeof data, NULL);
	check(n > 0 && channel_get_client_data(data, (size_t)n, &d));
	memcpy(h.nonce, d.nonce, sizeof h.nonce);
	channel_begin(&w, frame, sizeof frame, CHANNEL_HELLO);
	channel_put_hello(&w, &h);
	size_t len = channel_end(&w);
	check(send(fd, frame, len, MSG_NOSIGNAL) == (ssize_t)len);
}

static void check_function(const struct resolved_function *f)
{
	if (!f)
		return;
	check(f->function_id != 0);
	const char *names[] = {f->module, f->type, f->type_args, f->method, f->method_args, f->params};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		check_name(names[i]);
}

static void on_sample(void *ctx, const struct channel_sample *s)
{
	uint64_t *sum = ctx;

	check(s->depth <= CHANNEL_MAX_DEPTH);
	for (uint16_t i = 0; i < s->depth; i++)
		*sum += s->ips[i];
}

static void request(struct profiler_channel *ch, unsigned which)
{
	static const uint64_t ips[IP_COUNT] = {0x1000, 0x2000, 0x3000};
	const struct resolved_function *out[IP_COUNT];
	const struct channel_collection *collections;
	struct channel_stats stats;
	struct err e = ERR_INIT;
	size_t count;
	uint64_t sum = 0;
	int r = 0;

	switch (which % 6) {
	case 0:
		r = profiler_channel_resolve(ch, ips, IP_COUNT, out, 0, &e);
		for (size_t i = 0; i < IP_COUNT; i++)
			check_function(out[i]);
		break;
	case 1:
		r = profiler_channel_sample_start(ch, 99, 0, &e);
		break;
	case 2:
		r = profiler_channel_sample_stop(ch, 0, &e);
		break;
	case 3:
		r = profiler_channel_detach(ch, &stats, 0, &e);
		break;
	case 4:
		r = profiler_channel_collections(ch, &collections, &count, 0, &e);
		for (size_t i = 0; r >= 0 && i < count; i++)
			check(collections[i].start_ns <= collections[i].end_ns);
		break;
	default:
		r = profiler_channel_poll(ch, on_sample, &sum, 0, &e);
	}
	check(r >= 0 || e.kind != 0);
	check(r < 0 || e.kind == 0);
	check(strlen(e.message) < sizeof e.message);
	check_name(e.message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;

	if (size == 0 || size > MAX_INPUT)
		return 0;
	if (folder < 0)
		make_folder();
	struct profiler_channel *ch = profiler_channel_listen(folder, "s", NULL);
	check(ch != NULL);
	int fd = connect_to("s");
	unlinkat(folder, "s", 0);
	if (!(data[0] & OWN_HELLO))
		send_hello(ch, fd);
	check(size == 1 || send(fd, data + 1, size - 1, MSG_NOSIGNAL) == (ssize_t)size - 1);
	shutdown(fd, SHUT_WR);
	/* A stranger's hello never has the nonce: 16 bytes of the kernel's generator. */
	int accepted = profiler_channel_accept(ch, 0, clock_mono_ms(), &e);
	check((accepted < 0) == !!(data[0] & OWN_HELLO));
	check(accepted == 0 || e.kind == ERR_TIMEOUT || e.kind == ERR_PROTOCOL);
	for (unsigned i = 0; accepted == 0 && i < 8; i++)
		request(ch, (data[0] & 0x7f) + i);
	profiler_channel_free(ch);
	close(fd);
	return 0;
}
