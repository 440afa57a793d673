#include "agent/locks/wait_peer.h"

#include "common/base/cleanup.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINES_MAX 200000 /* of a table of connections */

/* Calls whose first argument is a descriptor, and that wait for the other end. */
static bool is_descriptor_call(int64_t system_call)
{
	static const int calls[] = {SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg, SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg, SYS_connect};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (system_call == calls[i])
			return true;
	return false;
}

static bool is_poll(int64_t system_call)
{
#ifdef SYS_poll
	if (system_call == SYS_poll)
		return true;
#endif
	return system_call == SYS_ppoll;
}

/* -1: none, or more than one. */
static int descriptor_of(const struct process_memory *m, const struct thread_wait *t)
{
	struct pollfd p;
	if (is_descriptor_call(t->system_call) && t->arguments[0] <= INT32_MAX)
		return (int)t->arguments[0];
	if (is_poll(t->system_call) && t->arguments[1] == 1 && process_memory_whole(m, t->arguments[0], &p, sizeof p))
		return p.fd;
	return -1;
}

/* "0100007F:1538", in the order of the machine's words; 8 or 32 digits. */
static bool format_peer(const char *hex, unsigned port, char out[WAIT_PEER_BYTES])
{
	uint32_t words[4] = {0};
	size_t digits = strspn(hex, "0123456789abcdefABCDEF");
	char text[INET6_ADDRSTRLEN] = "";
	if (digits != 8 && digits != 32)
		return false;
	for (size_t i = 0; i < digits / 8; i++) {
		char word[9] = {0};
		memcpy(word, hex + 8 * i, 8);
		words[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	bool mapped = digits == 32 && !words[0] && !words[1] && ntohl(words[2]) == 0xffff; /* ::ffff:10.0.3.7 */
	if (digits == 8 || mapped)
		inet_ntop(AF_INET, &words[digits == 8 ? 0 : 3], text, sizeof text);
	else
		inet_ntop(AF_INET6, words, text, sizeof text);
	out[0] = '\0';
	if (port)
		snprintf(out, WAIT_PEER_BYTES, strchr(text, ':') ? "[%s]:%u" : "%s:%u", text, port);
	return true;
}

uint64_t wait_peer_parse_line(const char *line, char out[WAIT_PEER_BYTES])
{
	char address[40];
	unsigned port;
	uint64_t inode;
	out[0] = '\0';
	if (sscanf(line, " %*u: %*39[0-9a-fA-F]:%*x %39[0-9a-fA-F]:%4x %*x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64, address, &port, &inode) != 3 ||
	    !format_peer(address, port, out))
		return 0;
	return inode;
}

static void find_connection(int proc_fd, const char *table, uint64_t inode, char out[WAIT_PEER_BYTES])
{
	char line[512], peer[WAIT_PEER_BYTES];
	int fd = openat(proc_fd, table, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f && fd >= 0)
		close(fd);
	for (int i = 0; f && i < LINES_MAX && fgets(line, sizeof line, f); i++) {
		if (wait_peer_parse_line(line, peer) != inode)
			continue;
		memcpy(out, peer, sizeof peer);
		break;
	}
	if (f)
		fclose(f);
}

void wait_peer_of(const struct process_memory *m, int proc_fd, const struct thread_wait *t, char out[WAIT_PEER_BYTES])
{
	char path[32], target[64] = {0};
	int fd = descriptor_of(m, t);
	uint64_t inode = 0;
	out[0] = '\0';
	snprintf(path, sizeof path, "fd/%d", fd);
	if (fd < 0 || readlinkat(proc_fd, path, target, sizeof target - 1) < 0 || sscanf(target, "socket:[%" SCNu64 "]", &inode) != 1 || !inode)
		return;
	find_connection(proc_fd, "net/tcp", inode, out);
	if (!out[0])
		find_connection(proc_fd, "net/tcp6", inode, out);
}
