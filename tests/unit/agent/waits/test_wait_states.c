#include "agent/waits/wait_states.h"

#include <criterion/criterion.h>
#include <string.h>

#define MS 1000000ll
#define START (1000 * MS)

/* A second of one thread, in parts of 20 ms: its waits, in milliseconds, as the join has them. */
static struct wait waits[8];
static struct joined_wait list[8];
static struct capture_thread thread;

/* The last part has 13 ms. */
static void put_wait(size_t i, int64_t out_ms, int64_t in_ms, enum wait_kind kind, bool idle)
{
	waits[i] = (struct wait){.out_ns = START + out_ms * MS, .in_ns = START + in_ms * MS};
	list[i] = (struct joined_wait){.wait = &waits[i], .meaning = {kind, idle, ""}};
}

static void expect_line(size_t count, int64_t cpu_ms, size_t looks, const char *line)
{
	const struct wait_capture c = {.stacks = {.threads = &thread, .thread_count = 1}, .started_ns = START, .ended_ns = START + 993 * MS, .looks = looks};
	const struct wait_join j = {.list = list, .count = count, .timed_count = count};
	struct wait_states s;
	thread.cpu_ns = cpu_ms < 0 ? -1 : cpu_ms * MS;
	wait_states_make(&c, &j, &s);
	cr_expect_eq(s.parts, 50);
	cr_expect_eq(s.part_ns, 20 * MS);
	cr_expect_str_eq(s.lines[0], line);
	wait_states_fini(&s);
}

Test(wait_states, has_a_letter_for_what_a_thread_did_most)
{
	put_wait(0, 0, 200, WAIT_KIND_LOCK, false);
	put_wait(1, 209, 400, WAIT_KIND_SLEEP, true);
	put_wait(2, 500, 600, WAIT_KIND_CPU, false);
	put_wait(3, 600, 993, WAIT_KIND_SOCKET, false);
	expect_line(4, 109, 0, "LLLLLLLLLL----------#####QQQQQSSSSSSSSSSSSSSSSSSSS");
}

Test(wait_states, a_thread_without_enough_cpu_time_did_not_run)
{
	put_wait(0, 0, 200, WAIT_KIND_TASK, false);
	put_wait(1, 800, 993, WAIT_KIND_TASK, false);
	expect_line(2, 5, 0, "TTTTTTTTTT??????????????????????????????TTTTTTTTTT");
	expect_line(2, 5, 70, "TTTTTTTTTT??????????????????????????????TTTTTTTTTT");
	expect_line(2, 580, 70, "TTTTTTTTTT##############################TTTTTTTTTT");
	expect_line(2, -1, 70, "TTTTTTTTTT??????????????????????????????TTTTTTTTTT");
}

Test(wait_states, a_thread_is_there_from_its_first_wait_to_its_last_unless_it_ran)
{
	put_wait(0, 200, 600, WAIT_KIND_FILE, false);
	expect_line(1, 3, 0, "          FFFFFFFFFFFFFFFFFFFF                    ");
	expect_line(1, 590, 0, "##########FFFFFFFFFFFFFFFFFFFF####################");
	expect_line(0, 990, 0, "##################################################");
	expect_line(0, 0, 0, "                                                  ");
}
