#include "agent/host/listening.h"

#include "agent/host/proc.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOCKETS_MAX 256
#define DESCRIPTORS_MAX 4096 /* looked at */
#define STATE_LISTEN 0x0a

struct listening_socket {
	int port;
	uint64_t inode;
};

bool listening_parse_line(const char *line, size_t len, int *port, uint64_t *inode)
{
	char text[256];
	unsigned local, state;
	uint64_t node;
	if (len >= sizeof text)
		len = sizeof text - 1;
	memcpy(text, line, len);
	text[len] = '\0';
	if (sscanf(text, " %*u: %*32[0-9A-F]:%4X %*32[0-9A-F]:%*4X %2X %*s %*s %*s %*u %*u %" SCNu64, &local, &state, &node) != 3 || state != STATE_LISTEN ||
	    local == 0 || node == 0)
		return false;
	*port = (int)local;
	*inode = node;
	return true;
}

static size_t read_sockets(int proc_fd, const char *file, struct listening_socket *out, size_t count)
{
	struct proc_lines lines;
	const char *line;
	size_t len;
	if (proc_lines_open(&lines, proc_fd, file) < 0)
		return count;
	while (count < SOCKETS_MAX && proc_lines_next(&lines, &line, &len))
		count += listening_parse_line(line, len, &out[count].port, &out[count].inode);
	proc_lines_close(&lines);
	return count;
}

static const struct listening_socket *socket_of(const struct listening_socket *all, size_t count, const char *link)
{
	static const char prefix[] = "socket:[";
	if (strncmp(link, prefix, sizeof prefix - 1) != 0)
		return NULL;
	uint64_t inode = strtoull(link + sizeof prefix - 1, NULL, 10);
	for (size_t i = 0; i < count; i++)
		if (all[i].inode == inode)
			return &all[i];
	return NULL;
}

int listening_port(int proc_fd)
{
	struct listening_socket sockets[SOCKETS_MAX];
	size_t count = proc_fd < 0 ? 0 : read_sockets(proc_fd, "net/tcp6", sockets, read_sockets(proc_fd, "net/tcp", sockets, 0));
	AUTO_DIR DIR *dir = count ? fsio_opendir_take(openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) : NULL;
	struct dirent *entry;
	int lowest = 0;
	for (int seen = 0; dir && seen < DESCRIPTORS_MAX && (entry = readdir(dir)); seen++) {
		char link[64];
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof link - 1);
		link[n > 0 ? n : 0] = '\0';
		const struct listening_socket *s = socket_of(sockets, count, link);
		if (s && (!lowest || s->port < lowest))
			lowest = s->port;
	}
	return lowest;
}
