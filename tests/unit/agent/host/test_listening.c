#include "agent/host/listening.h"
#include "agent/host/proc.h"
#include "common/base/cleanup.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD "   0: 0100007F:1F90 00000000:0000 "
#define TAIL " 00000000:00000000 00:00000000 00000000  1000        0 "

static const struct {
	const char *what, *line;
	int port; /* 0: none */
	uint64_t inode;
} lines[] = {
	{"listens", HEAD "0A" TAIL "424242 1 0000000000000000 100 0 0 10 0", 8080, 424242},
	{"IPv6", "  12: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A" TAIL "7 1", 80, 7},
	{"established", HEAD "01" TAIL "424242 1", 0, 0},
	{"its process has closed it", HEAD "0A" TAIL "0 1", 0, 0},
	{"the head of the file", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode", 0, 0},
	{"cut", HEAD "0A", 0, 0},
	{"empty", "", 0, 0},
};

Test(listening, lines)
{
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		int port = 0;
		uint64_t inode = 0;
		bool listens = listening_parse_line(lines[i].line, strlen(lines[i].line), &port, &inode);
		cr_expect(listens == (lines[i].port != 0), "%s", lines[i].what);
		cr_expect(port == lines[i].port && inode == lines[i].inode, "%s: %d", lines[i].what, port);
	}
}

Test(listening, a_process_and_its_port)
{
	AUTO_FD int self = proc_open(PROC_ROOT, getpid()), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	cr_expect_eq(listening_port(self), 0, "bound, and nobody is listened to");
	cr_assert_eq(listen(fd, 1), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	cr_expect_eq(listening_port(self), ntohs(at.sin_port));
	AUTO_FD int init = proc_open(PROC_ROOT, getppid());
	cr_expect_neq(listening_port(init), ntohs(at.sin_port), "another process of the same network has it not");
	cr_expect_eq(listening_port(-1), 0);
}
