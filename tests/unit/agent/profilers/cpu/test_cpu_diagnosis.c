#include "agent/profilers/cpu/cpu_diagnosis.h"
#include "agent/report/phrase.h"
#include "agent/report/report_head.h"
#include "agent/report/report.h"
#include "common/base/cleanup.h"
#include "tests/unit/agent/stacks/make_capture.h"

#include <criterion/criterion.h>

struct part {
	const char *thread;
	uint32_t count;
	const char *stack;
};

struct setting { /* of the capture; 0: as it is made */
	int64_t limit_millicores, throttled, periods, cpu_ns, lost;
	const char *fallback;
	bool canceled;
	int64_t collection_ns, uptime_minutes;
};

static const struct {
	const char *name;
	struct part parts[6];
	struct setting set;
	enum cpu_finding finding;
	const char *headline;
	const char *lines[4]; /* each stands somewhere in the text */
	const char *absent;
} rows[] = {
	{"one method",
	 {{"w", 800, "app:Shop.Cart:Total;app:Shop.Tax:Compute"}, {"w", 200, "app:Shop.Cart:Total;app:Shop.Stock:Check"}},
	 {0},
	 CPU_FINDING_METHOD,
	 "80% of CPU in Shop.Tax.Compute",
	 {"Called from Shop.Cart.Total.", "Next: Shop.Stock.Check 20%.",
	  "Used 1.0 of the node's 4 CPUs (no limit set).", "1 of 1 thread is busy: \"w\" 100%."},
	 "Its own code"},
	{"two callers",
	 {{"w", 600, "app:Shop.A:Run;app:Shop.Tax:Compute"}, {"w", 400, "app:Shop.B:Run;app:Shop.Tax:Compute"}},
	 {0},
	 CPU_FINDING_METHOD,
	 "100% of CPU in Shop.Tax.Compute",
	 {"Called from Shop.A.Run (60% of it) and Shop.B.Run (40% of it)."},
	 NULL},
	{"time in what it calls",
	 {{"w", 700, "app:Shop.Cart:Render;lib:System.Text.Json.JsonSerializer:Serialize"}, {"w", 300, "app:Shop.Cart:Render"}},
	 {0},
	 CPU_FINDING_METHOD,
	 "100% of CPU in Shop.Cart.Render (JsonSerializer.Serialize)",
	 {"Its own code takes 30%, what it calls: System.Text.Json.JsonSerializer.Serialize 70%."},
	 NULL},
	{"a library, below a delegate that was compiled into it",
	 {{"w", 300, "lib:System.Run:Go;dyn::lambda_method1;lib:System.Sorter:Sort;lib:System.Sorter:Insert"},
	  {"w", 300, "lib:System.Run:Go;dyn::lambda_method1;lib:System.Sorter:Sort;lib:System.Sorter:Partition"},
	  {"w", 20, "app:S.Web:Client"}, {"w", 380, "lib:System.Run:Go;dyn::lambda_method1;lib:System.Json:Write"}},
	 {0},
	 CPU_FINDING_METHOD,
	 "60% of CPU in Sorter.Sort; no application method is on the stack",
	 {"\n.NET's own code works there without being called by the application, or the runtime has inlined the application's method into it."},
	 NULL},
	{"a delegate, below what it is given to",
	 {{"w", 600, "lib:System.Run:Go;dyn::lambda_method1;lib:System.Sorter:Sort;lib:System.Sorter:Insert;app:Shop.Prices+<>c:<Cheapest>b__0_0"},
	  {"w", 300, "lib:System.Run:Go;dyn::lambda_method1;lib:System.Sorter:Sort;app:Shop.Prices+<>c:<Cheapest>b__0_0"},
	  {"w", 100, "lib:System.Threading.Thread:Start;app:Shop.Prices+<>c:<Cheapest>b__0_0"}},
	 {0},
	 CPU_FINDING_METHOD,
	 "100% of CPU in Shop.Prices.Cheapest.lambda",
	 {"\nCalled by System.Sorter.Sort (90% of it)."},
	 "Called from"},
	{"a delegate that a thread begins with",
	 {{"w", 900, "lib:System.Threading.Thread:Start;app:Shop.Prices+<>c:<Cheapest>b__0_0"}},
	 {0},
	 CPU_FINDING_METHOD,
	 "100% of CPU in Shop.Prices.Cheapest.lambda",
	 {NULL},
	 "Called "},
	{"an await",
	 {{".NET TP Worker", 990, "lib:System.Threading.ExecutionContext:RunInternal;app:Shop.A+<Load>d__1:MoveNext"}},
	 {0},
	 CPU_FINDING_METHOD,
	 "100% of CPU in Shop.A.Load",
	 {"It is resumed by the thread pool after an await."},
	 "Called from"},
	{"the runtime itself",
	 {{"w", 600, "app:Shop.Cart:Fill;rt:"}, {"w", 200, "app:Shop.Cart:Fill"}},
	 {0},
	 CPU_FINDING_CATEGORY,
	 "75% of CPU in the runtime itself, below Shop.Cart.Fill",
	 {"Most application time is in Shop.Cart.Fill 100%.", "Outside managed code: runtime (allocation, casts, other) 75%."},
	 NULL},
	{"garbage collection, on the thread that allocates",
	 {{"w", 500, "app:Shop.Cart:Fill;rt:"}, {"w", 300, "app:Shop.Cart:Fill"}},
	 {.collection_ns = 5 * MAKE_SECOND},
	 CPU_FINDING_CATEGORY,
	 "63% of CPU in garbage collection, triggered below Shop.Cart.Fill",
	 {"1 garbage collection stopped it (generations 0, 1, 2: 1, 0, 0), 50% of the time, at most 5000.0 ms."},
	 NULL},
	{"garbage collection, on threads of its own",
	 {{".NET Server GC", 600, "libc:;rt:"}, {"w", 400, "app:Shop.Cart:Fill"}},
	 {0},
	 CPU_FINDING_CATEGORY,
	 "60% of CPU in garbage collection: too much is allocated",
	 {"Most application time is in Shop.Cart.Fill 40%."},
	 "stopped it"},
	{"the compiler",
	 {{".NET Tiered Com", 500, "libc:;rt:;jit:"}, {"w", 300, "app:Shop.Cart:Fill"}},
	 {0},
	 CPU_FINDING_CATEGORY,
	 "62% of CPU in JIT compilation (still warming up)",
	 {"JIT compilation 62%."},
	 "not start-up"},
	{"the compiler, long after the start",
	 {{".NET Tiered Com", 500, "libc:;rt:;jit:"}, {"w", 300, "app:Shop.Cart:Fill"}},
	 {.uptime_minutes = 200},
	 CPU_FINDING_CATEGORY,
	 "62% of CPU in JIT compilation",
	 {"The process has run for 3 hours, so this is not start-up: code is generated again and again."},
	 "warming up"},
	{"what ASP.NET Core generates",
	 {{"w", 700, "lib:System.A:Run;dyn::lambda_method1;app:Shop.Catalog:Matches;lib:System.Text.RegularExpressions.Regex:.ctor"},
	  {"w", 300, "lib:System.A:Run;dyn::lambda_method1;lib:System.Text.Json.JsonSerializer:Serialize"}},
	 {0},
	 CPU_FINDING_METHOD,
	 "70% of CPU in Shop.Catalog.Matches (Regex construction)",
	 {NULL},
	 "lambda_method1"},
	/* a method's share is the same number in all lines: what stands on its stacks */
	{"compiled expressions, long after the start",
	 {{"w", 200, "app:Shop.Api:Get;app:Shop.Catalog:Matches;lib:System.Text.RegularExpressions.Regex:.ctor;rt:;jit:"},
	  {"w", 200, "app:Shop.Api:Get;app:Shop.Catalog:Matches;lib:System.Text.RegularExpressions.Regex:.ctor"},
	  {"w", 170, "app:Shop.Api:Get;app:Shop.Catalog:Matches;lib:System.Text.RegularExpressions.Regex:.ctor;rt:ClassLoader::LoadTypeHandle"},
	  {"w", 200, "app:Shop.Api:Get;app:Shop.Catalog:Matches;app:Shop.Catalog:Score"},
	  {".NET Tiered Com", 230, "libc:;rt:;jit:"}},
	 {.uptime_minutes = 200},
	 CPU_FINDING_METHOD,
	 "77% of CPU in Shop.Catalog.Matches (Regex construction)",
	 {"Called from Shop.Api.Get.", "JIT compilation 43%"},
	 "warming up"},
	{"a loop that does much itself and calls the rest",
	 {{"w", 300, "app:S.M:Loop"}, {"w", 250, "app:S.M:Loop;app:S.A:A"}, {"w", 250, "app:S.M:Loop;app:S.B:B"}, {"w", 200, "app:S.M:Loop;app:S.C:C"}},
	 {0},
	 CPU_FINDING_SPREAD,
	 "No single hot spot; 100% passes through S.M.Loop",
	 {"Most application time is in S.M.Loop 100%."},
	 "30% of CPU"},
	{"what comes next is another place",
	 {{"w", 600, "app:S.M:Main;app:S.A:A"}, {"w", 150, "app:S.M:Main"}, {"w", 150, "app:S.M:Main;app:S.B:B"},
	  {"w", 100, "app:S.M:Main;app:S.B:B;app:S.C:C"}},
	 {0},
	 CPU_FINDING_METHOD,
	 "60% of CPU in S.A.A",
	 {"Next: S.B.B 25%, S.C.C 10%."},
	 "Main 15%"},
	{"a runtime without symbols",
	 {{"w", 450, "libc:;rt:;app:S.A:A;rt:"}, {"w", 550, "libc:;rt:;app:S.A:A"}},
	 {0},
	 CPU_FINDING_METHOD,
	 "100% of CPU in S.A.A",
	 {"Its own code takes 55%, what it calls: the runtime 45%."},
	 "libcoreclr"},
	{"the kernel",
	 {{"w", 700, "app:Shop.Log:Flush;lib:System.IO.RandomAccess:WriteAtOffset;kernel:vfs_write"}, {"w", 300, "app:Shop.Cart:Fill"}},
	 {0},
	 CPU_FINDING_CATEGORY,
	 "70% of CPU in the kernel, below Shop.Log.Flush",
	 {"Most application time is in Shop.Log.Flush 70%."},
	 NULL},
	{"spread",
	 {{"w", 100, "app:S.M:Main;app:S.A:A"}, {"w", 100, "app:S.M:Main;app:S.B:B"}, {"w", 100, "app:S.M:Main;app:S.C:C"},
	  {"w", 100, "app:S.M:Main;app:S.D:D"}, {"w", 100, "app:S.M:Main;app:S.E:E"}, {"w", 101, "app:S.M:Main;app:S.F:F"}},
	 {0},
	 CPU_FINDING_SPREAD,
	 "No single hot spot; 100% passes through S.M.Main",
	 {"Most application time is in S.F.F 17%."},
	 NULL},
	{"throttled",
	 {{"w", 1000, "app:Shop.Cart:Total;app:Shop.Tax:Compute"}},
	 {.limit_millicores = 500, .throttled = 60, .periods = 100, .cpu_ns = 5 * MAKE_SECOND},
	 CPU_FINDING_METHOD,
	 "100% of CPU in Shop.Tax.Compute; throttled",
	 {"Used 0.5 of 0.5 CPUs, 100% of the container's limit."},
	 NULL},
	{"a limit that does not hurt",
	 {{"w", 1000, "app:Shop.Tax:Compute"}},
	 {.limit_millicores = 2000, .throttled = 0, .periods = 100, .cpu_ns = 5 * MAKE_SECOND},
	 CPU_FINDING_METHOD,
	 "100% of CPU in Shop.Tax.Compute",
	 {"Used 0.5 of 2.0 CPUs, 25% of the container's limit."},
	 "slows it down"},
	{"idle",
	 {{"w", 5, "app:Shop.Tax:Compute"}},
	 {0},
	 CPU_FINDING_IDLE,
	 "Idle: 0.005 of 4.0 CPUs used in 10 s",
	 {"CPU use does not explain slowness here", "Only 5 samples: shares are rough."},
	 "Next:"},
	{"one of three thousand threads had a timer for a moment",
	 {{"w", 1, "lib:System.Threading.LowLevelLifoSemaphore:WaitForSignal"}},
	 {.cpu_ns = 475 * MAKE_SECOND / 100},
	 CPU_FINDING_FEW_SAMPLES,
	 "No verdict: 1 sample came where 475 were due",
	 {"Used 0.5 of the node's 4 CPUs", "Only 1 sample: shares are rough."},
	 "100% of CPU"},
	{"a good part of what was due",
	 {{"w", 130, "app:Shop.Tax:Compute"}},
	 {.cpu_ns = 5 * MAKE_SECOND},
	 CPU_FINDING_METHOD,
	 "100% of CPU in Shop.Tax.Compute",
	 {NULL},
	 "No verdict"},
	{"no samples", {{NULL, 0, NULL}}, {.cpu_ns = 3 * MAKE_SECOND}, CPU_FINDING_NO_SAMPLES, "0.3 CPUs were used, but no sample could be taken", {NULL}, "busy"},
	{"doubts",
	 {{"w", 1000, "app:Shop.Tax:Compute"}},
	 {.lost = 50, .fallback = "PerfEventsForbidden", .canceled = true},
	 CPU_FINDING_METHOD,
	 "100% of CPU in Shop.Tax.Compute",
	 {"Ended early, after 10.0 s: on request.", "Sampled by timers in the process (PerfEventsForbidden)", "Samples lost: 50."},
	 NULL},
	{"a limit that is not known",
	 {{"w", 1000, "app:S.A:A"}},
	 {.limit_millicores = -1},
	 CPU_FINDING_METHOD,
	 "100% of CPU in S.A.A",
	 {"Used 1.0 of the node's 4 CPUs."},
	 "no limit set"},
	{"groups of threads",
	 {{"worker-1", 200, "app:S.A:A"}, {"worker-2", 200, "app:S.A:A"}, {"worker-13", 200, "app:S.A:A"}, {"mail", 300, "app:S.A:A"}},
	 {0},
	 CPU_FINDING_METHOD,
	 "100% of CPU in S.A.A",
	 {"4 of 4 threads are busy: \"mail\" 33%, \"worker\" 67% on 3."},
	 NULL},
	{"threads without a name",
	 {{"", 700, "app:S.A:A"}, {"mail", 300, "app:S.A:A"}},
	 {0},
	 CPU_FINDING_METHOD,
	 "100% of CPU in S.A.A",
	 {"busy: the thread with id "},
	 "\"\""},
};

