#include "agent/profilers/cpu/cpu_report.h"
#include "agent/profilers/cpu/cpu_rules.h"
#include "agent/profilers/cpu/cpu_signs.h"
#include "agent/report/phrase.h"
#include "agent/report/report.h"
#include "tests/unit/agent/stacks/make_capture.h"
#include "tests/unit/rules_capture.h"

#include <criterion/criterion.h>

/* A process of which nothing is to be said but where its time goes. */
static void make_healthy(struct cpu_numbers *n)
{
	static const size_t zeros[] = {
#define ZERO(name) offsetof(struct cpu_numbers, name),
#define NOTHING(name)
		CPU_NUMBERS(ZERO, NOTHING)};
	rules_clear(&cpu_numbers_fields, n);
	for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
		*(double *)((char *)n + zeros[i]) = 0;
	n->samples = n->samples_due = 1000;
	n->seconds = 10;
	n->uptime_minutes = 60;
	n->cpus_used = 1;
	n->cpus_allowed = n->node_cpus = 4;
	n->method_of_application = 1;
	n->method_percent = n->method_caused_percent = n->method_worked_percent = 15;
	rules_set_text(&n->method, "Shop.Cart.Total");
	rules_set_text(&n->funnel, "Shop.Program.Main");
	rules_set_text(&n->start_wait, "waiting for 10.0.3.7:5432");
	rules_set_text(&n->start_wait_kind, "socket");
	rules_set_text(&n->start_wait_place, "Shop.Migrations.Run");
	n->funnel_percent = 90;
}

struct number {
	size_t at; /* offset + 1; 0: none */
	double value;
};
#define N(name, value) {offsetof(struct cpu_numbers, name) + 1, value}
#define START(seconds, port, waiting, most) \
	N(since_start, 1), N(start_seconds, seconds), N(start_port, port), N(start_waiting_percent, waiting), N(start_wait_percent, most)

