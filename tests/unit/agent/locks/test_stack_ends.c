#include "agent/locks/stack_ends.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <unistd.h>

Test(stack_ends, a_stack_ends_with_its_mapping)
{
	struct stack_range ranges[] = {{0x10000, 0x20000}, {0x21000, 0x31000}, {0x31000, 0x41000}};
	const struct stack_ends s = {.ranges = ranges, .count = 3};
	cr_expect_eq(stack_ends_bytes(&s, 0x1fff8, 4096), 8);
	cr_expect_eq(stack_ends_bytes(&s, 0x30f00, 4096), 0x100, "what follows is another one");
	cr_expect_eq(stack_ends_bytes(&s, 0x21000, 4096), 4096);
	cr_expect_eq(stack_ends_bytes(&s, 0x20800, 4096), 4096, "it lies in none: made since");
	cr_expect_eq(stack_ends_bytes(&s, 0x50000, 4096), 4096);
	cr_expect_eq(stack_ends_bytes(&(struct stack_ends){0}, 0x1000, 64), 64);
}

Test(stack_ends, of_this_process)
{
	struct stack_ends s;
	int here = 0, proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
	stack_ends_load(proc_fd, &s);
	cr_assert_geq(s.count, 2);
	cr_expect_lt(stack_ends_bytes(&s, (uint64_t)(uintptr_t)&here, SIZE_MAX), 1u << 28);
	stack_ends_fini(&s);
	close(proc_fd);
}