static void prepare(struct made *m, const struct part *parts, const struct setting *s, struct capture_collection *collection)
{
	make_begin(m);
	for (size_t i = 0; i < 6 && parts[i].thread; i++)
		make_samples(m, parts[i].thread, parts[i].count, parts[i].stack);
	struct cpu_capture *c = &m->capture;
	c->cpu_limit_millicores = s->limit_millicores;
	if (s->periods) {
		c->throttled_periods = s->throttled;
		c->total_periods = s->periods;
		c->throttled_ns = s->throttled ? 5 * MAKE_SECOND / 2 : 0;
	}
	if (s->cpu_ns)
		c->process_cpu_ns = s->cpu_ns;
	c->lost_samples = s->lost;
	c->fallback_reason = s->fallback;
	c->facts.canceled = s->canceled;
	c->facts.uptime_ms = s->uptime_minutes * 60000;
	if (s->collection_ns) {
		*collection = (struct capture_collection){.start_ns = 0, .end_ns = s->collection_ns, .tid = 10};
		c->collections = collection;
		c->collection_count = 1;
	}
}

Test(cpu_diagnosis, says_what_a_doctor_would)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct made m;
		struct cpu_analysis a;
		struct cpu_diagnosis d;
		struct capture_collection collection;
		prepare(&m, rows[i].parts, &rows[i].set, &collection);
		cpu_analysis_run(&m.capture, &a);
		cpu_diagnosis_make(&a, &d);
		cr_expect_eq(d.finding, rows[i].finding, "%s: %d", rows[i].name, d.finding);
		cr_expect_str_eq(d.headline, rows[i].headline, "%s: %s", rows[i].name, d.headline);
		cr_expect(strncmp(d.text, d.headline, strlen(d.headline)) == 0, "the text begins with the headline");
		for (size_t k = 0; k < 4 && rows[i].lines[k]; k++)
			cr_expect(strstr(d.text, rows[i].lines[k]), "%s: no \"%s\" in:\n%s", rows[i].name, rows[i].lines[k], d.text);
		cr_expect(!rows[i].absent || !strstr(d.text, rows[i].absent), "%s: \"%s\" in:\n%s", rows[i].name, rows[i].absent, d.text);
		cpu_diagnosis_fini(&d);
		cpu_analysis_fini(&a);
		m.capture.collections = NULL;
		make_end(&m);
	}
}

