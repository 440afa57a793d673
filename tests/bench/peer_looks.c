/* peer_looks [SECONDS [CONNECTIONS...]]: what looks at the connections that a process has made cost the library's own thread, as a session takes them
 * (profiler/requests/answers.h): with so many connections, to as many addresses, each of which owes an answer, which is the dearest case. Prints what
 * a list of the descriptors and a look take, and what all of it is a second, as CPU time. `make bench-peers`. */
#include "profiler/base/channel_io.h"
#include "profiler/base/now.h"
#include "profiler/requests/answers.h"
#include "profiler/requests/peers.h"
#include "profiler/requests/server_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_NS 20000000
#define HOSTS 250
#define TIMES 20

static struct channel_io io;

static struct sockaddr_in address_of(unsigned i, uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(0x7f010001u + i / HOSTS * 256 + i % HOSTS)};
}

/* Takes all connections and says nothing. */
static pid_t start_server(int listener)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (accept(listener, NULL, NULL) >= 0)
		;
	_exit(1);
}

static int listen_anywhere(uint16_t *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 4096) < 0 || getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		return -1;
	*port = ntohs(at.sin_port);
	return fd;
}

static bool connect_all(unsigned count, uint16_t port)
{
	for (unsigned i = 0; i < count; i++) {
		struct sockaddr_in to = address_of(i, port);
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0 || send(fd, "?", 1, 0) != 1)
			return false;
	}
	return true;
}

static void drain(int fd)
{
	static char bytes[1 << 16];

	while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
		;
}

static double list_us(void)
{
	uint64_t cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < TIMES; i++)
		server_sockets_list();
	return (double)(now_of(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) / 1e3 / TIMES;
}

static double look_us(int other_end)
{
	uint64_t took_ns = 0;

	for (int i = 0; i < TIMES; i++) {
		uint64_t cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID);
		peers_look(&io, now_ns());
		took_ns += now_of(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
		channel_io_flush(&io);
		drain(other_end);
	}
	return (double)took_ns / 1e3 / TIMES;
}

struct looks_cost {
	uint64_t looks, cpu_ns;
};

/* As requests_tick() has them made. */
static struct looks_cost take_looks(uint64_t for_ns, int other_end)
{
	const uint64_t began_ns = now_ns();
	struct looks_cost c = {0};

	answers_reset();
	while (now_ns() - began_ns < for_ns) {
		uint64_t cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID);
		answers_look(&io, now_ns());
		c.cpu_ns += now_of(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
		c.looks += io.out_len > 0;
		channel_io_flush(&io);
		drain(other_end);
		nanosleep(&(struct timespec){0, TICK_NS}, NULL);
	}
	return c;
}

static int measure(unsigned connections, unsigned seconds)
{
	uint16_t port = 0;
	int listener = listen_anywhere(&port), ends[2];
	pid_t server = listener < 0 ? -1 : start_server(listener);

	if (server < 0)
		return 1;
	close(listener);
	if (!connect_all(connections, port) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0) {
		fprintf(stderr, "%u connections: %s\n", connections, strerror(errno));
		return 1;
	}
	io.fd = ends[0];
	io.passed_fd = io.give_up_fd = -1;
	double list = list_us(), look = look_us(ends[1]);
	struct looks_cost c = take_looks(seconds * UINT64_C(1000000000), ends[1]);
	printf("%6u connections: a list %8.1f us, a look %8.1f us; %4.1f looks and %5.2f ms of CPU time a second\n", connections, list, look,
	       (double)c.looks / seconds, (double)c.cpu_ns / 1e6 / seconds);
	fflush(stdout);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return 0;
}

/* Each in a process of its own. */
static int measure_apart(unsigned connections, unsigned seconds)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(measure(connections, seconds));
	return pid < 0 || waitpid(pid, &status, 0) < 0 || status ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const unsigned usual[] = {1, 16, 100, 1000, 10000};
	const struct rlimit many = {65536, 65536};
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
	int failed = 0;

	setrlimit(RLIMIT_NOFILE, &many);
	if (!seconds) {
		fprintf(stderr, "usage: peer_looks [SECONDS [CONNECTIONS...]]\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		failed |= measure_apart((unsigned)atoi(argv[i]), seconds);
	for (size_t i = 0; argc <= 2 && i < sizeof usual / sizeof *usual; i++)
		failed |= measure_apart(usual[i], seconds);
	return failed;
}