static const struct {
	const char *id;
	struct number set[7];
	enum finding_state state;
	int score;
	const char *message; /* NULL: any */
} rows[] = {
	{"Idle", {N(cpus_used, 0.0199)}, FINDING_FOUND, 100, "Idle: 0.02 of 4.0 CPUs used in 10 s"},
	{"Idle", {N(cpus_used, 0.02), N(cpus_allowed, NAN)}, FINDING_EXCLUDED, 0, NULL},
	{"Idle", {N(cpus_used, 0.0499)}, FINDING_FOUND, 100, NULL},
	{"Idle", {N(cpus_used, 0.05)}, FINDING_EXCLUDED, 0, NULL},
	{"Idle", {N(cpus_used, 0.04), N(cpus_allowed, 0.39)}, FINDING_EXCLUDED, 0, NULL}, /* a tenth of what it may use */
	{"Idle", {N(cpus_used, 0.01), N(waited_seconds, 9), N(node_pressure_percent, 90)}, FINDING_EXCLUDED, 0, NULL}, /* it gets no CPU */
	{"Idle", {N(cpus_used, 0.01), N(waited_seconds, NAN), N(node_pressure_percent, 50)}, FINDING_NOT_MEASURED, 0,
	 "how long its threads waited for a CPU of the full node is not known"},
	{"Idle", {N(cpus_used, 0.01), N(waited_seconds, NAN), N(node_pressure_percent, 49)}, FINDING_FOUND, 100, NULL},
	{"Idle", {N(cpus_used, 0.01), N(waited_seconds, NAN), N(node_pressure_percent, NAN)}, FINDING_FOUND, 100, NULL},
	{"TooFewSamples", {N(samples, 8), N(cpus_used, 0.01), N(waited_seconds, NAN), N(node_pressure_percent, 90)}, FINDING_FOUND, 100, NULL},
	{"NoSamplesTaken", {N(samples, 0)}, FINDING_FOUND, 100, "1.0 CPUs were used, but no sample could be taken"},
	{"NoSamplesTaken", {N(samples, 0), N(cpus_used, 0.01)}, FINDING_EXCLUDED, 0, NULL},
	{"TooFewSamples", {N(samples, 249)}, FINDING_FOUND, 100, "No verdict: 249 samples came where 1000 were due"},
	{"TooFewSamples", {N(samples, 250)}, FINDING_EXCLUDED, 0, NULL},
	{"TooFewSamples", {N(samples, 20), N(samples_due, 100)}, FINDING_FOUND, 100, "No verdict: 20 samples came where 100 were due"},
	{"TooFewSamples", {N(samples, 19), N(samples_due, NAN)}, FINDING_FOUND, 100, "No verdict: only 19 samples came"},
	{"TooFewSamples", {N(samples, 20), N(samples_due, NAN)}, FINDING_EXCLUDED, 0, NULL},
	{"TooFewSamples", {N(samples, 20), N(samples_due, 49)}, FINDING_EXCLUDED, 0, NULL},
	{"StartWaits", {N(start_waiting_percent, 90)}, FINDING_EXCLUDED, 0, ""}, /* it began with no process */
	{"StartWaits", {START(12.4, 8080, 68, 61), N(start_cpu_percent, 30), N(start_jit_percent, 22)}, FINDING_FOUND, 100,
	 "12.4 s until port 8080: 61% waiting for 10.0.3.7:5432 in Shop.Migrations.Run"},
	{"StartWaits", {START(1.0, 8080, 30, 20), N(start_cpu_percent, 85)}, FINDING_FOUND, 30, NULL},
	{"StartWaits", {START(1.0, 8080, 30, 20), N(start_cpu_percent, 86)}, FINDING_POSSIBLE, 30, NULL}, /* the two cannot both be */
	{"StartWaits", {START(0.99, 8080, 90, 90)}, FINDING_EXCLUDED, 0, "a start that waits"},
	{"StartWaits", {START(12, 8080, 29.9, 29)}, FINDING_EXCLUDED, 0, NULL},
	{"StartWaits", {START(5, 0, 90, 50)}, FINDING_POSSIBLE, 50, "No port in 5 s: 50% waiting for 10.0.3.7:5432 in Shop.Migrations.Run"},
	{"StartWaits", {START(4.9, 0, 90, 50)}, FINDING_EXCLUDED, 0, NULL},
	{"StartWaits", {START(5, 0, 90, 49)}, FINDING_EXCLUDED, 0, NULL},
	{"SpinningThreads", {N(spin_percent, 20), N(spin_threads, 1)}, FINDING_FOUND, 20, "20% of CPU in spinning, not in work"},
	{"SpinningThreads", {N(spin_percent, 20)}, FINDING_POSSIBLE, 20, NULL},
	{"SpinningThreads", {N(spin_percent, 19.9), N(spin_threads, 1)}, FINDING_EXCLUDED, 0, "spinning"},
	{"SpinningThreads", {N(spin_percent, 90), N(samples, 249)}, FINDING_NOT_MEASURED, 0, "too few samples came"},
	{"RegexBacktracking", {N(regex_percent, 20), N(regex_longest_seconds, 0.3)}, FINDING_FOUND, 20, "20% of CPU in regex backtracking"},
	{"RegexBacktracking", {N(regex_percent, 19.9), N(regex_longest_seconds, 0.3)}, FINDING_EXCLUDED, 0, NULL},
	{"RegexBacktracking", {N(regex_percent, 90), N(regex_longest_seconds, 0.29)}, FINDING_EXCLUDED, 0, NULL},
	{"RegexBacktracking",
	 {N(regex_percent, 73), N(regex_longest_seconds, 0.24), N(regex_chance_seconds, 0.06), N(waited_seconds, 26), N(seconds, 6), N(cpus_used, 0.2)},
	 FINDING_POSSIBLE, 73, NULL},
	{"SpinningThreads", {N(tight_percent, 80), N(runtime_percent, 90)}, FINDING_POSSIBLE, 80, NULL},
	{"SpinningThreads", {N(tight_percent, 79), N(runtime_percent, 90)}, FINDING_EXCLUDED, 0, NULL},
	{"RuntimeWork", {N(tight_percent, 80), N(runtime_percent, 99)}, FINDING_EXCLUDED, 0, NULL},
	{"RegexBacktracking", {N(regex_percent, 90), N(regex_longest_seconds, 2), N(regex_chance_seconds, 1)}, FINDING_FOUND, 90, NULL},
	{"RegexBacktracking", {N(regex_percent, 90), N(regex_longest_seconds, 2), N(regex_chance_seconds, 1.1)}, FINDING_EXCLUDED, 0, NULL},
	{"RegexBacktracking", {N(regex_call_percent, 20), N(regex_call_longest_seconds, 3)}, FINDING_POSSIBLE, 20, NULL},
	{"RegexBacktracking", {N(regex_call_percent, 90), N(regex_call_longest_seconds, 2.9)}, FINDING_EXCLUDED, 0, NULL},
	{"JitContinues", {N(jit_percent, 50), N(uptime_minutes, 0.1), N(generated_percent, 10), N(generated_late_percent, 15)}, FINDING_FOUND, 50, NULL},
	{"JitContinues", {N(jit_percent, 50), N(uptime_minutes, 0.1), N(generated_percent, 9.9), N(generated_late_percent, 33)}, FINDING_EXCLUDED, 0, NULL},
	{"WarmingUp", {N(jit_percent, 50), N(uptime_minutes, 0.1), N(generated_percent, 40), N(generated_late_percent, 14)}, FINDING_FOUND, 50, NULL},
	{"ConcurrentDictionaryMisuse", {N(dictionary_percent, 80), N(dictionary_threads, 2), N(dictionary_longest_seconds, 1)}, FINDING_FOUND, 80,
	 "2 threads loop in a broken Dictionary"},
	{"ConcurrentDictionaryMisuse", {N(dictionary_percent, 80), N(dictionary_threads, 2), N(dictionary_longest_seconds, 0.9)}, FINDING_EXCLUDED, 0, NULL},
	{"ConcurrentDictionaryMisuse", {N(dictionary_percent, 80), N(dictionary_threads, 1), N(dictionary_longest_seconds, 5)}, FINDING_POSSIBLE, 80, NULL},
	{"ConcurrentDictionaryMisuse", {N(dictionary_percent, 80), N(dictionary_threads, 1), N(dictionary_longest_seconds, 4.9)}, FINDING_EXCLUDED, 0, NULL},
	{"HotMethod", {N(method_percent, 40), N(method_caused_percent, 20), N(method_worked_percent, 20)}, FINDING_FOUND, 20, "40% of CPU in Shop.Cart.Total"},
	{"HotMethod", {N(method_percent, 41), N(method_caused_percent, 20), N(method_worked_percent, 20)}, FINDING_EXCLUDED, 0, "a single hot method"},
	{"HotMethod", {N(method_percent, 19.9), N(method_caused_percent, 19.9)}, FINDING_EXCLUDED, 0, NULL},
	{"GarbageCollection", {N(gc_percent, 30)}, FINDING_FOUND, 30, "30% of CPU in garbage collection: too much is allocated"},
	{"GarbageCollection", {N(gc_percent, 29.9)}, FINDING_EXCLUDED, 0, NULL},
	{"WarmingUp", {N(jit_percent, 30), N(uptime_minutes, 9.9)}, FINDING_FOUND, 30, "30% of CPU in JIT compilation (still warming up)"},
	{"WarmingUp", {N(type_loading_percent, 30), N(uptime_minutes, NAN)}, FINDING_POSSIBLE, 30, "30% of CPU in type loading (still warming up)"},
	{"WarmingUp", {N(jit_percent, 29.9), N(uptime_minutes, 0)}, FINDING_EXCLUDED, 0, NULL},
	{"WarmingUp", {N(jit_percent, 90), N(uptime_minutes, 10)}, FINDING_EXCLUDED, 0, NULL},
	{"JitContinues", {N(jit_percent, 10), N(uptime_minutes, 10)}, FINDING_FOUND, 10, "10% of CPU in JIT compilation"},
	{"JitContinues", {N(jit_percent, 9.9)}, FINDING_EXCLUDED, 0, NULL},
	{"JitContinues", {N(jit_percent, 90), N(uptime_minutes, 9.9)}, FINDING_EXCLUDED, 0, NULL},
	{"JitContinues", {N(jit_percent, 90), N(uptime_minutes, NAN)}, FINDING_NOT_MEASURED, 0, "when the process began is not known"},
	{"ExceptionsThrown", {N(exceptions_percent, 30)}, FINDING_FOUND, 30, "30% of CPU in throwing and catching exceptions"},
	{"ExceptionsThrown", {N(exceptions_percent, 29.9)}, FINDING_EXCLUDED, 0, NULL},
	{"KernelTime", {N(kernel_percent, 68), N(cpus_used, 0.06)}, FINDING_FOUND, 68, "68% of CPU in the kernel; 0.06 CPUs in all"},
	{"KernelTime", {N(kernel_percent, 30)}, FINDING_FOUND, 30, "30% of CPU in the kernel"},
	{"KernelTime", {N(kernel_percent, 29.9)}, FINDING_EXCLUDED, 0, NULL},
	{"RuntimeWork", {N(runtime_percent, 30)}, FINDING_FOUND, 30, "30% of CPU in the runtime itself"},
	{"RuntimeWork", {N(runtime_percent, 29.9)}, FINDING_EXCLUDED, 0, NULL},
	{"ThreadPoolAndLocks", {N(scheduling_percent, 30)}, FINDING_FOUND, 30, NULL},
	{"ThreadPoolAndLocks", {N(scheduling_percent, 29.9)}, FINDING_EXCLUDED, 0, NULL},
	{"ThreadPoolAndLocks", {N(scheduling_percent, 49), N(cpus_used, 0.2)}, FINDING_EXCLUDED, 0, NULL}, /* waking the threads of a pool that does little */
	{"ThreadPoolAndLocks", {N(scheduling_percent, 32), N(cpus_used, 0.174)}, FINDING_EXCLUDED, 0, NULL},
	{"ThreadPoolAndLocks", {N(scheduling_percent, 50), N(cpus_used, 0.2)}, FINDING_FOUND, 50, NULL},
	{"CpuSpread", {N(scheduling_percent, 49), N(cpus_used, 0.2)}, FINDING_FOUND, 1, NULL},
	{"ThreadPoolAndLocks", {N(scheduling_percent, 90), N(spin_percent, 61)}, FINDING_EXCLUDED, 0, NULL},
	{"MethodThatHasNotReturned", {N(running_threads, 1), N(running_seconds, 5), N(running_percent, 40)}, FINDING_POSSIBLE, 40,
	 "Has not returned for 5 s"},
	{"MethodThatHasNotReturned", {N(running_threads, 2), N(running_seconds, 9), N(running_percent, 40)}, FINDING_EXCLUDED, 0, NULL},
	{"MethodThatHasNotReturned", {N(seconds, 4.9)}, FINDING_NOT_MEASURED, 0, NULL},
	{"CpuThrottled", {N(throttled_percent, 10), N(throttled_seconds, 2), N(cpu_limited, 1)}, FINDING_FOUND, 5,
	 "Throttled: the limit of 4.0 CPUs slows it down in 10% of its periods"},
	{"CpuThrottled", {N(throttled_percent, 9.9), N(throttled_seconds, 2), N(cpu_limited, 1)}, FINDING_EXCLUDED, 0, "CPU throttling"},
	{"CpuThrottled", {N(throttled_percent, NAN), N(cpu_limited, 0)}, FINDING_EXCLUDED, 0, NULL},
	{"CpuThrottled", {N(throttled_percent, NAN), N(cpu_limited, NAN)}, FINDING_NOT_MEASURED, 0, NULL},
	{"NodeIsFull", {N(waited_seconds, 2.5), N(node_pressure_percent, 20)}, FINDING_FOUND, 10,
	 "The node is full: its threads waited for a CPU 20% of the time"},
	{"NodeIsFull", {N(waited_seconds, 2.4), N(node_pressure_percent, 20)}, FINDING_EXCLUDED, 0, "a full node"},
	{"NodeIsFull", {N(waited_seconds, 9), N(node_pressure_percent, 19)}, FINDING_EXCLUDED, 0, NULL},
	{"NodeIsFull", {N(waited_seconds, 9), N(node_pressure_percent, NAN)}, FINDING_POSSIBLE, 23, NULL},
	{"NodeIsFull", {N(waited_seconds, 9), N(node_pressure_percent, 90), N(throttled_percent, 5)}, FINDING_EXCLUDED, 0, NULL},
	{"NodeIsFull", {N(waited_seconds, 99), N(node_pressure_percent, 90), N(cpus_used, 2.8)}, FINDING_EXCLUDED, 0, NULL}, /* it waits for itself */
	{"NodeIsFull", {N(waited_seconds, 0.99), N(node_pressure_percent, 90), N(cpus_used, 0.1)}, FINDING_EXCLUDED, 0, NULL},
	{"NodeIsFull", {N(waited_seconds, NAN)}, FINDING_NOT_MEASURED, 0, NULL},
	{"ServerGCInSmallContainer", {N(server_gc_threads, 4), N(cpus_allowed, 2), N(cpu_limited, 1), N(gc_percent, 10)}, FINDING_FOUND, 10,
	 "Server GC has 4 heaps in a container of 2.0 CPUs"},
	{"ServerGCInSmallContainer", {N(server_gc_threads, 4), N(cpus_allowed, 2), N(cpu_limited, 1), N(gc_percent, 9)}, FINDING_POSSIBLE, 9, NULL},
	{"ServerGCInSmallContainer", {N(server_gc_threads, 3), N(cpus_allowed, 2), N(cpu_limited, 1)}, FINDING_EXCLUDED, 0, NULL},
	{"ServerGCInSmallContainer", {N(server_gc_threads, 64), N(cpus_allowed, 2), N(cpu_limited, 0)}, FINDING_EXCLUDED, 0, NULL},
	{"ObserverCost", {N(observer_percent, 5)}, FINDING_FOUND, 5, NULL},
	{"ObserverCost", {N(observer_percent, 4.9)}, FINDING_EXCLUDED, 0, NULL},
	{"CpuSpread", {N(spin_percent, 0)}, FINDING_FOUND, 1, "No single hot spot; 90% passes through Shop.Program.Main"},
	{"CpuSpread", {N(gc_percent, 30)}, FINDING_EXCLUDED, 0, NULL},
};

