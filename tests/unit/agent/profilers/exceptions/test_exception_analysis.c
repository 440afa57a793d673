#include "agent/profilers/exceptions/exception_collect.h"
#include "agent/profilers/exceptions/exception_diagnosis.h"
#include "agent/report/report.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <string.h>

/* The code of the application: a method each 16 bytes. */
enum { CHECK = 0x1000, PARSE = 0x1010, RUN = 0x1020, MAIN = 0x1030, THROW_HELPER = 0x1040, EH = 0x1050, AGAIN = 0x1060, MACHINE = 0x1070, LAZY = 0x1080 };
static const struct resolved_function functions[] = {
	{.function_id = 1, .module = "Shop.dll", .type = "Shop.Cart", .method = "Check", .params = ""},
	{.function_id = 2, .module = "Shop.dll", .type = "Shop.Cart", .method = "Parse", .params = ""},
	{.function_id = 3, .module = "Shop.dll", .type = "Shop.Cart", .method = "Run", .params = ""},
	{.function_id = 4, .module = "Shop.dll", .type = "Shop.Program", .method = "Main", .params = ""},
	{.function_id = 5, .module = "System.Private.CoreLib.dll", .type = "System.ThrowHelper", .method = "ThrowFormat", .params = ""},
	{.function_id = 6, .module = "System.Private.CoreLib.dll", .type = "System.Runtime.EH", .method = "RhThrowEx", .params = ""},
	{.function_id = 7, .module = "System.Private.CoreLib.dll", .type = "System.Runtime.ExceptionServices.ExceptionDispatchInfo", .method = "Throw", .params = ""},
	{.function_id = 8, .module = "Shop.dll", .type = "Shop.Cart+<Load>d__3", .method = "MoveNext", .params = ""},
	{.function_id = 9, .module = "System.Private.CoreLib.dll", .type = "System.Lazy`1", .method = "CreateValue", .params = ""},
};

static int name_code(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out)
{
	(void)ctx;
	for (size_t i = 0; i < count; i++) {
		uint64_t at = (ips[i] - CHECK) / 16;
		out[i] = at < sizeof functions / sizeof *functions ? &functions[at] : NULL;
	}
	return 0;
}

struct bench {
	struct exception_capture capture;
	struct exception_channel channel;
	struct exception_collect *collect;
	struct exception_analysis a;
	struct exception_diagnosis d;
	struct channel_exceptions_state state;
	uint8_t data[16384];
	struct wire_writer w;
};

static void begin_bench(struct bench *b)
{
	*b = (struct bench){.state = {.wanted = CHANNEL_EXCEPTIONS_CATCHERS, .covered_ns = 2000000000, .sampled_ns = 2000000000, .cpu_ns = 1000000000}};
	b->capture.stacks.facts.duration_ns = 2000000000;
	exception_channel_init(&b->channel, NULL);
	b->collect = exception_collect_new(&(struct exception_collect_options){.capture = &b->capture, .proc_fd = -1});
}

static void send_frame(struct bench *b, uint16_t type)
{
	struct err e = ERR_INIT;
	const struct channel_frame f = {type, b->data, (uint32_t)b->w.pos};
	cr_assert_eq(exception_channel_frame(&b->channel, &f, &e), 0, "%s", e.message);
}

static void give_kind(struct bench *b, uint64_t kind, const char *type, const char *shape)
{
	const struct channel_exception_kind k = {kind, 0x80131500, {type, strlen(type)}, {shape, strlen(shape)}, {NULL, 0}};
	wire_writer_init(&b->w, b->data, sizeof b->data);
	channel_put_exception_kind(&b->w, &k);
	send_frame(b, CHANNEL_EXCEPTIONS_KINDS);
}

/* The site's stack, leaf first, ends at a 0; then how many there were. */
static void give_site(struct bench *b, uint64_t site, uint64_t type, uint16_t flags, const uint64_t *code, uint64_t count)
{
	struct channel_alloc_site s = {.site = site, .type = type, .tid = 7, .flags = flags};
	const struct channel_alloc_round round = {.time_ns = 1000000000, .covered_ns = b->state.covered_ns, .sampled_ns = b->state.sampled_ns};
	const struct channel_alloc_count c = {.site = site, .samples = count};
	while (code[s.depth]) {
		s.ips[s.depth] = code[s.depth] + 5;
		s.depth++;
	}
	wire_writer_init(&b->w, b->data, sizeof b->data);
	channel_put_alloc_site(&b->w, &s);
	send_frame(b, CHANNEL_EXCEPTIONS_SITES);
	wire_writer_init(&b->w, b->data, sizeof b->data);
	channel_put_alloc_round(&b->w, &round);
	channel_put_alloc_count(&b->w, &c);
	send_frame(b, CHANNEL_EXCEPTIONS_COUNTS);
}

