/* Lines of methods: what each has of the samples, which frame a profile's writer is given, and that nothing changes where no symbols are. */
#include "agent/stacks/cpu_lines.h"
#include "tests/unit/agent/stacks/make_capture.h"

#include <criterion/criterion.h>

static struct made m;
static struct cpu_analysis a;

static void begin(void)
{
	make_begin(&m);
}

static void end(void)
{
	cpu_analysis_fini(&a);
	make_end(&m);
}

TestSuite(cpu_lines, .init = begin, .fini = end);

static const struct cpu_method *method(const char *name)
{
	for (size_t i = 0; i < a.method_count; i++)
		if (strcmp(a.methods[i].name, name) == 0)
			return &a.methods[i];
	cr_assert_fail("no method %s", name);
	return NULL;
}

static void expect_line(const char *name, uint32_t place, uint32_t line, uint64_t self, uint64_t total)
{
	const struct cpu_method *x = method(name);
	cr_assert_lt(place, x->line_count, "%s has %u lines", name, x->line_count);
	const struct cpu_line *l = &a.lines[x->first_line + place];
	const struct frame *f = &a.capture->frames[l->frame];
	cr_expect(f->line == line && l->self == self && l->total == total, "%s line %u: %llu, %llu", name, f->line, (unsigned long long)l->self,
		  (unsigned long long)l->total);
}

Test(cpu_lines, places_of_a_method_are_lines_of_one_method)
{
	make_samples(&m, "worker", 60, "app:Shop.Job:Run@10;app:Shop.Cart:Total@118");
	make_samples(&m, "worker", 30, "app:Shop.Job:Run@12;app:Shop.Cart:Total@120");
	make_samples(&m, "worker", 10, "app:Shop.Job:Run@12;app:Shop.Cart:Total@118;lib:System.String:Concat");
	cpu_analysis_run(&m.capture, &a);
	cr_expect_eq(a.line_count, 4);
	cr_expect_eq(method("Shop.Cart.Total")->self, 90);
	cr_expect_eq(method("Shop.Cart.Total")->line_count, 2);
	expect_line("Shop.Cart.Total", 0, 118, 60, 70);
	expect_line("Shop.Cart.Total", 1, 120, 30, 30);
	expect_line("Shop.Job.Run", 0, 10, 0, 60);
	expect_line("Shop.Job.Run", 1, 12, 0, 40);
	cr_expect_eq(cpu_lines_hottest(&a, (uint32_t)(method("Shop.Cart.Total") - a.methods))->line, 118);
	cr_expect_null(cpu_lines_hottest(&a, (uint32_t)(method("System.String.Concat") - a.methods)));
	cr_expect_eq(a.tree.count, 4, "the tree is of methods: the root, Run, Total, Concat");
}

Test(cpu_lines, a_recursion_counts_once_and_a_state_machine_is_its_method)
{
	make_samples(&m, "worker", 5, "app:Shop.Job:Run@10;app:Shop.Job:Run@10;app:Shop.Job:Run@11");
	make_samples(&m, "worker", 4, "app:Shop.Job:Load@20;app:Shop.Job+<Load>d__1:MoveNext@22");
	cpu_analysis_run(&m.capture, &a);
	expect_line("Shop.Job.Run", 0, 11, 5, 5);
	expect_line("Shop.Job.Run", 1, 10, 0, 5);
	expect_line("Shop.Job.Load", 0, 22, 4, 4);
}

Test(cpu_lines, each_step_of_a_path_has_its_frame)
{
	make_samples(&m, "worker", 1, "libc:start;app:Shop.Job:Run@12;app:Shop.Cart:Total@118;lib:System.String:Concat");
	cpu_analysis_run(&m.capture, &a);
	const uint32_t *path = cpu_analysis_path_frames(&a, 0);
	cr_assert_not_null(path);
	cr_assert_eq(a.tree.nodes[cpu_analysis_node(&a, 0)].depth, 4);
	cr_expect_null(a.capture->frames[path[0]].file);
	cr_expect_eq(a.capture->frames[path[1]].line, 12);
	cr_expect_eq(a.capture->frames[path[2]].line, 118);
	cr_expect_null(a.capture->frames[path[3]].file);
}

Test(cpu_lines, without_symbols_there_are_none)
{
	make_samples(&m, "worker", 5, "app:Shop.Job:Run;app:Shop.Cart:Total");
	cpu_analysis_run(&m.capture, &a);
	cr_expect(a.line_count == 0 && !a.lines && !a.frame_methods && !cpu_analysis_path_frames(&a, 0));
	cr_expect_null(cpu_lines_hottest(&a, 0));
}
