#include "agent/perf/perf_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int perf_ring_map(struct perf_ring *r, int fd, size_t data_bytes, struct err *e)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page + data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return err_set_errno(e, errno, "mapping a perf ring of %zu bytes", data_bytes);
	*r = (struct perf_ring){
		.page = at,
		.data = (uint8_t *)at + page,
		.data_bytes = data_bytes,
		.map_bytes = page + data_bytes,
	};
	return 0;
}

void perf_ring_unmap(struct perf_ring *r)
{
	if (r->page)
		munmap(r->page, r->map_bytes);
	*r = (struct perf_ring){0};
}

/* The record at `tail`, in one piece. */
static const uint64_t *whole_record(const struct perf_ring *r, struct perf_bounce *bounce, uint64_t tail, size_t bytes)
{
	size_t at = tail & (r->data_bytes - 1);
	size_t first = r->data_bytes - at;
	if (bytes <= first)
		return (const uint64_t *)(const void *)(r->data + at);
	bounce->used = bytes;
	memcpy(bounce->words, r->data + at, first);
	memcpy((uint8_t *)bounce->words + first, r->data, bytes - first);
	return bounce->words;
}

size_t perf_ring_read(struct perf_ring *r, struct perf_bounce *bounce, perf_ring_fn *fn, void *ctx)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail;
	size_t malformed = 0;
	while (tail != head) {
		struct perf_event_header h;
		if (head - tail > r->data_bytes || (tail & 7)) {
			malformed++;
			break;
		}
		memcpy(&h, r->data + (tail & (r->data_bytes - 1)), sizeof h); /* 8-aligned, so it never crosses the end */
		if (h.size < sizeof h || (h.size & 7) || h.size > head - tail) {
			malformed++;
			break;
		}
		struct perf_record record;
		if (perf_record_parse(whole_record(r, bounce, tail, h.size), h.size, &record) < 0)
			malformed++;
		else
			fn(ctx, &record);
		explicit_bzero(bounce->words, bounce->used);
		bounce->used = 0;
		tail += h.size;
	}
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
	return malformed;
}
