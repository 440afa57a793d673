/* heap_transport [MEGABYTES]: how soon a writer in one process is rid of so many bytes, 64 KiB at a time, which a reader in another one keeps
 * in fresh memory: through the ring of a heap walk (common/proto/heap_ring.h), and through a unix socket. The writer's time is what an
 * application would stand for. Prints the median of 7 runs of each, in turn. */
#include "agent/heap/heap_drain.h"
#include "common/base/clock.h"
#include "common/proto/heap_ring.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS 7
#define BLOCK HEAP_RING_BLOCK_BYTES

static void fill(uint8_t *block, uint32_t number)
{
	for (size_t i = 0; i < BLOCK; i += 8)
		memcpy(block + i, &(uint64_t){number * 31 + i}, 8);
}

static double write_ring(int fd, uint32_t blocks)
{
	struct heap_ring *r = mmap(NULL, HEAP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	uint32_t own = atomic_load(&r->written), end = own + blocks;
	int64_t begin = clock_mono_ns();

	for (; own != end; own++) {
		uint8_t *block;
		while (!(block = heap_ring_free_block(r, own))) {
			const struct timespec patience = {.tv_nsec = 2000000};
			atomic_store(&r->writing, 1);
			if (!heap_ring_free_block(r, own))
				syscall(SYS_futex, &r->taken, FUTEX_WAIT, own - HEAP_RING_BLOCKS, &patience, NULL, 0);
		}
		fill(block, own);
		if (heap_ring_put(r, own, BLOCK))
			syscall(SYS_futex, &r->written, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	return (double)(clock_mono_ns() - begin) / 1e6;
}

static double write_socket(int fd, uint32_t blocks)
{
	static uint8_t block[BLOCK];
	int64_t begin = clock_mono_ns();

	for (uint32_t own = 0; own < blocks; own++) {
		fill(block, own);
		for (size_t at = 0; at < BLOCK;) {
			ssize_t n = write(fd, block + at, BLOCK - at);
			if (n <= 0)
				abort();
			at += (size_t)n;
		}
	}
	return (double)(clock_mono_ns() - begin) / 1e6;
}

/* The writer is a process of its own; its time comes through a pipe. */
static pid_t start(double (*write_all)(int fd, uint32_t blocks), int fd, uint32_t blocks, int result)
{
	pid_t pid = fork();

	if (pid == 0) {
		double ms = write_all(fd, blocks);
		_exit(write(result, &ms, sizeof ms) != (ssize_t)sizeof ms);
	}
	return pid;
}

static double by_ring(uint32_t blocks)
{
	struct heap_store s;
	struct heap_drain *d = heap_drain_new(NULL);
	int result[2];
	double ms;

	if (!d || pipe(result))
		abort();
	heap_store_init(&s, -1, SIZE_MAX / 2, SIZE_MAX / 2);
	heap_store_prefault(&s, (size_t)blocks * BLOCK);
	pid_t pid = start(write_ring, heap_drain_fd(d), blocks, result[1]);
	heap_drain_start(d, &s, NULL);
	waitpid(pid, NULL, 0);
	heap_drain_finish(d, NULL);
	if (s.len != (size_t)blocks * BLOCK || read(result[0], &ms, sizeof ms) != (ssize_t)sizeof ms)
		abort();
	heap_store_fini(&s);
	heap_drain_free(d);
	close(result[0]);
	close(result[1]);
	return ms;
}

static double by_socket(uint32_t blocks)
{
	static uint8_t in[BLOCK];
	struct heap_store s;
	int pair[2], result[2];
	double ms;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || pipe(result))
		abort();
	heap_store_init(&s, -1, SIZE_MAX / 2, SIZE_MAX / 2);
	heap_store_prefault(&s, (size_t)blocks * BLOCK);
	pid_t pid = start(write_socket, pair[1], blocks, result[1]);
	close(pair[1]);
	for (ssize_t n; s.len < (size_t)blocks * BLOCK && (n = read(pair[0], in, sizeof in)) > 0;)
		heap_store_append(&s, in, (size_t)n, NULL);
	waitpid(pid, NULL, 0);
	if (s.len != (size_t)blocks * BLOCK || read(result[0], &ms, sizeof ms) != (ssize_t)sizeof ms)
		abort();
	heap_store_fini(&s);
	close(pair[0]);
	close(result[0]);
	close(result[1]);
	return ms;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	uint32_t blocks = (argc > 1 ? (uint32_t)atoi(argv[1]) : 100) * 16;
	double ring[RUNS], unix_socket[RUNS];
	static uint8_t block[BLOCK];

	for (int i = 0; i < RUNS; i++) {
		ring[i] = by_ring(blocks);
		unix_socket[i] = by_socket(blocks);
	}
	int64_t begin = clock_mono_ns();
	for (uint32_t i = 0; i < blocks; i++)
		fill(block, i);
	double nothing = (double)(clock_mono_ns() - begin) / 1e6;
	qsort(ring, RUNS, sizeof *ring, by_size);
	qsort(unix_socket, RUNS, sizeof *unix_socket, by_size);
	printf("%u MB: ring %.1f ms (least %.1f), socket %.1f ms (least %.1f); filling the blocks alone %.1f ms\n", blocks / 16, ring[RUNS / 2],
	       ring[0], unix_socket[RUNS / 2], unix_socket[0], nothing);
	return 0;
}