static void collect_bench(struct bench *b)
{
	wire_writer_init(&b->w, b->data, sizeof b->data);
	channel_put_exceptions_state(&b->w, &b->state);
	send_frame(b, CHANNEL_EXCEPTIONS_STATE);
	exception_collect_take(b->collect, &b->channel);
	exception_collect_flush(b->collect, name_code, NULL);
	exception_collect_finish(b->collect, &b->channel);
}

static void analyze_bench(struct bench *b)
{
	collect_bench(b);
	exception_analysis_run(&b->capture, &b->a);
	exception_diagnosis_make(&b->a, &b->d);
	cr_expect_leq(strlen(b->d.headline), HEADLINE_MAX_CHARS);
}

static void end_bench(struct bench *b)
{
	exception_diagnosis_fini(&b->d);
	exception_analysis_fini(&b->a);
	exception_collect_free(b->collect);
	exception_channel_fini(&b->channel);
	exception_capture_fini(&b->capture);
}

#define STACK(...) ((const uint64_t[]){__VA_ARGS__, 0})

static struct bench b;

Test(exception_analysis, where_it_is_thrown_and_who_catches)
{
	begin_bench(&b);
	give_kind(&b, 1, "System.FormatException", "Input string was not in a correct format");
	give_kind(&b, 2, "Shop.Refused`1[System.String]", "");
	give_site(&b, 10, 1, 0, STACK(EH, THROW_HELPER, PARSE, RUN, MAIN), 300);
	give_site(&b, 11, 10, CHANNEL_EXCEPTION_CAUGHT, STACK(PARSE), 300);
	give_site(&b, 20, 2, CHANNEL_EXCEPTION_INNER, STACK(CHECK, RUN, MAIN), 100);
	give_site(&b, 21, 20, CHANNEL_EXCEPTION_CAUGHT, STACK(RUN), 90);
	give_site(&b, 22, 20, CHANNEL_EXCEPTION_CAUGHT, STACK(MAIN), 10);
	analyze_bench(&b);
	cr_assert_eq(b.a.site_count, 2);
	const struct exception_sum *s = b.a.sites;
	cr_expect_str_eq(exception_analysis_method(&b.a, s[0].method), "Shop.Cart.Parse");
	cr_expect_str_eq(exception_analysis_method(&b.a, s[0].catcher), "Shop.Cart.Parse");
	cr_expect(s[0].distance == CAUGHT_SAME && s[0].counted == 300 && s[0].caught == 300);
	cr_expect_str_eq(b.capture.kinds[s[1].kind].type, "Shop.Refused<string>");
	cr_expect_str_eq(exception_analysis_method(&b.a, s[1].catcher), "Shop.Cart.Run");
	cr_expect(s[1].distance == CAUGHT_CALLER && s[1].caught == 90);
	cr_expect(b.a.ways[EXCEPTION_NEW] == 400 && b.a.inner == 100 && b.a.exact);
	const struct stack_node *n = &b.a.base.tree.nodes[b.a.stack_node[s[0].stack]];
	cr_expect_str_eq(b.a.base.methods[n->method].name, "System.ThrowHelper.ThrowFormat", "the machinery of throwing is folded away");
	cr_expect_eq(b.a.base.tree.nodes[STACK_TREE_ROOT].total, 400);
	end_bench(&b);
}

/* The line of the application's method, not that of the library's which throws for it, nor that of the caller. */
Test(exception_analysis, the_line_where_the_application_throws)
{
	begin_bench(&b);
	give_kind(&b, 1, "System.FormatException", "");
	give_kind(&b, 2, "Shop.Refused", "");
	give_site(&b, 10, 1, 0, STACK(EH, THROW_HELPER, PARSE, RUN, MAIN), 300);
	give_site(&b, 20, 2, 0, STACK(CHECK, MAIN), 100);
	collect_bench(&b);
	struct cpu_capture *c = &b.capture.stacks;
	for (size_t i = 0; i < c->frame_count; i++) {
		if (strcmp(c->frames[i].method ? c->frames[i].method : "", "Check") == 0)
			continue; /* of a module without symbols */
		c->frames[i].file = mem_strdup("src/shop/Cart.cs");
		c->frames[i].line = c->frames[i].method ? 100 + (uint32_t)strlen(c->frames[i].method) : 1;
	}
	exception_analysis_run(&b.capture, &b.a);
	exception_diagnosis_make(&b.a, &b.d);
	cr_assert_neq(b.a.sites[0].frame, UINT32_MAX);
	cr_expect_str_eq(c->frames[b.a.sites[0].frame].method, "Parse");
	cr_expect(strstr(b.d.text, "in Shop.Cart.Parse (Cart.cs:105)"), "%s", b.d.text);
	cr_expect(strstr(b.d.text, "in Shop.Cart.Check."), "%s", b.d.text);
	end_bench(&b);
}