static const struct finding *finding_of(const struct findings *f, const char *id)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->list[i].id, id) == 0)
			return &f->list[i];
	cr_assert(false, "no rule %s", id);
	return NULL;
}

Test(cpu_rules, thresholds)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct cpu_numbers n;
		struct findings found;
		make_healthy(&n);
		for (size_t k = 0; k < 7 && rows[i].set[k].at; k++)
			*(double *)((char *)&n + rows[i].set[k].at - 1) = rows[i].set[k].value;
		rules_run(cpu_rules, CPU_RULE_COUNT, &cpu_numbers_fields, &n, &found);
		const struct finding *f = finding_of(&found, rows[i].id);
		cr_expect_eq(f->state, rows[i].state, "row %zu, %s: %s: %s", i, rows[i].id, finding_state_name(f->state), f->evidence);
		cr_expect_eq(f->score, rows[i].score, "row %zu, %s: %d", i, rows[i].id, f->score);
		cr_expect(!rows[i].message || strcmp(f->message, rows[i].message) == 0, "row %zu: %s", i, f->message);
		cr_expect_leq(phrase_chars(f->message), HEADLINE_MAX_CHARS, "row %zu: %s", i, f->message);
		findings_fini(&found);
	}
}

/* A method's illness leads before the method, which explains the same time. */
Test(cpu_rules, an_illness_leads_before_the_method_that_has_it)
{
	struct cpu_numbers n;
	struct findings found;
	make_healthy(&n);
	n.method_percent = n.method_caused_percent = n.method_worked_percent = 97;
	n.regex_percent = 95;
	n.regex_longest_seconds = 4;
	rules_set_text(&n.regex_method, "Shop.Mail.Validate");
	rules_run(cpu_rules, CPU_RULE_COUNT, &cpu_numbers_fields, &n, &found);
	cr_expect_str_eq(findings_lead(&found)->id, "RegexBacktracking");
	cr_expect_str_eq(findings_lead(&found)->message, "95% of CPU in regex backtracking, in Shop.Mail.Validate");
	cr_expect_str_eq(findings_lead(&found)->place, "Shop.Mail.Validate");
	cr_expect(findings_find(&found, "HotMethod"));
	findings_fini(&found);
}

