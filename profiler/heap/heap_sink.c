/* Context: own thread; CLR callback of the collection that it waits for. */
#include "profiler/heap/heap_sink.h"

#include "common/proto/difference.h"
#include "profiler/base/now.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WAIT_NS 2000000 /* then it looks whether the agent is still there */
#define STALL_NS 2000000000u /* an agent that takes nothing for so long is stopped: the application shall not stand for it until the budget's end */

int heap_sink_map_take(struct heap_sink *s, int fd)
{
	int error = 0;

	heap_sink_unmap(s);
	void *p = mmap(NULL, HEAP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (p == MAP_FAILED)
		error = errno;
	else
		s->ring = p;
	if (s->ring)
		madvise(s->ring, HEAP_RING_BYTES, MADV_DONTFORK); /* a child of the application shall not keep the agent's memory */
	s->own = 0;
	close(fd);
	return error;
}

void heap_sink_unmap(struct heap_sink *s)
{
	if (s->ring)
		munmap(s->ring, HEAP_RING_BYTES);
	s->ring = NULL;
}

static bool fail_sink(struct heap_sink *s, enum heap_walk_status status)
{
	if (s->status == HEAP_WALKED_WHOLE)
		s->status = status;
	s->w.bad = true;
	return false;
}

bool heap_sink_in_time(struct heap_sink *s)
{
	return now_ns() < s->deadline_ns || fail_sink(s, HEAP_WALKED_LATE);
}

static void use_block(struct heap_sink *s, uint8_t *block)
{
	s->block = s->w.at = block;
	s->w.limit = block + HEAP_RING_BLOCK_BYTES - HEAP_PUT_MAX;
}

static bool agent_is_gone(const struct heap_sink *s)
{
	struct pollfd p = {.fd = s->agent_fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) != 0;
}

static WRAPS void wait_for_reader(struct heap_sink *s)
{
	const struct timespec patience = {.tv_nsec = WAIT_NS};

	atomic_store(&s->ring->writing, 1);
	if (!heap_ring_free_block(s->ring, s->own))
		syscall(SYS_futex, &s->ring->taken, FUTEX_WAIT, s->own - HEAP_RING_BLOCKS, &patience, NULL, 0);
	atomic_store(&s->ring->writing, 0);
}

static bool next_block(struct heap_sink *s)
{
	uint64_t begin_ns = now_ns();
	uint8_t *block;

	while (!(block = heap_ring_free_block(s->ring, s->own))) {
		if (atomic_load(&s->ring->refused) || agent_is_gone(s) || difference(now_ns(), begin_ns) >= STALL_NS)
			return fail_sink(s, HEAP_WALKED_NO_ROOM);
		if (!heap_sink_in_time(s))
			return false;
		wait_for_reader(s);
	}
	use_block(s, block);
	return true;
}

static void hand_on(struct heap_sink *s)
{
	if (s->w.at > s->block && heap_ring_put(s->ring, s->own++, (uint32_t)(s->w.at - s->block)))
		syscall(SYS_futex, &s->ring->written, FUTEX_WAKE, 1, NULL, NULL, 0);
	s->block = s->w.at;
}

static bool next_sink_block(struct heap_writer *w)
{
	struct heap_sink *s = (struct heap_sink *)w;

	if (!heap_sink_in_time(s))
		return false;
	hand_on(s);
	return next_block(s);
}

static bool reuse_sink_block(struct heap_writer *w)
{
	struct heap_sink *s = (struct heap_sink *)w;

	use_block(s, s->block);
	return heap_sink_in_time(s);
}

bool heap_sink_begin(struct heap_sink *s, uint64_t deadline_ns, uint8_t *scratch)
{
	s->deadline_ns = deadline_ns;
	s->status = HEAP_WALKED_WHOLE;
	s->w = (struct heap_writer){.more = scratch ? reuse_sink_block : next_sink_block};
	if (scratch)
		use_block(s, scratch);
	return scratch || next_block(s);
}

void heap_sink_end(struct heap_sink *s)
{
	hand_on(s);
	s->w.limit = NULL; /* room is asked for, and there is none */
	s->w.bad = true;
}
