#include "agent/stacks/sleeping_stack.h"

#include <criterion/criterion.h>
#include <string.h>

#define SP UINT64_C(0x7fec2a7fb870)
#define HEAP UINT64_C(0x7fe0590000a0)
#define CODE UINT64_C(0x7fec31c00000)
#define CODE_BYTES UINT64_C(0x100000)

static bool in_code(void *ctx, uint64_t address)
{
	(void)ctx;
	return address >= CODE && address < CODE + CODE_BYTES;
}

static uint64_t frame_pointer_of(const uint64_t *words, size_t count)
{
	return sleeping_stack_frame_pointer(SP, (const uint8_t *)words, count * sizeof *words, in_code, NULL);
}

Test(sleeping_stack, a_frame_has_a_way_up_and_a_place_to_return_to)
{
	const uint64_t words[] = {1, 2, SP + 48, CODE + 0x884, 0, 0, SP + 64, CODE + 0x7f6, 0};
	cr_assert_eq(frame_pointer_of(words, 9), SP + 16);
	cr_assert_eq(frame_pointer_of(words, 3), 0, "the return address was not read");
	cr_assert_eq(frame_pointer_of(words, 0), 0);
}

/* As it lay below a call of a native function: objects behind pointers into the stack, and the frame that the runtime keeps of the call. */
Test(sleeping_stack, pointers_to_objects_make_no_frame)
{
	const uint64_t words[] = {
		SP + 0x28, HEAP, 0, CODE + 0x884, 0x559600000000, 1, SP + 0x580, HEAP + 8, SP + 0x20, CODE + 0x884, SP + 0x60, HEAP,
		SP + 0x70, CODE + 0x7f6, /* the method's own */
		SP + 0x90, CODE + 0x778, 0, 0,
	};
	uint8_t stack[0x600] = {0};
	memcpy(stack, words, sizeof words);
	cr_assert_eq(sleeping_stack_frame_pointer(SP, stack, sizeof stack, in_code, NULL), SP + 0x60);
}

/* recvmsg of glibc saves a register above which it returns to libSystem.Native of .NET 8: it points into the stack, where no frame is. */
Test(sleeping_stack, a_saved_register_below_a_return_address_makes_no_frame)
{
	const uint64_t words[] = {
		SP + 48,   0,		  SP + 0x60, CODE + 0x18ff, 0, 0, 0, 0, SP + 0x50, 0, /* 0x50: */ SP + 0x70, CODE + 0x4dbe, SP + 0x18, 3, /* 0x70: */
		SP + 0x90, CODE + 0x4c83, 0,	     0,		    0, 0,
	};
	cr_assert_eq(frame_pointer_of(words, sizeof words / sizeof *words), SP + 0x50);
}
