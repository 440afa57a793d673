/* Context: own thread. */
#include "profiler/base/own_memory.h"

#include "common/proto/difference.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

static int fd = -1;
static int through[2] = {-1, -1}; /* a pipe */

/* A page at a time: of one that is not there nothing comes, and what is written always fits the pipe. */
static size_t read_through(uintptr_t from, uint8_t *to, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		size_t page = PAGE_BYTES - (from + done) % PAGE_BYTES, left = difference(bytes, done), part = left < page ? left : page;
		if (write(through[1], (const void *)(from + done), part) != (ssize_t)part || read(through[0], to + done, part) != (ssize_t)part)
			break;
		done += part;
	}
	return done;
}

static void close_one(int *d)
{
	if (*d >= 0)
		close(*d);
	*d = -1;
}

bool own_memory_open(void)
{
	uint8_t there = 1, read_back = 0;

	if (fd < 0)
		fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (fd < 0 && through[0] < 0 && syscall(SYS_pipe2, through, O_CLOEXEC | O_NONBLOCK) < 0)
		through[0] = through[1] = -1;
	return own_memory_read((uintptr_t)&there, &read_back, 1) == 1 && read_back == there;
}

void own_memory_close(void)
{
	close_one(&fd);
	close_one(&through[0]);
	close_one(&through[1]);
}

size_t own_memory_read(uintptr_t from, void *to, size_t bytes)
{
	if (from > INTPTR_MAX || (fd < 0 && through[0] < 0))
		return 0;
	if (fd < 0)
		return read_through(from, to, bytes);
	ssize_t n = pread(fd, to, bytes, (off_t)from);
	return n < 0 ? 0 : (size_t)n;
}
