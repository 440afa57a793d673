/* heap_transport [MEGABYTES [ROUNDS]]: how soon a writer in one process is rid of so many bytes, 64 KiB at a time, which a reader in another one
 * keeps in fresh memory: through the ring of a heap walk (common/proto/heap_ring.h), and through a unix socket. The writer's time is what an
 * application would stand for. Both ways in turns, every other time the other one first. Printed are the least and the median of each, their
 * processor time, and in how many rounds the ring was the faster one: were they alike, it would be in half of them. */
#include "agent/heap/heap_drain.h"
#include "common/base/clock.h"
#include "common/proto/heap_ring.h"

#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX 1000
#define BLOCK HEAP_RING_BLOCK_BYTES

struct took {
	double ms;            /* the writer, from the first byte to the last */
	double write_ms;      /* of processor time, of the writer */
	double read_ms;       /* of the reader */
};

static double cpu_ms(int who)
{
	struct rusage r;

	getrusage(who, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e3 + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e3;
}

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

/* The writer is a process of its own; what it took comes through a pipe. It waits there for a byte until all is ready: memory that was touched
 * before a fork would have to be copied at the first write to it. */
static pid_t start(double (*write_all)(int fd, uint32_t blocks), int fd, uint32_t blocks, int result[2])
{
	pid_t pid = fork();

	if (pid == 0) {
		char ready;
		if (read(result[0], &ready, 1) != 1)
			_exit(1);
		double before = cpu_ms(RUSAGE_SELF), ms = write_all(fd, blocks);
		struct took t = {.ms = ms, .write_ms = cpu_ms(RUSAGE_SELF) - before};
		_exit(write(result[1], &t, sizeof t) != (ssize_t)sizeof t);
	}
	return pid;
}

static struct took by_ring(uint32_t blocks)
{
	struct heap_store s;
	struct heap_drain *d = heap_drain_new(NULL);
	int result[2];
	struct took t;

	if (!d || pipe(result))
		abort();
	pid_t pid = start(write_ring, heap_drain_fd(d), blocks, result);
	heap_store_init(&s, -1, SIZE_MAX / 2, SIZE_MAX / 2);
	heap_store_prefault(&s, (size_t)blocks * BLOCK);
	double before = cpu_ms(RUSAGE_SELF);
	heap_drain_start(d, &s, NULL);
	if (write(result[1], "", 1) != 1)
		abort();
	waitpid(pid, NULL, 0);
	heap_drain_finish(d, NULL);
	double read_ms = cpu_ms(RUSAGE_SELF) - before;
	if (s.len != (size_t)blocks * BLOCK || read(result[0], &t, sizeof t) != (ssize_t)sizeof t)
		abort();
	t.read_ms = read_ms;
	heap_store_fini(&s);
	heap_drain_free(d);
	close(result[0]);
	close(result[1]);
	return t;
}

static struct took by_socket(uint32_t blocks)
{
	static uint8_t in[BLOCK];
	struct heap_store s;
	int pair[2], result[2];
	struct took t;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || pipe(result))
		abort();
	pid_t pid = start(write_socket, pair[1], blocks, result);
	close(pair[1]);
	heap_store_init(&s, -1, SIZE_MAX / 2, SIZE_MAX / 2);
	heap_store_prefault(&s, (size_t)blocks * BLOCK);
	double before = cpu_ms(RUSAGE_SELF);
	if (write(result[1], "", 1) != 1)
		abort();
	for (ssize_t n; s.len < (size_t)blocks * BLOCK && (n = read(pair[0], in, sizeof in)) > 0;)
		heap_store_append(&s, in, (size_t)n, NULL);
	waitpid(pid, NULL, 0);
	double read_ms = cpu_ms(RUSAGE_SELF) - before;
	if (s.len != (size_t)blocks * BLOCK || read(result[0], &t, sizeof t) != (ssize_t)sizeof t)
		abort();
	t.read_ms = read_ms;
	heap_store_fini(&s);
	close(pair[0]);
	close(result[0]);
	close(result[1]);
	return t;
}

static double alone(uint32_t blocks)
{
	static uint8_t block[BLOCK];
	int64_t begin = clock_mono_ns();

	for (uint32_t i = 0; i < blocks; i++)
		fill(block, i);
	return (double)(clock_mono_ns() - begin) / 1e6;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The least and the median of the values at this offset. */
static void show(const char *what, const struct took *t, int rounds, size_t offset)
{
	static double values[ROUNDS_MAX];

	for (int i = 0; i < rounds; i++)
		memcpy(&values[i], (const uint8_t *)&t[i] + offset, sizeof *values);
	qsort(values, (size_t)rounds, sizeof *values, by_size);
	printf("  %-28s least %7.1f ms, median %7.1f ms\n", what, values[0], values[rounds / 2]);
}

static void show_all(const char *way, const struct took *t, int rounds)
{
	printf("%s\n", way);
	show("the writer", t, rounds, offsetof(struct took, ms));
	show("its processor time", t, rounds, offsetof(struct took, write_ms));
	show("the reader's processor time", t, rounds, offsetof(struct took, read_ms));
}

int main(int argc, char **argv)
{
	static struct took ring[ROUNDS_MAX], unix_socket[ROUNDS_MAX];
	uint32_t blocks = (argc > 1 ? (uint32_t)atoi(argv[1]) : 100) * 16;
	int rounds = argc > 2 ? atoi(argv[2]) : 40, faster = 0;
	double least = 1e9;

	if (rounds < 1 || rounds > ROUNDS_MAX || blocks == 0) {
		fprintf(stderr, "usage: heap_transport [MEGABYTES [ROUNDS]]\n");
		return 2;
	}
	for (int i = 0; i < rounds; i++) {
		if (i % 2)
			unix_socket[i] = by_socket(blocks);
		ring[i] = by_ring(blocks);
		if (i % 2 == 0)
			unix_socket[i] = by_socket(blocks);
		double ms = alone(blocks);
		least = ms < least ? ms : least;
		faster += ring[i].ms < unix_socket[i].ms;
	}
	printf("%u MB, %d rounds; filling the blocks alone: least %.1f ms\n", blocks / 16, rounds, least);
	show_all("ring", ring, rounds);
	show_all("socket", unix_socket, rounds);
	printf("the ring was faster in %d of %d rounds\n", faster, rounds);
	return 0;
}