Test(cpu_rules, captures)
{
	struct cpu_numbers numbers;
	check_captures("cpu", cpu_rules, CPU_RULE_COUNT, &cpu_numbers_fields, &numbers);
}

/* numbers ---------------------------------------------------------------------------------------------------------- */

#define SPIN "app:S.Q:Take;lib:System.Threading.SpinWait:SpinOnce;rt:"
#define MATCH "app:S.M:Check;lib:System.Text.RegularExpressions.RegexInterpreter:TryMatchAtCurrentPosition"
#define FIND "app:S.C:Get;lib:System.Collections.Generic.Dictionary`2:FindValue"

Test(cpu_rules, signs_in_stacks)
{
	struct made m;
	struct cpu_analysis a;
	struct cpu_numbers n;
	make_begin(&m);
	make_samples(&m, "spinner", 300, SPIN);
	make_samples(&m, "pool", 50, "lib:System.Threading.PortableThreadPool:Work;lib:System.Threading.SpinWait:SpinOnce"); /* not the application's */
	make_samples(&m, "matcher", 60, MATCH);
	make_samples(&m, "matcher", 1, "app:S.M:Check");
	make_samples(&m, "matcher", 40, MATCH);
	make_samples(&m, "generated", 70, "app:S.M:Check;app:System.Text.RegularExpressions.Generated.R+Runner:TryMatchAtCurrentPosition");
	make_samples(&m, "one", 260, FIND);
	make_samples(&m, "two", 260, FIND);
	make_samples(&m, "some", 20, FIND);
	cpu_analysis_run(&m.capture, &a);
	cpu_numbers_of(&a, &n);
	double all = a.samples;
	cr_expect_float_eq(n.spin_percent, 100 * 300 / all, 0.01, "%g", n.spin_percent);
	cr_expect_eq(n.spin_threads, 1);
	cr_expect_str_eq(n.spin_method.text, "S.Q.Take");
	cr_expect_float_eq(n.regex_percent, 100 * 170 / all, 0.01, "%g", n.regex_percent);
	cr_expect_float_eq(n.regex_longest_seconds, 0.7, 0.001, "%g", n.regex_longest_seconds);
	cr_expect_eq(n.dictionary_threads, 2, "that of 0.2 s does not count");
	cr_expect_float_eq(n.dictionary_longest_seconds, 2.6, 0.001);
	cr_expect_str_eq(n.dictionary_method.text, "S.C.Get");
	cpu_analysis_fini(&a);
	make_end(&m);
}