Test(exception_analysis, what_is_thrown_again_is_not_new)
{
	begin_bench(&b);
	give_kind(&b, 1, "Shop.OrderException", "not found");
	give_site(&b, 10, 1, 0, STACK(MACHINE, MAIN), 100);
	give_site(&b, 11, 10, CHANNEL_EXCEPTION_CAUGHT, STACK(MACHINE), 100);
	give_site(&b, 12, 1, CHANNEL_EXCEPTION_RETHROWN, STACK(CHECK, RUN, MAIN), 100);
	give_site(&b, 13, 1, 0, STACK(EH, AGAIN, RUN, MAIN), 500);
	analyze_bench(&b);
	cr_expect(b.a.ways[EXCEPTION_NEW] == 100 && b.a.ways[EXCEPTION_RETHROW] == 100 && b.a.ways[EXCEPTION_AWAIT] == 500);
	cr_expect_eq(b.a.base.tree.nodes[STACK_TREE_ROOT].total, 100);
	const struct exception_sum *s = exception_numbers_site(&b.a);
	cr_expect_str_eq(exception_analysis_method(&b.a, s->method), "Shop.Cart.Load");
	cr_expect_eq(s->distance, CAUGHT_TASK, "the compiler's own catch block is no control flow");
	cr_expect_null(exception_numbers_near(&b.a));
	cr_expect(strstr(b.d.text, "Each is thrown again 6.0 times on its way: 5.0 by awaits, 1.0 by throw"), "%s", b.d.text);
	end_bench(&b);
}

Test(exception_analysis, catch_blocks_tell_what_is_thrown_again_where_no_event_does)
{
	static const struct {
		const char *version;
		double again;
	} rows[] = {{"9.0.1", 80}, {"10.0.0-rc.1", 80}, {"8.0.20", 0}, {NULL, 0}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		begin_bench(&b);
		b.capture.stacks.facts.target.runtime_version = rows[i].version ? mem_strdup(rows[i].version) : NULL;
		b.state.again = 20;
		b.state.sampled_ns = 500000000; /* of two seconds */
		give_kind(&b, 1, "Shop.OrderException", "");
		give_site(&b, 10, 1, 0, STACK(CHECK), 100);
		analyze_bench(&b);
		cr_expect_float_eq(b.a.ways[EXCEPTION_RETHROW], rows[i].again, 0.5, "%s: %g", rows[i].version, b.a.ways[EXCEPTION_RETHROW]);
		end_bench(&b);
	}
}

Test(exception_analysis, control_flow_leads_with_its_place_and_remedy)
{
	begin_bench(&b);
	b.state.timed = 1000;
	b.state.timed_ns = 20000000; /* 20 us each: 10,000 exceptions are a fifth of the CPU second */
	give_kind(&b, 1, "System.FormatException", "");
	give_site(&b, 10, 1, 0, STACK(THROW_HELPER, PARSE, RUN, MAIN), 10000);
	give_site(&b, 11, 10, CHANNEL_EXCEPTION_CAUGHT, STACK(PARSE), 10000);
	analyze_bench(&b);
	cr_expect_str_eq(b.d.finding, "ExceptionsAsControlFlow");
	cr_expect_str_eq(b.d.headline, "5,000 exceptions/s, thrown and caught in Shop.Cart.Parse");
	cr_expect(strstr(b.d.text, "TryParse"), "%s", b.d.text);
	cr_expect_float_eq(b.a.cost_percent, 20, 0.01);
	end_bench(&b);
}

/* A quarter of the time was watched: what was counted stands for four times as many, and is said to be a lower bound. */
Test(exception_analysis, sampled_time_is_scaled)
{
	begin_bench(&b);
	b.state.sampled_ns = 500000000;
	give_kind(&b, 1, "Shop.OrderException", "");
	give_site(&b, 10, 1, 0, STACK(CHECK, RUN, MAIN), 1000);
	analyze_bench(&b);
	cr_expect_float_eq(b.a.ways[EXCEPTION_NEW], 4000, 0.01);
	cr_expect_eq(b.capture.counted, 1000);
	cr_expect_not(b.a.exact);
	cr_expect_str_eq(b.d.headline, "At least 2,000 exceptions/s, 100% Shop.OrderException in Shop.Cart.Check");
	end_bench(&b);
}

Test(exception_analysis, nothing_thrown_is_said)
{
	begin_bench(&b);
	analyze_bench(&b);
	cr_expect_str_eq(b.d.finding, "none");
	cr_expect_str_eq(b.d.headline, "No exception was thrown in 2 s");
	cr_expect_eq(b.a.base.tree.nodes[STACK_TREE_ROOT].total, 0);
	end_bench(&b);
}

