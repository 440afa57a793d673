#include "profiler/requests/server_sockets.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SMALL 4096

struct seen {
	unsigned count, full;
	uint16_t port; /* of the full one's other end */
};

static void note_seen(const struct server_socket *s, void *ctx)
{
	struct seen *x = ctx;

	x->count++;
	if (!s->facts->notsent_bytes)
		return;
	x->full++;
	x->port = s->peer_port;
	cr_expect(server_sockets_is(s) && !s->is_port_shared);
}

static uint16_t port_of_client(int fd)
{
	struct sockaddr_in at;
	socklen_t len = sizeof at;

	cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	return ntohs(at.sin_port);
}

struct made {
	unsigned count;
	uint16_t port;
	uint8_t address[SERVER_SOCKETS_ADDRESS];
};

static void note_made(const struct server_socket *s, void *ctx)
{
	struct made *x = ctx;

	x->count++;
	x->port = s->peer_port;
	memcpy(x->address, s->peer_address, sizeof x->address);
}

/* An emulator tells less than a kernel. */
static bool is_all_told(int fd)
{
	struct tcp_facts t;
	socklen_t len = sizeof t;
	return getsockopt(fd, IPPROTO_TCP, 11 /* TCP_INFO */, &t, &len) == 0 && len >= offsetof(struct tcp_facts, delivery_rate);
}

/* Of two connections to a port of this process, one's client reads nothing; the clients' own ends are no connections to its ports. */
Test(server_sockets, what_a_client_does_not_read)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	struct seen seen = {0};
	char block[SMALL] = {0};
	int served[2], clients[2], small = SMALL, listener = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 4) == 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	for (int i = 0; i < 2; i++) {
		clients[i] = socket(AF_INET, SOCK_STREAM, 0);
		cr_assert_eq(setsockopt(clients[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
		cr_assert_eq(connect(clients[i], (struct sockaddr *)&at, sizeof at), 0);
		served[i] = accept(listener, NULL, NULL);
	}
	if (!is_all_told(served[0]))
		return;
	while (send(served[1], block, sizeof block, MSG_DONTWAIT) > 0)
		;
	server_sockets_list();
	server_sockets_each(note_seen, &seen);
	cr_expect(seen.count == 2 && seen.full == 1, "%u %u", seen.count, seen.full);
	cr_expect_eq(seen.port, port_of_client(clients[1]));
	struct made made = {0};
	server_sockets_each_made(note_made, &made);
	cr_expect_eq(made.count, 0, "to itself: %u", made.count);
	close(listener);
	server_sockets_list();
	seen = (struct seen){0};
	server_sockets_each(note_seen, &seen);
	cr_expect_eq(seen.count, 0, "nobody listens at that port any more");
	server_sockets_each_made(note_made, &made);
	static const uint8_t loopback[SERVER_SOCKETS_ADDRESS] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
	cr_expect_eq(made.count, 4, "as if another process had the port: both ends of both, %u", made.count);
	cr_expect_arr_eq(made.address, loopback, sizeof loopback);
}