/* Samples of a loop over many short matches are in one most of the time: stretches as long as chance makes them say nothing. */
Test(cpu_rules, many_short_matches_are_no_long_one)
{
	struct made m;
	struct cpu_analysis a;
	struct cpu_numbers n;
	make_begin(&m);
	for (int i = 0; i < 40; i++) { /* 95% in matches */
		make_samples(&m, "w", (uint32_t)(i == 20 ? 76 : 18 + i % 3), MATCH);
		make_samples(&m, "w", 1, "app:S.M:Check");
	}
	cpu_analysis_run(&m.capture, &a);
	cpu_numbers_of(&a, &n);
	cr_expect_float_eq(n.regex_longest_seconds, 0.76, 0.001);
	cr_expect(n.regex_chance_seconds > 0.6 && n.regex_chance_seconds < 0.9, "%g", n.regex_chance_seconds);
	cpu_analysis_fini(&a);
	make_end(&m);
}

Test(cpu_rules, signs_of_generated_code_and_of_tight_loops)
{
	struct made m;
	struct cpu_analysis a;
	struct cpu_numbers n;
	make_begin(&m);
	make_samples(&m, "w", 500, "app:S.R:Discount;lib:System.Linq.Expressions.LambdaExpression:Compile;rt:;jit:");
	make_samples(&m, "w", 99, "app:S.R:Discount;lib:System.Text.RegularExpressions.Regex:Replace");
	make_samples(&m, "w", 1, "app:S.R:Discount;lib:System.Text.RegularExpressions.Regex:Replace;rt:;jit:");
	make_samples(&m, "w", 100, "app:S.G:Enter;rt:");
	make_samples(&m, "w", 300, "app:S.R:Discount;lib:System.Linq.Expressions.LambdaExpression:Compile;rt:;jit:");
	for (size_t i = 0; i < m.capture.frame_count; i++)
		m.capture.frames[i].address = m.capture.frames[i].kind == FRAME_NATIVE ? 0x4711 : 0;
	cpu_analysis_run(&m.capture, &a);
	cpu_numbers_of(&a, &n);
	cr_expect_float_eq(n.generated_percent, 80.1, 0.01, "%g", n.generated_percent);
	cr_expect_float_eq(n.generated_late_percent, 37.5, 0.5, "%g", n.generated_late_percent);
	cr_expect_float_eq(n.tight_percent, 10, 0.01, "%g: only what the application calls itself", n.tight_percent);
	cr_expect_str_eq(n.tight_method.text, "S.G.Enter");
	cr_expect_float_eq(n.regex_call_percent, 10, 0.01, "%g", n.regex_call_percent);
	cr_expect_float_eq(n.regex_call_longest_seconds, 1, 0.001);
	cr_expect_eq(n.regex_percent, 0);
	cr_expect(cpu_numbers_compiles_on(&n), "a young process, but it goes on");
	cpu_analysis_fini(&a);
	for (size_t i = 0; i < m.capture.sample_count; i++) /* a tenth of the samples is from the last third, in which others had the CPUs */
		m.capture.samples[i].time_ns = (i < 900 ? (int64_t)i * 6 : 5400 + ((int64_t)i - 900) * 46) * 1000000;
	cpu_analysis_run(&m.capture, &a);
	cpu_numbers_of(&a, &n);
	cr_expect_lt(n.generated_late_percent, 15, "%g", n.generated_late_percent);
	cpu_analysis_fini(&a);
	m.capture.process_cpu_ns = 10 * MAKE_SECOND;
	m.capture.facts.run_delay_ns = 90 * MAKE_SECOND;
	cpu_analysis_run(&m.capture, &a);
	cpu_numbers_of(&a, &n);
	cr_expect_gt(n.generated_late_percent, 33, "%g", n.generated_late_percent);
	cpu_analysis_fini(&a);
	make_end(&m);
}

