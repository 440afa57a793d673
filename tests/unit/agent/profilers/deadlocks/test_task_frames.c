#include "agent/profilers/deadlocks/task_frames.h"

#include <criterion/criterion.h>

#define SP UINT64_C(0x7f0000000000)
#define CODE UINT64_C(0x500000)
#define TASK UINT64_C(0x600000)
#define WORDS 40

static bool is_code(void *ctx, uint64_t address)
{
	(void)ctx;
	return address >= CODE && address < CODE + 0x1000;
}

Test(task_frames, roles_go_by_the_runtimes_names)
{
	cr_expect_eq(task_frames_role("System.Threading.Tasks.Task", "ExecuteWithThreadLocal"), TASK_ROLE_DELEGATE);
	cr_expect_eq(task_frames_role("System.Threading.Tasks.Task`1", "InnerInvoke"), TASK_ROLE_DELEGATE);
	cr_expect_eq(task_frames_role("System.Threading.Tasks.Task", "Wait"), TASK_ROLE_NONE);
	cr_expect_eq(task_frames_role("Shop.Task", "InnerInvoke"), TASK_ROLE_NONE);
	cr_expect_eq(task_frames_role("System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1", "MoveNext"), TASK_ROLE_ASYNC);
	cr_expect_eq(task_frames_role("Shop.Cart+<Load>d__1", "MoveNext"), TASK_ROLE_NONE);
	cr_expect_eq(task_frames_role("System.Threading.ExecutionContext", "RunInternal"), TASK_ROLE_CONTEXT);
	cr_expect_eq(task_frames_role("Shop.Awaiter", "UnsafeOnCompleted"), TASK_ROLE_HOOK);
	cr_expect_eq(task_frames_role("System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1", "AwaitUnsafeOnCompleted"), TASK_ROLE_HOOK);
	cr_expect_eq(task_frames_role(NULL, "pthread_cond_wait"), TASK_ROLE_NONE);
}

/* Frame pointers at words 4, 10, 20 and 30: the function that was left at 4 has the words 6 to 9, and so on. */
static void make_stack(uint64_t words[WORDS], struct task_frames *f)
{
	static const size_t at[] = {4, 10, 20, 30};
	for (size_t i = 0; i < WORDS; i++)
		words[i] = 1;
	for (size_t i = 0; i < 4; i++) {
		words[at[i]] = i < 3 ? SP + 8 * at[i + 1] : 0;
		words[at[i] + 1] = CODE + 0x10 * (i + 1);
	}
	task_frames_find(&arch_x64, SP, words, WORDS, is_code, NULL, f);
}

Test(task_frames, are_between_the_frame_pointers)
{
	uint64_t words[WORDS];
	struct task_frames f;
	make_stack(words, &f);
	cr_assert_eq(f.count, 4);
	cr_assert_eq(f.returns[1], CODE + 0x20);
	cr_assert_eq(f.first[0], 6);
	cr_assert_eq(f.end[0], 10);
	cr_assert_eq(f.end[3], WORDS, "the last one ends with the stack");
	words[20] = SP; /* leads back */
	task_frames_find(&arch_x64, SP, words, WORDS, is_code, NULL, &f);
	cr_assert_eq(f.count, 3);
	task_frames_find(&arch_x64, SP, words, 5, is_code, NULL, &f);
	cr_assert_eq(f.count, 0);
}

Test(task_frames, a_task_is_run_by_whose_frame_it_is_in)
{
	uint64_t words[WORDS];
	struct task_frames f;
	make_stack(words, &f);
	f.roles[2] = TASK_ROLE_DELEGATE; /* words 22 to 29 */
	words[12] = TASK;
	cr_assert_not(task_frames_run(&f, words, TASK_KIND_DELEGATE, TASK), "a local of what it calls");
	words[31 + 1] = TASK;
	cr_assert_not(task_frames_run(&f, words, TASK_KIND_DELEGATE, TASK), "one of whom it is called by");
	words[25] = TASK + 8;
	cr_assert_not(task_frames_run(&f, words, TASK_KIND_DELEGATE, TASK));
	words[26] = TASK;
	cr_assert(task_frames_run(&f, words, TASK_KIND_DELEGATE, TASK));
	cr_assert_not(task_frames_run(&f, words, TASK_KIND_ASYNC, TASK));
}

Test(task_frames, a_step_of_an_async_method)
{
	uint64_t words[WORDS];
	struct task_frames f;
	make_stack(words, &f);
	f.roles[3] = TASK_ROLE_ASYNC;
	words[24] = TASK;
	cr_assert_not(task_frames_run(&f, words, TASK_KIND_ASYNC, TASK), "its own local task");
	f.roles[2] = TASK_ROLE_CONTEXT; /* called by the step, with it as its state */
	cr_assert(task_frames_run(&f, words, TASK_KIND_ASYNC, TASK));
	words[24] = 1;
	words[12] = TASK + 0x48; /* the state machine in it */
	cr_assert(task_frames_run(&f, words, TASK_KIND_ASYNC, TASK));
	cr_assert_not(task_frames_run(&f, words, TASK_KIND_DELEGATE, TASK));
	words[12] = TASK;
	cr_assert_not(task_frames_run(&f, words, TASK_KIND_ASYNC, TASK));
	words[12] = TASK + 0x48;
	f.roles[0] = TASK_ROLE_HOOK;
	cr_assert_not(task_frames_run(&f, words, TASK_KIND_ASYNC, TASK), "it may go on elsewhere by now");
}

/* The same stack: pairs lie below what else their frames hold, so that the function that was left at 4 has the words 12 to 19. */
Test(task_frames, of_arm64_follow_their_own_pairs)
{
	uint64_t words[WORDS];
	struct task_frames f;
	make_stack(words, &f);
	words[21] |= UINT64_C(0x7b) << 48; /* signed */
	words[31] |= UINT64_C(0x6d) << 48;
	task_frames_find(&arch_arm64, SP, words, WORDS, is_code, NULL, &f);
	cr_assert_eq(f.count, 4);
	cr_expect_eq(f.returns[2], CODE + 0x30);
	cr_expect_eq(f.first[0], 12);
	cr_expect_eq(f.end[0], 20);
	cr_expect_eq(f.first[1], 22);
	cr_expect_eq(f.end[1], 30);
	cr_expect_eq(f.first[2], 32);
	cr_expect_eq(f.end[2], WORDS);
	cr_expect_eq(f.first[3], f.end[3], "of the last one nothing is known");
	f.roles[1] = TASK_ROLE_DELEGATE;
	words[13] = TASK;
	cr_assert_not(task_frames_run(&f, words, TASK_KIND_DELEGATE, TASK), "a local of what it calls");
	words[23] = TASK;
	cr_assert(task_frames_run(&f, words, TASK_KIND_DELEGATE, TASK));
}
