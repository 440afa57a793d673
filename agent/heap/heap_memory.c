#include "agent/heap/heap_memory.h"

#include "agent/heap/heap_budget.h"
#include "agent/host/refused_call.h"
#include "common/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define HUGE_PAGE ((size_t)2 << 20)

void heap_memory_init(struct heap_memory *m, size_t budget, int dirfd)
{
	*m = (struct heap_memory){.budget = budget, .dirfd = dirfd};
	pthread_mutex_init(&m->lock, NULL);
	heap_budget_promise((int64_t)budget);
}

void heap_memory_fini(struct heap_memory *m)
{
	heap_budget_promise((int64_t)m->used - (int64_t)m->budget);
	pthread_mutex_destroy(&m->lock);
}

/* Takes so many bytes out of the budget; false: they go to a file. */
static bool reserve_bytes(struct heap_memory *m, size_t bytes, enum heap_access how)
{
	size_t budget = how == HEAP_IN_ORDER ? m->budget / 2 : m->budget;

	pthread_mutex_lock(&m->lock);
	bool fits = m->used <= budget && bytes <= budget - m->used;
	if (fits)
		m->used += bytes;
	else
		m->spilled += bytes;
	pthread_mutex_unlock(&m->lock);
	if (fits)
		heap_budget_promise(-(int64_t)bytes);
	return fits;
}

static void release_bytes(struct heap_memory *m, size_t bytes)
{
	pthread_mutex_lock(&m->lock);
	m->used -= bytes;
	pthread_mutex_unlock(&m->lock);
	heap_budget_promise((int64_t)bytes);
}

static int make_file(const struct heap_memory *m)
{
	const char *folder = getenv("TMPDIR");
	int at = m->dirfd >= 0 ? m->dirfd : AT_FDCWD;

	if (m->dirfd >= 0)
		folder = ".";
	else if (!folder || folder[0] != '/')
		folder = "/tmp";
	return openat(at, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* Room on the disk is taken now: a mapped page without any would be a SIGBUS. */
static int extend_file(int fd, size_t from, size_t to, struct err *e)
{
	int rc;

	do
		rc = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
	while (rc == EINTR);
	if (rc == EPERM)
		return refused_call(e, rc, "fallocate", "room for the heap's graph on disk");
	return rc == 0 ? 0 : err_set(e, ERR_RETRY, rc, "room for the heap's graph on disk (%zu MB): %s", (to - from) >> 20, strerror(rc));
}

static int take_file(struct heap_memory *m, struct heap_array *a, size_t bytes, struct err *e)
{
	AUTO_FD int fd = make_file(m);

	if (fd < 0)
		return err_set_errno(e, errno, "a file for the heap's graph");
	if (extend_file(fd, 0, bytes, e) < 0)
		return -1;
	void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return err_set(e, ERR_RETRY, errno, "memory for the heap's graph: %s", strerror(errno));
	*a = (struct heap_array){.data = data, .bytes = bytes, .file = steal_fd(&fd) + 1};
	return 0;
}

int heap_memory_take(struct heap_memory *m, struct heap_array *a, size_t count, size_t size, enum heap_access how, struct err *e)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
		return err_set(e, ERR_INVALID, 0, "the heap is too big for this machine");
	bytes = (bytes + PAGE) & ~(PAGE - 1); /* never none */
	if (!reserve_bytes(m, bytes, how))
		return take_file(m, a, bytes, e);
	void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data == MAP_FAILED) {
		release_bytes(m, bytes);
		return err_set(e, ERR_RETRY, errno, "memory for the heap's graph: %s", strerror(errno));
	}
	if (bytes >= 4 * HUGE_PAGE && how == HEAP_AT_RANDOM)
		madvise(data, bytes, MADV_HUGEPAGE); /* fewer misses where access is random; without them it is only slower */
	*a = (struct heap_array){.data = data, .bytes = bytes};
	return 0;
}

static int move_to_file(struct heap_memory *m, struct heap_array *a, size_t bytes, struct err *e)
{
	struct heap_array file;

	if (take_file(m, &file, bytes, e) < 0)
		return -1;
	memcpy(file.data, a->data, a->bytes);
	heap_memory_give(m, a);
	*a = file;
	return 0;
}

int heap_memory_grow(struct heap_memory *m, struct heap_array *a, size_t bytes, struct err *e)
{
	bytes = (bytes + PAGE) & ~(PAGE - 1);
	if (bytes <= a->bytes)
		return 0;
	if (!a->file && !reserve_bytes(m, bytes - a->bytes, HEAP_AT_RANDOM))
		return move_to_file(m, a, bytes, e);
	if (a->file && extend_file(a->file - 1, a->bytes, bytes, e) < 0)
		return -1;
	void *data = mremap(a->data, a->bytes, bytes, MREMAP_MAYMOVE);
	if (data == MAP_FAILED) {
		int errnum = errno;
		if (!a->file)
			release_bytes(m, bytes - a->bytes);
		return err_set(e, ERR_RETRY, errnum, "memory for the heap's graph: %s", strerror(errnum));
	}
	a->data = data;
	a->bytes = bytes;
	return 0;
}

void heap_memory_give(struct heap_memory *m, struct heap_array *a)
{
	if (!a->data)
		return;
	munmap(a->data, a->bytes);
	if (a->file)
		close(a->file - 1);
	else
		release_bytes(m, a->bytes);
	*a = (struct heap_array){0};
}
