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

/* The port of our end (SYS_getsockname) or the other one (SYS_getpeername), as the network has it; 0: it is no socket of TCP. `address`: of 16 bytes. */
static uint16_t name_of(long call, int fd, uint8_t *address)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage all;
	} name;
	socklen_t len = sizeof name;

	if (syscall(call, fd, &name.any, &len) < 0)
		return 0;
	if (name.any.sa_family == AF_INET) {
		memcpy(address, mapped, sizeof mapped);
		memcpy(address + sizeof mapped, &name.v4.sin_addr, sizeof name.v4.sin_addr);
		return name.v4.sin_port;
	}
	if (name.any.sa_family != AF_INET6)
		return 0;
	memcpy(address, &name.v6.sin6_addr, sizeof name.v6.sin6_addr);
	return name.v6.sin6_port;
}

static struct socket_place { /* of a connection: those to own ports first */
	int fd;
	uint8_t peer_address[SERVER_SOCKETS_ADDRESS];
	uint16_t port, peer_port; /* as the network has it */
	bool is_port_shared, is_inside;
} places[SERVER_SOCKETS_MOST];
static unsigned place_count, own_count;

static bool is_loopback(const uint8_t *address)
{
	static const uint8_t in_v4[13] = {[10] = 0xff, [11] = 0xff, [12] = 127}, in_v6[SERVER_SOCKETS_ADDRESS] = {[15] = 1};

	return memcmp(address, in_v4, sizeof in_v4) == 0 || memcmp(address, in_v6, sizeof in_v6) == 0;
}

static void note_socket(int fd, void *unused)
{
	int listens = 0;
	socklen_t len = sizeof listens;
	struct socket_place p = {.fd = fd};
	uint8_t address[SERVER_SOCKETS_ADDRESS];

	(void)unused;
	if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0)
		return;
	p.port = name_of(SYS_getsockname, fd, address);
	if (listens && p.port && port_count < SERVER_SOCKETS_PORTS)
		ports[port_count++] = p.port;
	p.peer_port = listens || !p.port ? 0 : name_of(SYS_getpeername, fd, p.peer_address);
	if (!p.peer_port || place_count == SERVER_SOCKETS_MOST)
		return;
	p.is_inside = memcmp(address, p.peer_address, sizeof address) == 0 || (is_loopback(address) && is_loopback(p.peer_address));
	places[place_count++] = p;
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
	for (unsigned i = 0; i < own_count; i++) {
		uint8_t bit = (uint8_t)(1 << places[i].peer_port % 8);
		twice[places[i].peer_port / 8] |= met[places[i].peer_port / 8] & bit;
		met[places[i].peer_port / 8] |= bit;
	}
	for (unsigned i = 0; i < own_count; i++)
		places[i].is_port_shared = twice[places[i].peer_port / 8] >> places[i].peer_port % 8 & 1;
}

/* Connections of the process to itself: whoever asks it there waits for its own requests. */
static void drop_inside(void)
{
	unsigned kept = own_count;

	for (unsigned i = own_count; i < place_count; i++)
		if (!places[i].is_inside || !is_own_port(places[i].peer_port))
			places[kept++] = places[i];
	place_count = kept;
}

void server_sockets_list(void)
{
	port_count = place_count = own_count = 0;
	each_descriptor(note_socket, NULL);
	for (unsigned i = 0; i < place_count; i++) {
		const struct socket_place p = places[i];
		if (!is_own_port(p.port))
			continue;
		places[i] = places[own_count];
		places[own_count++] = p;
	}
	note_shared_ports();
	drop_inside();
}

static void each_place(unsigned from, unsigned to, server_socket_fn *fn, void *ctx)
{
	for (unsigned i = from; i < to; i++) {
		struct tcp_facts t = {0};
		socklen_t len = sizeof t;
		const struct server_socket s = {places[i].fd, ntohs(places[i].peer_port), places[i].is_port_shared, &t, places[i].peer_address};
		if (syscall(SYS_getsockopt, s.fd, IPPROTO_TCP, 11 /* TCP_INFO */, &t, &len) == 0 && len >= LEAST_BYTES && t.state == STATE_ESTABLISHED)
			fn(&s, ctx);
	}
}

void server_sockets_each(server_socket_fn *fn, void *ctx)
{
	each_place(0, own_count, fn, ctx);
}

void server_sockets_each_made(server_socket_fn *fn, void *ctx)
{
	each_place(own_count, place_count, fn, ctx);
}

bool server_sockets_is(const struct server_socket *s)
{
	uint8_t address[SERVER_SOCKETS_ADDRESS];

	return ntohs(name_of(SYS_getpeername, s->fd, address)) == s->peer_port;
}
