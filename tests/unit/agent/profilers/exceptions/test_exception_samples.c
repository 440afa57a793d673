/* Samples whose stacks have the runtime's handling of exceptions, and those that only look so. */
#include "agent/profilers/exceptions/exception_samples.h"

#include <criterion/criterion.h>
#include <string.h>

static uint32_t add_frame(struct capture_builder *b, enum frame_kind kind, const char *module, const char *type, const char *method)
{
	const struct frame f = {.kind = kind, .module = (char *)module, .type = (char *)type, .method = (char *)method};
	return capture_add_frame(b, &f);
}

static void add_map(struct exception_samples *x, const char *line)
{
	maps_add_line(&x->maps, line, strlen(line));
}

Test(exception_samples, the_unwinder_before_any_code_of_the_application)
{
	struct exception_samples x = {0};
	struct exception_capture out = {0};
	struct capture_builder *b = capture_builder_new(&x.capture);
	uint32_t main = add_frame(b, FRAME_MANAGED, "Shop.dll", "Shop.Program", "Main");
	uint32_t eh = add_frame(b, FRAME_MANAGED, "System.Private.CoreLib.dll", "System.Runtime.EH", "DispatchEx");
	uint32_t native = add_frame(b, FRAME_NATIVE, "libcoreclr.so", NULL, NULL), ours = add_frame(b, FRAME_NATIVE, "libdrdotnet.so", NULL, NULL);
	uint32_t handler = add_frame(b, FRAME_MANAGED, "Shop.dll", "Shop.Cart", "Check");
	const struct {
		uint32_t frames[4];
		size_t depth;
		uint64_t samples, unwinding;
	} table[] = {
		{{native, eh, main}, 3, 1, 1},
		{{native, main}, 2, 1, 0},
		{{handler, eh, main}, 3, 1, 0},       /* its catch block runs above the unwinder's frames */
		{{native, ours, eh, main}, 4, 0, 0},  /* what the profiler does there */
	};
	uint32_t thread = capture_add_thread(b, 7, "till");
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		x.capture.sample_count = 0;
		out = (struct exception_capture){0};
		capture_add_sample(b, 0, thread, capture_add_stack(b, table[i].frames, table[i].depth, false));
		exception_samples_count(&x, &out);
		cr_expect_eq(out.cpu_samples, table[i].samples, "%zu", i);
		cr_expect_eq(out.unwinding_samples, table[i].unwinding, "%zu", i);
	}
	capture_builder_free(b);
	cpu_capture_fini(&x.capture);
}

/* Native code has no names: what is called at the place of a throw handles it. */
Test(exception_samples, native_code_below_a_place_that_throws)
{
	struct exception_samples x = {.collect = (struct cpu_collect *)&x}; /* it samples */
	struct exception_capture out = {0};
	struct capture_builder *b = capture_builder_new(&x.capture);
	uint32_t thread = capture_add_thread(b, 7, "till"), native = add_frame(b, FRAME_NATIVE, "libcoreclr.so", NULL, NULL);
	const uint64_t samples[][4] = {
		{0x1010, 0x1020, 0x9005, 0x9505}, /* below the throw */
		{0x1010, 0x1020, 0x9006, 0x9505}, /* below another call of the same method */
		{0x9005, 0x9505},                 /* not in native code */
		{0x1010, 0x1020},                 /* nobody called it */
	};
	const uint64_t throw[] = {0x9005, 0x9505, 0x9515, 0x9525, 0x9535, 0x9545};
	maps_init(&x.maps, NULL);
	add_map(&x, "1000-2000 r-xp 00000000 08:01 7 /usr/share/dotnet/libcoreclr.so");
	add_map(&x, "9000-a000 r-xp 00000000 00:00 0 ");
	exception_samples_threw(&x, throw, 6);
	for (size_t i = 0; i < 4; i++) {
		exception_samples_note(&x, (int64_t)i, samples[i], i < 2 ? 4 : 2);
		capture_add_sample(b, (int64_t)i, thread, capture_add_stack(b, &native, 1, false));
	}
	exception_samples_count(&x, &out);
	cr_expect(out.cpu_samples == 4 && out.unwinding_samples == 1, "%lu of %lu", out.unwinding_samples, out.cpu_samples);
	cr_expect_eq(x.throwing_count, 5, "the nearest ones");
	capture_builder_free(b);
	x.collect = NULL;
	exception_samples_close(&x, NULL);
}
