/* Context: own thread. */
#include "profiler/requests/server_sockets.h"

#include "profiler/base/linux_dirent.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(offsetof(struct tcp_facts, bytes_received) == 128 && offsetof(struct tcp_facts, window_limited_us) == 176, "as the kernel has it");

#define STATE_ESTABLISHED 1
#define LEAST_BYTES offsetof(struct tcp_facts, delivery_rate) /* of Linux 4.6 */

static uint16_t ports[SERVER_SOCKETS_PORTS];
static unsigned port_count;

static int descriptor_of(const char *name)
{
	int fd = 0;

	if (*name < '0' || *name > '9')
		return -1;
	for (; *name >= '0' && *name <= '9'; name++)
		fd = fd > 1000000 ? -1 : fd * 10 + (*name - '0');
	return fd;
}

typedef void descriptor_fn(int fd, void *ctx);

static void each_descriptor(descriptor_fn *fn, void *ctx)
{
	_Alignas(8) static char buf[8192];
	unsigned seen = 0;
	long n;

	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	while (seen < SERVER_SOCKETS_DESCRIPTORS && (n = syscall(SYS_getdents64, dir, buf, sizeof buf)) > 0)
		for (long i = 0; i < n; seen++) {
			const struct linux_dirent64 *d = (const struct linux_dirent64 *)(buf + i);
			int fd = descriptor_of(d->name);
			if (fd >= 0)
				fn(fd, ctx);
			i += d->size;
		}
	close(dir);
}

/* The port of our end (SYS_getsockname) or the other one (SYS_getpeername), as the network has it; 0: it is no socket of TCP. */
static uint16_t port_of(long call, int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage all;
	} name;
	socklen_t len = sizeof name;

	if (syscall(call, fd, &name.any, &len) < 0)
		return 0;
	if (name.any.sa_family == AF_INET)
		return name.v4.sin_port;
	return name.any.sa_family == AF_INET6 ? name.v6.sin6_port : 0;
}

static struct socket_place { /* one that may be of a connection to an own port */
	int fd;
	uint16_t port, peer_port; /* as the network has it */
	bool is_port_shared;
} places[SERVER_SOCKETS_MOST];
static unsigned place_count;

static void note_socket(int fd, void *unused)
{
	int listens = 0;
	socklen_t len = sizeof listens;

	(void)unused;
	if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0)
		return;
	uint16_t port = port_of(SYS_getsockname, fd);
	if (listens && port && port_count < SERVER_SOCKETS_PORTS)
		ports[port_count++] = port;
	uint16_t peer_port = listens || !port ? 0 : port_of(SYS_getpeername, fd);
	if (peer_port && place_count < SERVER_SOCKETS_MOST)
		places[place_count++] = (struct socket_place){.fd = fd, .port = port, .peer_port = peer_port};
}

static bool is_own_port(uint16_t port)
{
	for (unsigned i = 0; i < port_count; i++)
		if (ports[i] == port)
			return true;
	return false;
}

static void note_shared_ports(void)
{
	static uint8_t met[65536 / 8], twice[65536 / 8];

	memset(met, 0, sizeof met);
	memset(twice, 0, sizeof twice);
	for (unsigned i = 0; i < place_count; i++) {
		uint8_t bit = (uint8_t)(1 << places[i].peer_port % 8);
		twice[places[i].peer_port / 8] |= met[places[i].peer_port / 8] & bit;
		met[places[i].peer_port / 8] |= bit;
	}
	for (unsigned i = 0; i < place_count; i++)
		places[i].is_port_shared = twice[places[i].peer_port / 8] >> places[i].peer_port % 8 & 1;
}

void server_sockets_list(void)
{
	unsigned kept = 0;

	port_count = place_count = 0;
	each_descriptor(note_socket, NULL);
	for (unsigned i = 0; i < place_count; i++)
		if (is_own_port(places[i].port))
			places[kept++] = places[i];
	place_count = kept;
	note_shared_ports();
}

void server_sockets_each(server_socket_fn *fn, void *ctx)
{
	for (unsigned i = 0; i < place_count; i++) {
		struct tcp_facts t = {0};
		socklen_t len = sizeof t;
		const struct server_socket s = {places[i].fd, ntohs(places[i].peer_port), places[i].is_port_shared, &t};
		if (syscall(SYS_getsockopt, s.fd, IPPROTO_TCP, 11 /* TCP_INFO */, &t, &len) == 0 && len >= LEAST_BYTES && t.state == STATE_ESTABLISHED)
			fn(&s, ctx);
	}
}

bool server_sockets_is(const struct server_socket *s)
{
	return ntohs(port_of(SYS_getpeername, s->fd)) == s->peer_port;
}
