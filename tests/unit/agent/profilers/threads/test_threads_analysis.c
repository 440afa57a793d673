#include "agent/profilers/threads/threads_numbers.h"
#include "agent/profilers/threads/threads_report.h"

#include "tests/unit/agent/stacks/make_capture.h"

#include <criterion/criterion.h>
#include <sys/syscall.h>

#define START "libc:start_thread;rt:;lib:System.Threading.Thread:StartCallback;"
#define EVENT START "app:Shop.Job:Run;app:Shop.Orders:Reserve;lib:System.Threading.WaitHandle:WaitOne;rt:;libc:"
#define QUEUE START "app:Shop.Worker:Run;lib:System.Collections.Concurrent.BlockingCollection`1:Take;rt:;libc:"
#define WATCH START "lib:System.IO.FileSystemWatcher:Run;lib:Interop+Sys:Read;libc:"
#define IDLE START "lib:System.Threading.PortableThreadPool+WorkerThread:WorkerThreadStart;lib:System.Threading.LowLevelLifoSemaphore:Wait;rt:;libc:"

struct scene {
	struct made made;
	struct threads_capture capture;
	struct threads_analysis analysis;
	struct threads_numbers numbers;
};

static struct scene *scene_begin(void)
{
	struct scene *s = mem_alloc(sizeof *s);
	make_begin(&s->made);
	s->capture.threads = mem_calloc(4096, sizeof *s->capture.threads);
	s->capture.between_ns = 5 * MAKE_SECOND;
	s->capture.process_age_ns = 3600 * MAKE_SECOND;
	s->capture.pids_current = s->capture.pids_max = -1;
	return s;
}

/* `count` threads that stand still, the youngest `age_s` old, each next one `step_s` older. */
static void scene_add(struct scene *s, const char *name, const char *stack, size_t count, double age_s, double step_s)
{
	uint32_t at = make_stack(&s->made, stack, false);
	for (size_t i = 0; i < count; i++) {
		struct seen_thread *t = &s->capture.threads[s->capture.count++];
		*t = (struct seen_thread){.stack = at, .witness = STACK_ASLEEP, .still = true, .first = true, .cpu_ns = 0};
		t->wait = (struct thread_wait){.tid = (pid_t)s->capture.count, .inner_tid = (uint32_t)s->capture.count, .state = 'S', .system_call = SYS_futex};
		snprintf(t->wait.name, sizeof t->wait.name, "%s", name);
		t->age_ns = (int64_t)((age_s + step_s * (double)i) * 1e9);
	}
	s->capture.first_count = s->capture.count;
}

static void scene_judge(struct scene *s)
{
	s->capture.stacks = s->made.capture; /* borrowed */
	threads_analysis_make(&s->capture, &s->analysis);
	threads_numbers_of(&s->analysis, &s->numbers);
}

static void scene_end(struct scene *s)
{
	threads_analysis_fini(&s->analysis);
	free(s->capture.threads);
	make_end(&s->made);
	free(s);
}

Test(threads_analysis, many_threads_in_few_places_are_few_lines)
{
	struct scene *s = scene_begin();
	scene_add(s, ".NET TP Worker", IDLE, 312, 100, 0);
	scene_add(s, "request", EVENT, 41, 100, 60);
	scene_add(s, "consumer", QUEUE, 147, 100, 0);
	scene_judge(s);
	cr_assert_eq(s->analysis.group_count, 3);
	AUTO_BUF struct buf text;
	buf_init(&text, 4096);
	for (size_t i = 0; i < 3; i++) {
		threads_report_group(&s->analysis, &s->analysis.groups[i], &text);
		buf_puts(&text, "\n");
	}
	cr_assert_str_eq(buf_str(&text), "147 application threads wait for work in Shop.Worker.Run\n"
					 "41 application threads wait for an event in Shop.Orders.Reserve\n"
					 "312 pool workers are without work\n");
	cr_assert_eq(s->analysis.tree.nodes[STACK_TREE_ROOT].total, 500);
	cr_assert_lt(s->analysis.tree.count, 20);
	cr_assert_eq(s->analysis.kinds[THREAD_KIND_WORKER], 312);
	for (size_t i = 0; i < s->capture.count; i++)
		cr_assert_eq(s->analysis.groups[s->analysis.groups_of[i]].kind, s->analysis.natures[i].kind, "thread %zu", i);
	scene_end(s);
}

/* A watcher of files has a thread of the runtime's; some of their stacks were not told. */
Test(threads_analysis, threads_of_libraries_multiply)
{
	struct scene *s = scene_begin();
	scene_add(s, ".NET File Watcher", WATCH, 20, 6, 5);
	scene_add(s, ".NET File Watcher", WATCH, 4, 1, 1);
	scene_add(s, ".NET File Watcher", "libc:read", 3, 1, 1);
	for (size_t i = 20; i < 27; i++)
		s->capture.threads[i].first = false;
	scene_judge(s);
	cr_assert_eq(s->numbers.grown_begun, 7);
	cr_assert_eq(s->numbers.grown_windows, 6);
	cr_assert_str_eq(s->numbers.grown_name.text, ".NET File Watcher");
	scene_end(s);
}