/* Regex.IsMatch is inlined into the application's method at some time: what is compiled below the expression's own code goes on. */
Test(cpu_rules, expressions_whose_callers_are_inlined)
{
	struct made m;
	struct cpu_analysis a;
	struct cpu_numbers n;
	make_begin(&m);
	make_samples(&m, "w", 600, "app:S.N:Matches;lib:System.Text.RegularExpressions.Regex:IsMatch;dynregex::Regex7_Scan;rt:;jit:");
	make_samples(&m, "w", 400, "app:S.N:Matches;dynregex::Regex9_Scan;rt:;jit:");
	cpu_analysis_run(&m.capture, &a);
	cpu_numbers_of(&a, &n);
	cr_expect_float_eq(n.generated_percent, 100, 0.01, "%g", n.generated_percent);
	cr_expect_gt(n.generated_late_percent, 30, "%g", n.generated_late_percent);
	cr_expect(cpu_numbers_compiles_on(&n));
	cpu_analysis_fini(&a);
	make_end(&m);
}

/* What a library works itself is more than what is compiled meanwhile. */
Test(cpu_rules, a_library_leads_before_less_compilation)
{
	struct cpu_numbers n;
	struct findings found;
	make_healthy(&n);
	n.method_percent = n.method_caused_percent = 4;
	rules_set_text(&n.library, "System.Sorter.Sort");
	n.funnel_percent = 0;
	n.library_percent = 57;
	n.library_self_percent = 55;
	n.jit_percent = 31;
	n.uptime_minutes = 0.1;
	rules_run(cpu_rules, CPU_RULE_COUNT, &cpu_numbers_fields, &n, &found);
	cr_expect_str_eq(findings_lead(&found)->id, "HotMethod");
	findings_fini(&found);
	n.library_self_percent = 20; /* most of it is what it calls, in the kernel say */
	rules_run(cpu_rules, CPU_RULE_COUNT, &cpu_numbers_fields, &n, &found);
	cr_expect_str_eq(findings_lead(&found)->id, "WarmingUp");
	findings_fini(&found);
}