/* However long the names are: one line of 80 characters, 2 KiB in all. */
Test(cpu_diagnosis, stays_short)
{
	static const char *const kinds[] = {"app:%s:Compute", "app:%s:Compute;rt:", "app:%s:Compute;kernel:vfs_write", "app:S.A:%s"};
	for (size_t length = 1; length < 600; length += 37)
		for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
			struct made m;
			struct cpu_analysis a;
			struct cpu_diagnosis d;
			char type[700], stack[1000];
			make_begin(&m);
			for (int i = 0; i < 6; i++) {
				memset(type, 'a' + i, length);
				type[length] = '\0';
				snprintf(stack, sizeof stack, kinds[k], type);
				make_samples(&m, type, i ? 100 : 400, stack);
			}
			cpu_analysis_run(&m.capture, &a);
			cpu_diagnosis_make(&a, &d);
			cr_expect_leq(phrase_chars(d.headline), HEADLINE_MAX_CHARS, "%s", d.headline);
			cr_expect(!strchr(d.headline, '\n'));
			cr_expect_leq(strlen(d.text), DIAGNOSIS_MAX_BYTES);
			cpu_diagnosis_fini(&d);
			cpu_analysis_fini(&a);
			make_end(&m);
		}
}

Test(cpu_diagnosis, phrases)
{
	static const struct {
		double percent;
		const char *expected;
	} percents[] = {{84.2, "84%"}, {9.96, "10%"}, {9.94, "9.9%"}, {0.1, "0.1%"}, {0.05, "0.05%"}, {0, "0.0%"}, {100, "100%"}};
	for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
		AUTO_BUF struct buf b;
		buf_init(&b, 64);
		phrase_percent(&b, percents[i].percent);
		cr_expect_str_eq(buf_str(&b), percents[i].expected, "%s", buf_str(&b));
	}
	static const struct {
		bool unmeasured;
		int64_t pause_us, wait_us;
		const char *expected;
	} held[] = {{false, 0, 0, "the application was never paused"},
		    {false, 0, 17700, "the application was never paused; one of its threads waited for at most 17.7 ms"},
		    {false, 1234, 999, "the application was paused for at most 1.2 ms; one of its threads waited for at most 999 us"},
		    {true, 0, 0, "the application was never paused; how long its threads waited was not measured"},
		    {true, 0, 999, "the application was never paused; one of its threads waited for at most 999 us"}};
	for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
		AUTO_BUF struct buf b;
		struct session_facts f = {.held_unmeasured = held[i].unmeasured, .cost = {.max_pause_us = held[i].pause_us, .max_wait_us = held[i].wait_us}};
		buf_init(&b, 160);
		report_head_pause(&f, &b);
		cr_expect_str_eq(buf_str(&b), held[i].expected);
	}
	static const struct {
		int64_t count, us;
		const char *expected;
	} collections[] = {{0, 0, ""}, {1, 900, "; 1 blocking garbage collection while attached, 0.9 ms"},
			   {12, 33100, "; 12 blocking garbage collections while attached, 33.1 ms"}};
	for (size_t i = 0; i < sizeof collections / sizeof collections[0]; i++) {
		AUTO_BUF struct buf b;
		struct session_facts f = {.cost = {.blocking_collections = collections[i].count, .blocking_collections_us = collections[i].us}};
		buf_init(&b, 128);
		report_head_collections(&f, "; ", &b);
		cr_expect_str_eq(buf_str(&b), collections[i].expected);
	}
}

Test(cpu_diagnosis, says_what_musl_keeps_of_the_library)
{
	for (int64_t bytes = 0; bytes <= 233472; bytes += 233472) {
		AUTO_BUF struct buf b;
		struct session_facts f = {.kept_library_bytes = bytes};
		buf_init(&b, 256);
		report_head_kept(&f, "; ", &b);
		cr_expect_str_eq(buf_str(&b), bytes ? "; the profiler's library stays mapped, inactive, 228 KiB, until the process ends: the C library of "
						      "Alpine (musl) unmaps none" : "");
	}
}
