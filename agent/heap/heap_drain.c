#include "agent/heap/heap_drain.h"

#include "agent/host/refused_call.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "common/proto/heap_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define PATIENCE_NS 20000000 /* then it looks whether it is to end */

struct heap_drain {
	struct heap_ring *ring;
	int fd;
	uint32_t own; /* blocks given back */
	struct heap_store *store;
	pthread_t thread;
	bool running;
	_Atomic bool finish;
	struct err e; /* kind 0: all is well */
};

static int make_memory(struct heap_drain *d, struct err *e)
{
	d->fd = memfd_create("drdotnet-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (d->fd < 0)
		return refused_call(e, errno, "memfd_create", "shared memory for the heap walk");
	if (ftruncate(d->fd, HEAP_RING_BYTES) < 0 || fcntl(d->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return err_set_errno(e, errno, "cannot make shared memory for the heap walk");
	void *p = mmap(NULL, HEAP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0);
	if (p == MAP_FAILED)
		return err_set_errno(e, errno, "cannot map the shared memory of the heap walk");
	d->ring = p;
	memset(p, 0, HEAP_RING_BYTES); /* here, and not while the application stands */
	return 0;
}

struct heap_drain *heap_drain_new(struct err *e)
{
	struct heap_drain *d = mem_alloc(sizeof *d);

	d->fd = -1;
	if (make_memory(d, e) == 0)
		return d;
	heap_drain_free(d);
	return NULL;
}

void heap_drain_free(struct heap_drain *d)
{
	if (!d)
		return;
	if (d->running)
		heap_drain_finish(d, NULL);
	if (d->ring)
		munmap(d->ring, HEAP_RING_BYTES);
	cleanup_fd(&d->fd);
	free(d);
}

int heap_drain_fd(const struct heap_drain *d)
{
	return d->fd;
}

static void refuse_ring(struct heap_drain *d)
{
	atomic_store(&d->ring->refused, 1);
	syscall(SYS_futex, &d->ring->taken, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* false: nothing there. What is wrong is kept, and the library told. */
static bool drain_next(struct heap_drain *d)
{
	const uint8_t *data;
	uint32_t len;
	int r = d->e.kind ? 0 : heap_ring_next(d->ring, d->own, &data, &len);

	if (r == 0)
		return false;
	if (r < 0)
		err_set(&d->e, ERR_PROTOCOL, 0, "the library's end of the heap walk's memory is damaged");
	else
		heap_store_append(d->store, data, len, &d->e);
	if (d->e.kind)
		refuse_ring(d);
	else if (heap_ring_give_back(d->ring, d->own++))
		syscall(SYS_futex, &d->ring->taken, FUTEX_WAKE, 1, NULL, NULL, 0);
	return true;
}

static void wait_for_block(struct heap_drain *d)
{
	const struct timespec patience = {.tv_nsec = PATIENCE_NS};

	atomic_store(&d->ring->reading, 1);
	if (!atomic_load(&d->finish))
		syscall(SYS_futex, &d->ring->written, FUTEX_WAIT, d->own, &patience, NULL, 0);
}

static void *drain_main(void *arg)
{
	struct heap_drain *d = arg;

	for (;;) {
		bool last = atomic_load(&d->finish); /* before the look: what came until then is taken */
		while (drain_next(d))
			;
		if (last)
			return NULL;
		wait_for_block(d);
	}
}

int heap_drain_start(struct heap_drain *d, struct heap_store *store, struct err *e)
{
	d->store = store;
	d->e = (struct err)ERR_INIT;
	atomic_store(&d->finish, false);
	atomic_store(&d->ring->refused, 0);
	d->running = thread_start(&d->thread, "heap-drain", THREAD_STACK_USUAL, drain_main, d, e) == 0;
	return d->running ? 0 : -1;
}

int heap_drain_finish(struct heap_drain *d, struct err *e)
{
	atomic_store(&d->finish, true);
	syscall(SYS_futex, &d->ring->written, FUTEX_WAKE, 1, NULL, NULL, 0);
	pthread_join(d->thread, NULL);
	d->running = false;
	if (d->e.kind == ERR_NONE)
		return 0;
	if (e)
		*e = d->e;
	return -1;
}
