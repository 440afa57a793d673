/* Buffers of the runtime's async profiler: any bytes, one after the other, each with two bytes of length before it. */
#include "agent/attach/await_buffer.h"
#include "agent/profilers/requests/request_awaits.h"
#include "tests/fuzz/fuzz_tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_resume(void *ctx, const struct await_resume *r)
{
	size_t *count = ctx;
	check(r->depth <= AWAIT_BUFFER_DEPTH && r->kind <= AWAIT_RESET);
	++*count;
}

static void check_sorted(const struct request_awaits *a)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct await_resumed *x = &a->list[i];
		check(x->order == AWAIT_NONE || (x->order <= i && a->list[x->order].tid == x->tid && a->list[x->order].kind == AWAIT_RESUMED));
		check(x->stack == AWAIT_NONE || x->stack < a->stack_count);
		check(!i || x[-1].tid < x->tid || (x[-1].tid == x->tid && x[-1].time_ns <= x->time_ns));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct await_widths w;
	struct request_awaits a;
	size_t told = 0;

	await_widths_init(&w);
	request_awaits_init(&a);
	while (size >= 2) {
		size_t len = data[0] | (size_t)data[1] << 8;
		if (len > size - 2)
			len = size - 2;
		await_buffer_read(data + 2, len, &w, check_resume, &told);
		request_awaits_buffer(&a, data + 2, len);
		data += 2 + len;
		size -= 2 + len;
	}
	check(a.count <= told);
	request_awaits_sort(&a);
	check_sorted(&a);
	request_awaits_fini(&a);
	return 0;
}
