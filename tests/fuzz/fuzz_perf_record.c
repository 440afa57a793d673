/* What stands in a perf event's ring: the records, and the ring's own head and tail. First byte: where in the ring the bytes begin. */
#include "agent/perf/perf_ring.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DATA 4096

struct ring {
	struct perf_event_mmap_page page;
	_Alignas(8) uint8_t data[DATA];
};

static uint64_t sum;

/* Whatever a record says it has can be read. */
static void see(void *ctx, const struct perf_record *r)
{
	(void)ctx;
	switch (r->kind) {
	case PERF_KIND_SAMPLE:
		for (size_t i = 0; i < r->u.sample.kernel_depth; i++)
			sum += r->u.sample.kernel[i];
		for (size_t i = 0; i < r->u.sample.user_depth; i++)
			sum += r->u.sample.user[i];
		for (size_t i = 0; i < r->u.sample.stack_bytes; i++)
			sum += r->u.sample.stack[i];
		if (r->u.sample.stack_bytes && !r->u.sample.stack)
			abort();
		break;
	case PERF_KIND_COMM:
		if (strnlen(r->u.comm.comm, sizeof r->u.comm.comm) == sizeof r->u.comm.comm)
			abort();
		break;
	case PERF_KIND_SWITCH:
		sum += r->u.change.tid + (uint64_t)r->u.change.time_ns;
		break;
	default:
		break;
	}
}

static void parse_alone(const uint8_t *data, size_t size)
{
	uint64_t *exact = mem_alloc(size); /* nothing readable behind it */
	struct perf_record r;
	memcpy(exact, data, size);
	if (perf_record_parse(exact, size, &r) == 0)
		see(NULL, &r);
	free(exact);
}

static void read_ring(const uint8_t *data, size_t size, uint64_t at)
{
	static struct perf_bounce bounce;
	struct ring *ring = mem_alloc(sizeof *ring);
	for (size_t i = 0; i < size && i < DATA; i++)
		ring->data[(at + i) % DATA] = data[i];
	ring->page.data_tail = at;
	ring->page.data_head = at + size;
	struct perf_ring r = {.page = &ring->page, .data = ring->data, .data_bytes = DATA};
	perf_ring_read(&r, &bounce, see, NULL);
	if (ring->page.data_tail != at + size)
		abort(); /* all room is given back, also that of what was malformed */
	free(ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 9)
		return 0;
	uint64_t at = (uint64_t)data[0] * 32; /* up to two rounds; multiples of 8 */
	data++, size--;
	parse_alone(data, size & ~(size_t)7);
	read_ring(data, size, at);
	return 0;
}