/* The library ends with the process: it does not get to tell of the exception that ended it. */
Test(exception_analysis, nothing_seen_of_a_process_that_ended_is_not_nothing_thrown)
{
	begin_bench(&b);
	b.capture.stacks.facts.process_ended = true;
	analyze_bench(&b);
	cr_expect_str_eq(b.d.headline, "No exception was seen in 2 s");
	cr_expect(strstr(b.d.text, "the last 0.1 s before the process ended may be missing"), "%s", b.d.text);
	end_bench(&b);
}

Test(exception_analysis, the_last_exception_that_nobody_caught_is_told)
{
	static const struct {
		const char *signal;
		int64_t duration_ns;
		uint16_t last; /* flags */
		bool told;
	} rows[] = {
		{"SIGABRT", 1500000000, 0, true}, {"SIGABRT", 5000000000, 0, false}, {"SIGKILL", 1500000000, 0, false}, {NULL, 1500000000, 0, false},
		{"SIGABRT", 1500000000, CHANNEL_EXCEPTION_CAUGHT, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		begin_bench(&b);
		b.capture.stacks.facts.process_ended = true;
		b.capture.stacks.facts.exit = (struct exit_status){true, 134, rows[i].signal};
		b.capture.stacks.facts.duration_ns = rows[i].duration_ns;
		b.capture.catchers = true;
		give_kind(&b, 1, "Shop.OrderException", "");
		give_kind(&b, 2, "Shop.LastException", "");
		give_site(&b, 10, 1, 0, STACK(CHECK, RUN), 9);
		give_site(&b, 11, 10, CHANNEL_EXCEPTION_CAUGHT, STACK(RUN), 9);
		give_site(&b, 12, 2, 0, STACK(PARSE, MAIN), 1);
		if (rows[i].last)
			give_site(&b, 13, 12, rows[i].last, STACK(MAIN), 1);
		analyze_bench(&b);
		cr_expect_eq(strstr(b.d.text, "No catch block was seen for the last Shop.LastException, thrown in Shop.Cart.Parse: .NET ends so") != NULL,
			     rows[i].told, "%zu: %s", i, b.d.text);
		cr_expect_eq(strstr(b.d.text, "may be missing") != NULL, !rows[i].told, "%zu: %s", i, b.d.text);
		end_bench(&b);
	}
}

/* Kinds that never came, catches of sites that are not known, a catch of itself. */
Test(exception_analysis, frames_that_do_not_fit_together_are_survived)
{
	begin_bench(&b);
	give_site(&b, 10, 99, 0, STACK(CHECK), 5);
	give_site(&b, 11, 77, CHANNEL_EXCEPTION_CAUGHT, STACK(RUN), 5);
	give_site(&b, 12, 12, CHANNEL_EXCEPTION_CAUGHT, STACK(RUN), 5);
	analyze_bench(&b);
	cr_assert_eq(b.a.site_count, 1);
	cr_expect_str_eq(b.capture.kinds[b.a.sites[0].kind].type, "(unknown type)");
	cr_expect_eq(b.a.sites[0].distance, CAUGHT_UNKNOWN);
	end_bench(&b);
}

/* A time limit's is made without a throw; what a Lazy keeps is thrown anew to each who asks. */
Test(exception_analysis, exceptions_that_were_not_thrown_before)
{
	begin_bench(&b);
	give_kind(&b, 1, "System.TimeoutException", "");
	give_site(&b, 10, 1, 0, STACK(AGAIN, MACHINE, RUN, MAIN), 8);
	analyze_bench(&b);
	cr_expect(b.a.ways[EXCEPTION_NEW] == 0 && b.a.ways[EXCEPTION_AWAIT] == 8);
	cr_expect_str_eq(b.d.headline, "4.0 exceptions/s, thrown by awaits: System.TimeoutException in Shop.Cart.Load");
	cr_expect_str_eq(b.d.finding, "none");
	cr_expect(strstr(b.d.text, "\nMost: System.TimeoutException 8 times in Shop.Cart.Load"), "%s", b.d.text);
	end_bench(&b);
	begin_bench(&b);
	give_kind(&b, 1, "System.TimeoutException", "");
	give_site(&b, 10, 1, 0, STACK(EH, AGAIN, LAZY, CHECK, MAIN), 8);
	analyze_bench(&b);
	cr_expect(b.a.ways[EXCEPTION_NEW] == 8 && b.a.ways[EXCEPTION_AWAIT] == 0);
	cr_expect_str_eq(exception_analysis_method(&b.a, b.a.sites[0].method), "Shop.Cart.Check");
	end_bench(&b);
}