/* No method of the application stands out: what works most in .NET's libraries is said by its type, whose methods are one. */
Test(cpu_rules, a_library_is_named_where_the_application_is_not_on_the_stacks)
{
	struct made m;
	struct cpu_analysis a;
	struct cpu_numbers n;
	struct findings found;
	make_begin(&m);
	make_samples(&m, "w", 300, "lib:System.Run:Go;dyn::lambda_method1;lib:System.Sorter:Sort;lib:System.Sorter:Insert");
	make_samples(&m, "w", 300, "lib:System.Run:Go;dyn::lambda_method1;lib:System.Sorter:Sort;lib:System.Sorter:Partition");
	make_samples(&m, "w", 20, "app:S.Web:Client");
	make_samples(&m, "w", 380, "lib:System.Run:Go;dyn::lambda_method1;lib:System.Json:Write");
	cpu_analysis_run(&m.capture, &a);
	cpu_numbers_of(&a, &n);
	rules_run(cpu_rules, CPU_RULE_COUNT, &cpu_numbers_fields, &n, &found);
	cr_expect_str_eq(n.library.text, "System.Sorter.Sort");
	cr_expect_float_eq(n.library_percent, 60, 0.01, "%g", n.library_percent);
	cr_expect_str_eq(findings_lead(&found)->message, "60% of CPU in Sorter.Sort; no application method is on the stack");
	findings_fini(&found);
	cpu_analysis_fini(&a);
	make_end(&m);
}

/* A route is on no stack; the method that handles it is, below ASP.NET or the delegate that it makes. */
Test(cpu_rules, the_handler_of_requests_is_named)
{
	static const struct {
		const char *most, *handler, *headline;
	} stacks[] = {
		{"lib:Microsoft.AspNetCore.Mvc.Controllers:Run;app:S.ProductsController:Get;lib:System.Linq:Where;app:S.Catalog:Matches",
		 "S.ProductsController.Get", "100% of CPU in S.Catalog.Matches, from ProductsController.Get"},
		{"lib:System.Run:Go;dyn::lambda_method1;app:S.Shop:Products;app:S.Catalog:Matches", "S.Shop.Products", NULL},
		{"lib:System.Run:Go;dyn::lambda_method1;app:S.Catalog:Matches", "", "100% of CPU in S.Catalog.Matches"}, /* it is the handler */
		{"lib:System.Run:Go;app:S.Job:Run;app:S.Catalog:Matches", "", NULL},
	};
	for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
		struct made m;
		struct cpu_analysis a;
		struct cpu_numbers n;
		struct findings found;
		make_begin(&m);
		m.capture.facts.uptime_ms = 3600000;
		make_samples(&m, "w", 800, stacks[i].most);
		make_samples(&m, "w", 199, "lib:System.Run:Go;app:S.Job:Run;app:S.Catalog:Matches");
		cpu_analysis_run(&m.capture, &a);
		cpu_numbers_of(&a, &n);
		rules_run(cpu_rules, CPU_RULE_COUNT, &cpu_numbers_fields, &n, &found);
		cr_expect_str_eq(n.handler.text, stacks[i].handler, "%zu", i);
		cr_expect(!stacks[i].headline || strcmp(findings_lead(&found)->message, stacks[i].headline) == 0, "%zu: %s", i, findings_lead(&found)->message);
		findings_fini(&found);
		cpu_analysis_fini(&a);
		make_end(&m);
	}
}

Test(cpu_rules, the_pool_is_no_library_that_works)
{
	struct made m;
	struct cpu_analysis a;
	struct cpu_numbers n;
	make_begin(&m);
	make_samples(&m, ".NET TP Worker", 80, "lib:System.Threading.PortableThreadPool+WorkerThread:WorkerThreadStart");
	make_samples(&m, ".NET TP Worker", 20, "lib:System.Threading.PortableThreadPool+WorkerThread:WorkerThreadStart;lib:System.Net.Sockets.Socket:Send");
	cpu_analysis_run(&m.capture, &a);
	cpu_numbers_of(&a, &n);
	cr_expect_str_eq(n.library.text, "System.Net.Sockets.Socket.Send");
	cpu_analysis_fini(&a);
	make_end(&m);
}

