#include "agent/locks/wait_peer.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REST " 01 00000000:00000000 02:000001F4 00000000  1000        0 4711 2 ffff 20 4 30 10 -1\n"

Test(wait_peer, lines_of_both_tables)
{
	static const struct {
		const char *line, *peer;
	} rows[] = {
		{"   1: 0100007F:A2C4 0703000A:1538" REST, "10.0.3.7:5432"},
		{"   0: 00000000:1F90 00000000:0000" REST, ""}, /* it listens */
		{"   2: 0000000000000000FFFF00000100007F:A2C4 0000000000000000FFFF00000703000A:1538" REST, "10.0.3.7:5432"}, /* IPv4 over a socket for both */
		{"   3: 00000000000000000000000001000000:A2C4 000000FD000000000000000007000000:1538" REST, "[fd00::7]:5432"},
	};
	char peer[WAIT_PEER_BYTES];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_assert_eq(wait_peer_parse_line(rows[i].line, peer), 4711, "row %zu", i);
		cr_assert_str_eq(peer, rows[i].peer, "row %zu", i);
	}
}

Test(wait_peer, other_lines_are_none)
{
	static const char *const lines[] = {
		"", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n",
		"   1: 0100007F:A2C4 0703000A:1538 01\n",
		"   1: 0100007F:A2C4 0703000:1538 01 0:0 0:0 0 0 0 4711\n", "   1: zz:A2C4 0703000A:1538 01 0:0 0:0 0 0 0 4711\n",
	};
	char peer[WAIT_PEER_BYTES];
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		cr_assert_eq(wait_peer_parse_line(lines[i], peer), 0, "%s", lines[i]);
}

/* A connection of our own: it is found by the descriptor of a call that would wait for it. */
Test(wait_peer, of_a_connection_that_is_there)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof a;
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), proc = open("/proc/self", O_RDONLY | O_DIRECTORY);
	cr_assert_eq(bind(listener, (struct sockaddr *)&a, sizeof a), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&a, &size), 0);
	cr_assert_eq(connect(client, (struct sockaddr *)&a, sizeof a), 0);
	char expected[64], peer[WAIT_PEER_BYTES];
	snprintf(expected, sizeof expected, "127.0.0.1:%u", ntohs(a.sin_port));
	struct thread_wait t = {.system_call = SYS_recvfrom, .arguments = {(uint64_t)client}};
	const struct process_memory none = {0};
	wait_peer_of(&none, proc, &t, peer);
	cr_assert_str_eq(peer, expected);
	t.arguments[0] = (uint64_t)proc;
	wait_peer_of(&none, proc, &t, peer);
	cr_assert_str_eq(peer, "", "a folder has no other end");
	t = (struct thread_wait){.system_call = SYS_futex, .arguments = {(uint64_t)client}};
	wait_peer_of(&none, proc, &t, peer);
	cr_assert_str_eq(peer, "");
	close(listener);
	close(client);
	close(proc);
}
