#include "agent/locks/process_memory.h"

#include "agent/arch/arch.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static size_t read_memory_file(void *ctx, uint64_t address, void *out, size_t n)
{
	const struct process_memory *m = ctx;
	ssize_t got;
	if (address >= arch_ours.user_end || n > arch_ours.user_end - address)
		return 0;
	do
		got = pread(m->fd, out, n, (off_t)address);
	while (got < 0 && errno == EINTR);
	return got > 0 ? (size_t)got : 0;
}

int process_memory_open(struct process_memory *m, int proc_fd)
{
	*m = (struct process_memory){.read = read_memory_file, .ctx = m, .fd = openat(proc_fd, "mem", O_RDONLY | O_CLOEXEC)};
	return m->fd < 0 ? -1 : 0;
}

void process_memory_close(struct process_memory *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

size_t process_memory_read(const struct process_memory *m, uint64_t address, void *out, size_t n)
{
	return work_budget_spend(m->budget, 1 + n / WORK_STEP_BYTES) ? m->read(m->ctx, address, out, n) : 0;
}

bool process_memory_whole(const struct process_memory *m, uint64_t address, void *out, size_t n)
{
	return process_memory_read(m, address, out, n) == n;
}

uint64_t process_memory_word(const struct process_memory *m, uint64_t address)
{
	uint64_t word = 0;
	return process_memory_whole(m, address, &word, sizeof word) ? word : 0;
}
