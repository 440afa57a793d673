#include "profiler/stacks/stack_map.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

Test(stack_map, lines_of_maps)
{
	static const struct {
		const char *line;
		bool expected;
	} rows[] = {
		{"7ffc1c000000-7ffc1c021000 rw-p 00000000 00:00 0                          [stack]", true},
		{"7f0000000000-7f0000100000 rw-p 00000000 00:00 0", true},
		{"7f0000000000-7f0000100000 rw-p 00000000 00:00 0 ", true},
		{"7f0000000000-7f0000100000 r--p 00000000 00:00 0 ", false},
		{"7f0000000000-7f0000100000 rw-s 00000000 00:01 0 ", false},
		{"7f0000000000-7f0000100000 ---p 00000000 00:00 0 ", false},
		{"7f0000000000-7f0000100000 rw-p 00000000 08:01 4711 /lib/x.so", false},
		{"7f0000000000-7f0000003000 rw-p 00000000 00:00 0 ", false},
		{"7f0000100000-7f0000000000 rw-p 00000000 00:00 0 ", false},
		{"7f0000000000-", false},
		{"", false},
		{"zz-yy rw-p 00000000 00:00 0", false},
		{"11112222333344445-11112222333344446 rw-p 00000000 00:00 0", false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct stack_range r;
		cr_expect_eq(stack_map_parse_line(rows[i].line, strlen(rows[i].line), &r), rows[i].expected, "row %zu", i);
	}
}

static void *look_at_own_stack(void *seen)
{
	char here;

	*(uintptr_t *)seen = 0;
	if (stack_map_refresh())
		*(uintptr_t *)seen = stack_map_end((uintptr_t)&here) - (uintptr_t)&here;
	return NULL;
}

Test(stack_map, it_knows_this_threads_stack_and_no_other_place)
{
	char here;
	uintptr_t above = 0;
	pthread_t thread;

	cr_assert(stack_map_refresh());
	cr_expect_gt(stack_map_end((uintptr_t)&here), (uintptr_t)&here);
	cr_expect_eq(stack_map_end(4096), 0);
	cr_expect_eq(stack_map_end(UINTPTR_MAX), 0);
	cr_assert_eq(pthread_create(&thread, NULL, look_at_own_stack, &above), 0);
	pthread_join(thread, NULL);
	cr_expect_gt(above, 0);
}