/* What comes by itself is no finding, and that it did not come is worth a word. */
Test(threads_analysis, threads_that_stand_are_told_where_nothing_is_found)
{
	static const struct {
		size_t threads;
		const char *headline;
	} table[] = {{9, "Nothing found: 9 threads were looked at"}, {10, "Nothing found: 10 of 10 threads wait for work in Shop.Worker.Run"}};
	for (size_t i = 0; i < 2; i++) {
		struct scene *s = scene_begin();
		struct findings none = {0};
		AUTO_BUF struct buf text;
		buf_init(&text, 4096);
		scene_add(s, "consumer", QUEUE, table[i].threads, 10, 7);
		scene_judge(s);
		threads_report_text(&s->analysis, &none, &text);
		cr_assert_eq(strncmp(buf_str(&text), table[i].headline, strlen(table[i].headline)), 0, "%s", buf_str(&text));
		scene_end(s);
	}
}

Test(threads_analysis, leftovers_and_a_pool_that_waits)
{
	struct scene *s = scene_begin();
	scene_add(s, "request", EVENT, 30, 10, 7);
	scene_judge(s);
	cr_assert_eq(s->numbers.zombies, 30);
	cr_assert_eq(s->numbers.zombie_class, ZOMBIE_OTHER);
	cr_assert_eq(s->numbers.zombie_burst, 1);
	cr_assert_float_eq(s->numbers.zombie_spread_seconds, 29 * 7, 1e-6);
	cr_assert_str_eq(s->numbers.zombie_place.text, "Shop.Orders.Reserve");
	scene_end(s);
	s = scene_begin();
	scene_add(s, "worker", EVENT, 30, 100, 0.05);
	scene_add(s, "consumer", QUEUE, 300, 10, 7);
	scene_judge(s);
	cr_assert_eq(s->numbers.zombies, 30, "consumers are none");
	cr_assert_eq(s->numbers.zombie_burst, 30);
	scene_end(s);
	s = scene_begin();
	scene_add(s, "worker", EVENT, 30, 10, 7);
	for (size_t i = 0; i < s->capture.count; i++)
		s->capture.threads[i].wait.timed = true;
	scene_judge(s);
	cr_assert_eq(s->numbers.zombies, 0, "they will wake by themselves");
	scene_end(s);
	s = scene_begin();
	scene_add(s, "cook", EVENT, 20, 10, 7);
	for (size_t i = 0; i < s->capture.count; i++)
		s->capture.threads[i].wait.switches = i < 15 ? 50 : 3;
	scene_judge(s);
	cr_assert_eq(s->numbers.zombies, 0, "they have had much work, and wait for more");
	scene_end(s);
	s = scene_begin();
	scene_add(s, "cook", EVENT, 20, 10, 7);
	for (size_t i = 0; i < s->capture.count; i++)
		s->capture.threads[i].wait.switches = i < 14 ? 50 : 3;
	scene_judge(s);
	cr_assert_eq(s->numbers.zombies, 20);
	scene_end(s);
}

Test(threads_analysis, threads_that_multiply)
{
	struct scene *s = scene_begin();
	scene_add(s, "request", EVENT, 200, 0.1, 0.5);
	for (size_t i = 0; i < s->capture.count; i++)
		s->capture.threads[i].first = s->capture.threads[i].age_ns > s->capture.between_ns;
	scene_judge(s);
	cr_assert_eq(s->numbers.grown_begun, 10);
	cr_assert_eq(s->numbers.grown_windows, 6);
	cr_assert_eq(s->numbers.grown_parts, 6);
	cr_assert_float_eq(s->numbers.grown_part_seconds, 10, 1e-6);
	cr_assert_str_eq(s->numbers.grown_place.text, "Shop.Job.Run");
	cr_assert_eq(s->numbers.alike, 200);
	cr_assert_eq(s->numbers.alike_spread, 20);
	scene_end(s);
	s = scene_begin();
	s->capture.process_age_ns = 8 * MAKE_SECOND;
	scene_add(s, "request", EVENT, 5, 0.1, 0.5);
	scene_judge(s);
	cr_assert(!rules_known(s->numbers.grown_windows), "too young to tell");
	scene_end(s);
}

Test(threads_analysis, nothing_of_what_a_process_says_breaks_it)
{
	struct scene *s = scene_begin();
	scene_add(s, "\x1b[31m<b>\xff", "app::;none:;app:Shop.A:B", 3, -1, -1);
	s->capture.threads[0].stack = THREADS_STACK_NONE;
	s->capture.threads[1].stack = 12345;
	s->capture.threads[2].age_ns = INT64_MAX;
	scene_judge(s);
	cr_assert_eq(s->analysis.unread, 1);
	scene_end(s);
	s = scene_begin();
	scene_judge(s);
	cr_assert_eq(s->analysis.group_count, 0);
	scene_end(s);
}
