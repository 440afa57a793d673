#include "agent/heap/heap_store.h"

#include "common/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BYTES ((size_t)1 << 20)

void heap_store_init(struct heap_store *s, int dirfd, size_t memory_max, size_t max)
{
	*s = (struct heap_store){.dirfd = dirfd, .fd = -1, .memory_max = memory_max, .max = max};
}

void heap_store_fini(struct heap_store *s)
{
	if (s->data)
		munmap(s->data, s->cap);
	if (s->fd >= 0)
		close(s->fd);
	heap_store_init(s, -1, 0, 0);
	s->fd = -1;
}

/* Pages move, bytes are not copied. */
static int grow_heap_store(struct heap_store *s, size_t need, struct err *e)
{
	size_t cap = s->cap ? s->cap : FIRST_BYTES;

	while (cap < need)
		cap *= 2;
	void *p = s->data ? mremap(s->data, s->cap, cap, MREMAP_MAYMOVE)
			  : mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return err_set_errno(e, errno, "cannot get %zu bytes of memory for the heap walk", cap);
	s->data = p;
	s->cap = cap;
	return 0;
}

void heap_store_prefault(struct heap_store *s, size_t bytes)
{
	if (bytes > s->memory_max)
		bytes = s->memory_max;
	if (s->fd >= 0 || bytes <= s->cap || grow_heap_store(s, bytes, NULL) < 0)
		return;
	madvise(s->data, s->cap, MADV_HUGEPAGE);
	memset(s->data + s->len, 0, bytes - s->len);
}

static int write_all(int fd, const uint8_t *data, size_t len, struct err *e)
{
	while (len) {
		ssize_t n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set_errno(e, errno, "cannot write the heap walk to a file");
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int open_unnamed(int dirfd)
{
	static const char name[] = ".drdotnet-heap-walk";
	int fd = openat(dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	/* a file system that knows no files without a name */
	fd = openat(dirfd, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		unlinkat(dirfd, name, 0);
	return fd;
}

static int spill(struct heap_store *s, struct err *e)
{
	AUTO_FD int tmp = s->dirfd < 0 ? open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	AUTO_FD int fd = open_unnamed(s->dirfd < 0 ? tmp : s->dirfd);

	if (fd < 0)
		return err_set_errno(e, errno, "cannot make a file for the heap walk");
	if (write_all(fd, s->data, s->len, e) < 0)
		return -1;
	if (s->data)
		munmap(s->data, s->cap);
	s->data = NULL;
	s->cap = 0;
	s->fd = steal_fd(&fd);
	return 0;
}

int heap_store_append(struct heap_store *s, const void *data, size_t len, struct err *e)
{
	if (len > s->max || s->len > s->max - len)
		return err_set(e, ERR_INVALID, 0, "the heap walk has more than %zu bytes", s->max);
	if (len == 0)
		return 0;
	if (s->fd < 0 && s->len + len > s->memory_max && spill(s, e) < 0)
		return -1;
	if (s->fd >= 0) {
		if (write_all(s->fd, data, len, e) < 0)
			return -1;
	} else {
		if (s->len + len > s->cap && grow_heap_store(s, s->len + len, e) < 0)
			return -1;
		memcpy(s->data + s->len, data, len);
	}
	s->len += len;
	return 0;
}

void heap_store_settle(struct heap_store *s, size_t most)
{
	if (s->fd < 0 && s->len > most && s->len <= s->max - s->memory_max)
		spill(s, NULL);
}

int heap_store_seal(struct heap_store *s, struct err *e)
{
	if (s->fd >= 0 && s->len) {
		void *p = mmap(NULL, s->len, PROT_READ, MAP_PRIVATE, s->fd, 0);
		if (p == MAP_FAILED)
			return err_set_errno(e, errno, "cannot read the heap walk back");
		s->data = p;
		s->cap = s->len;
	} else if (s->data && s->len) {
		void *p = mremap(s->data, s->cap, s->len, MREMAP_MAYMOVE); /* what was prefaulted for nothing goes back */
		if (p != MAP_FAILED) {
			s->data = p;
			s->cap = s->len;
		}
	}
	s->sealed = true;
	return 0;
}