Test(cpu_rules, a_pool_thread_that_does_not_come_back)
{
	static const struct {
		const char *thread, *second;
		int threads;
		const char *method;
	} rows_of_threads[] = {
		{".NET TP Worker", "lib:System.Pool:Dispatch;app:S.A:Loop;app:S.C:Other", 1, "S.A.Loop"},
		{".NET TP Worker", "lib:System.Pool:Dispatch;app:S.D:Next", 0, ""}, /* it came back */
		{"importer", "lib:System.Pool:Dispatch;app:S.A:Loop;app:S.C:Other", 0, ""},
		{"importer", "lib:System.Pool:Dispatch;app:S.A:Loop;app:S.B:Work", 1, "S.B.Work"}, /* and calls nothing */
	};
	for (size_t i = 0; i < sizeof rows_of_threads / sizeof rows_of_threads[0]; i++) {
		struct made m;
		struct cpu_analysis a;
		struct cpu_numbers n;
		make_begin(&m);
		make_samples(&m, rows_of_threads[i].thread, 500, "lib:System.Pool:Dispatch;app:S.A:Loop;app:S.B:Work");
		make_samples(&m, rows_of_threads[i].thread, 500, rows_of_threads[i].second);
		cpu_analysis_run(&m.capture, &a);
		cpu_numbers_of(&a, &n);
		cr_expect_eq(n.running_threads, rows_of_threads[i].threads, "row %zu: %g", i, n.running_threads);
		cr_expect_str_eq(n.running_method.text, rows_of_threads[i].method, "row %zu", i);
		cpu_analysis_fini(&a);
		make_end(&m);
	}
}

/* A thread that the node gives half of a CPU at most is in one method all the time nevertheless; that it computes leads. */
Test(cpu_rules, a_method_that_does_not_return_on_a_full_node)
{
	struct made m;
	struct cpu_analysis a;
	struct cpu_numbers n;
	struct findings found;
	make_begin(&m);
	m.capture.facts.uptime_ms = 3600000;
	for (int i = 0; i < 8; i++)
		make_samples(&m, "robot", i ? 30 : 15, "app:S.A:Loop;app:S.B:Wait");
	make_samples(&m, "robot", 14, "app:S.A:Loop;app:S.B:Wait;kernel:schedule"); /* which takes the CPU away */
	make_samples(&m, "robot", 1, "app:S.A:Loop;none:");                         /* a stub on the way into the loop's optimized code */
	for (size_t i = 0; i < m.capture.sample_count; i++)
		m.capture.samples[i].time_ns = (int64_t)i * m.capture.facts.duration_ns / (int64_t)m.capture.sample_count;
	m.capture.process_cpu_ns = 24 * MAKE_SECOND / 10;
	cpu_analysis_run(&m.capture, &a);
	cpu_numbers_of(&a, &n);
	cr_expect_eq(n.running_threads, 0, "it rests most of the time");
	cpu_analysis_fini(&a);
	m.capture.facts.run_delay_ns = 76 * MAKE_SECOND / 10;
	cpu_analysis_run(&m.capture, &a);
	cpu_numbers_of(&a, &n);
	cr_expect_eq(n.running_threads, 1);
	rules_run(cpu_rules, CPU_RULE_COUNT, &cpu_numbers_fields, &n, &found);
	cr_expect(findings_find(&found, "MethodThatHasNotReturned"));
	cr_expect_str_eq(findings_lead(&found)->id, "HotMethod", "%s", findings_lead(&found)->message);
	findings_fini(&found);
	cpu_analysis_fini(&a);
	make_end(&m);
}

Test(cpu_rules, observers_are_known_by_their_names)
{
	static const struct {
		const char *module, *name;
	} modules[] = {{"Datadog.Trace.dll", "Datadog"}, {"NewRelic.Agent.Core.dll", "New Relic"}, {"OpenTelemetry.Api.dll", "OpenTelemetry"},
		       {"libelastic_apm_profiler.so", "Elastic APM"}, {"Shop.dll", NULL}, {"", NULL}, {"System.Diagnostics.DiagnosticSource.dll", NULL}};
	for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
		const char *name = cpu_signs_observer(modules[i].module);
		cr_expect(name == modules[i].name || (name && modules[i].name && strcmp(name, modules[i].name) == 0), "%s", modules[i].module);
	}
	cr_expect_str_eq(cpu_signs_observer_thread("DD.Profiler.Sam"), "Datadog");
	cr_expect_null(cpu_signs_observer_thread(".NET TP Worker"));
}

Test(cpu_rules, a_session_without_samples_is_one_of_an_idle_process)
{
	cr_expect(cpu_report_idle(0, MAKE_SECOND, NAN));
	cr_expect(cpu_report_idle(19999999, MAKE_SECOND, NAN));
	cr_expect(!cpu_report_idle(20000000, MAKE_SECOND, NAN));
	cr_expect(cpu_report_idle(30000000, MAKE_SECOND, 2), "a thousand threads may share so little that none gets a sample");
	cr_expect(!cpu_report_idle(30000000, MAKE_SECOND, 0.2));
	cr_expect(!cpu_report_idle(-1, MAKE_SECOND, 2), "what it used is not known");
	cr_expect(!cpu_report_idle(0, 0, 2), "it did not run its time");
}
