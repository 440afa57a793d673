/* What holds the growth: how it is named, and what is advised. */
#include "agent/profilers/leak/leak_finding.h"
#include "agent/profilers/leak/leak_take.h"

#include "tests/unit/agent/profilers/leak/make_model.h"

#define BOX(method) "System.Runtime.CompilerServices.AsyncTaskMethodBuilder<VoidTaskResult>.AsyncStateMachineBox<" method ">"

Test(leak_holders, async_methods_that_never_end)
{
	static const struct {
		const char *above[3], *box, *below, *field, *headline, *says;
	} rows[] = {
		{{"System.Threading.TimerQueueTimer", "System.Threading.Tasks.Task.DelayPromise"}, BOX("Feed.Listen"), "Shop.Visit", "StateMachine.visit",
		 "Calls of Feed.Listen never end: + 10,000, 19 MB/min",
		 "+ 10,000 Visit (6.2 MB) in 20 s, held by 10,000 more calls of the async method Feed.Listen, which await Task.Delay."},
		{{"System.Threading.SemaphoreSlim.TaskNode"}, BOX("Feed.Listen"), "byte[]", "StateMachine.buffer",
		 "Calls of Feed.Listen never end: + 10,000, 16 MB/min",
		 "+ 10,000 calls of Feed.Listen (5.2 MB) in 20 s, which await SemaphoreSlim.WaitAsync."},
		{{"System.Threading.Tasks.Task<bool>", "System.Collections.Generic.List<object>", "object[]"}, BOX("Feed.Listen"), "Shop.Visit",
		 "StateMachine.visit", NULL, "Feed.Listen, which await a task that nobody completes."},
		{{"System.Threading.Tasks.Task.DelayPromise", BOX("Feed.Inner")}, BOX("Feed.Outer"), "Shop.Visit", "StateMachine.visit",
		 "Calls of Feed.Outer never end: + 10,000, 19 MB/min", "Feed.Outer, which await Feed.Inner."},
		{{"System.Threading.Tasks.Task.DelayPromise"}, BOX("_"), "Shop.Feed.Listen", "StateMachine",
		 "Calls of Listen never end: + 10,000, 16 MB/min", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct leak_model m;
		struct leak_diagnosis d;
		make_walks(&m, 3, 10);
		uint32_t step = leak_model_root(&m, LEAK_ROOT_STATIC, "static System.Threading.TimerQueue.Instances");
		for (size_t k = 0; k < 3 && rows[i].above[k]; k++) {
			step = make_step(&m, step, rows[i].above[k], NULL, 100, COUNTS(10, 5000, 10010));
			m.steps[step].shown = m.steps[step].name;
		}
		step = make_step(&m, step, rows[i].box, "m_continuationObject", 120, COUNTS(10, 5000, 10010));
		m.steps[step].shown = m.steps[step].name;
		make_step(&m, step, rows[i].below, rows[i].field, 300, COUNTS(10, 5000, 10010));
		leak_diagnosis_make(&m, &d);
		cr_expect_eq(d.finding, LEAK_FOUND_GROWS);
		cr_expect(!rows[i].headline || strcmp(d.headline, rows[i].headline) == 0, "%s", d.text);
		cr_expect(!rows[i].says || strstr(d.text, rows[i].says), "%s: %s", rows[i].says, d.text);
		cr_expect(strstr(d.text, " (async)"), "%s", d.text);
		cr_expect(strstr(d.text, "complete or cancel what they await"), "%s", d.text);
		leak_diagnosis_fini(&d);
		leak_model_fini(&m);
	}
}

Test(leak_holders, remedies_fit_what_holds)
{
	static const struct {
		const char *holder[3], *remedy, *not_this;
	} rows[] = {
		{{"System.Collections.Generic.List<Order>", "Shop.Order[]"}, "or bound the collection", NULL},
		{{"Shop.Order[]"}, "or bound the collection", NULL},
		{{"Shop.Service", "System.Collections.Generic.Dictionary<int, Order>", "System.Collections.Generic.Dictionary<int, Order>.Entry[]"},
		 "or bound the collection", NULL},
		{{"System.Collections.Generic.List<Node>", "Shop.Node[]", "Shop.Node"}, "a static lives as long as the process", "collection"},
		{{"Shop.Service"}, "a static lives as long as the process", "collection"},
		{{"System.Collections.Concurrent.ConcurrentQueue<Order>", "System.Collections.Concurrent.ConcurrentQueueSegment<Order>"},
		 "let the consumer keep up", "expir"},
		{{"System.Threading.Channels.UnboundedChannel<Order>", "System.Collections.Concurrent.ConcurrentQueue<Order>"},
		 "Channel.CreateBounded", "expir"},
		{{"Microsoft.Extensions.Caching.Memory.MemoryCache", "System.Collections.Concurrent.ConcurrentDictionary<object, CacheEntry>"},
		 "SizeLimit", "consumer"},
		{{"System.IO.MemoryStream"}, "SetLength(0)", "expir"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct leak_model m;
		struct leak_diagnosis d;
		make_walks(&m, 3, 60);
		uint32_t step = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.Things");
		for (size_t k = 0; k < 3 && rows[i].holder[k]; k++)
			step = make_step(&m, step, rows[i].holder[k], NULL, 80, COUNTS(1, 1, 1));
		make_step(&m, step, "Shop.Order", NULL, 200, COUNTS(10, 5000, 10010));
		leak_diagnosis_make(&m, &d);
		cr_expect_eq(d.finding, LEAK_FOUND_GROWS);
		cr_expect(strstr(d.text, rows[i].remedy), "%s: %s", rows[i].remedy, d.text);
		cr_expect(!rows[i].not_this || !strstr(d.text, rows[i].not_this), "%s: %s", rows[i].holder[0], d.text);
		leak_diagnosis_fini(&d);
		leak_model_fini(&m);
	}
}

/* Loaders at each walk, and a static of the plug-in's own that is there once for each. */
static void make_plugins(struct leak_model *m, const uint64_t *loaded)
{
	uint32_t type = leak_model_type(m, LEAK_LOADER, "System.Private.CoreLib.dll");
	uint32_t own = leak_model_root(m, LEAK_ROOT_STATIC, "static Plugin.Prices.All");
	make_step(m, own, "byte[]", NULL, 1000000, loaded);
	for (size_t w = 0; w < m->walk_count; w++) {
		leak_model_type_at(m, type, w)->count = loaded[w];
		leak_model_at(m, own, w)->count = loaded[w];
	}
}

static void expect_plugins(const struct leak_model *m, const char *headline, const char *says)
{
	struct leak_diagnosis d;
	leak_diagnosis_make(m, &d);
	cr_expect_eq(d.finding, LEAK_FOUND_GROWS);
	cr_expect_str_eq(findings_lead(&d.findings)->id, "AssemblyLoadContextsKept", "%s", d.text);
	cr_expect_str_eq(d.headline, headline);
	cr_expect(strstr(d.text, says), "%s: %s", says, d.text);
	cr_expect(strstr(d.text, "Fix: call `Unload()`"), "%s", d.text);
	leak_diagnosis_fini(&d);
}

Test(leak_holders, plug_ins_that_are_never_unloaded)
{
	struct leak_model m;
	const uint64_t *loaded = COUNTS(4, 14, 24, 34), *one = COUNTS(1, 1, 1, 1);
	make_walks(&m, 4, 30);
	make_plugins(&m, loaded);
	expect_plugins(&m, "AssemblyLoadContexts pile up: + 30", "static Plugin.Prices.All -> byte[]");

	uint32_t step = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.Host.Plugins"); /* small, and found nevertheless */
	step = make_step(&m, make_step(&m, step, "System.Collections.Generic.List<IPlugin>", NULL, 32, one), "Shop.IPlugin[]", "_items", 800, one);
	step = make_step(&m, step, "Plugin.Main", "[]", 24, loaded);
	m.steps[step].plugged = true;
	expect_plugins(&m, "AssemblyLoadContexts pile up: + 30, retained by static Shop.Host.Plugins",
		       "Kept by: static Shop.Host.Plugins -> List<IPlugin>._items -> IPlugin[] -> Main");
	leak_model_fini(&m);
}

Test(leak_holders, plug_ins_that_were_loaded_once_are_none)
{
	struct leak_model m;
	struct leak_diagnosis d;
	make_walks(&m, 4, 30);
	make_plugins(&m, COUNTS(4, 4, 4, 4));
	leak_diagnosis_make(&m, &d);
	cr_expect_null(findings_lead(&d.findings), "%s", d.text);
	leak_diagnosis_fini(&d);
	leak_model_fini(&m);
}

/* At the second walk half of them hung in another queue. */
Test(leak_holders, timers_that_change_their_queue_do_not_fall_back)
{
	static const uint64_t all[][4] = {{2059, 2401, 2777, 3123}, {2059, 1264, 2777, 3123}};
	for (size_t i = 0; i < 2; i++) {
		struct leak_model m;
		struct leak_diagnosis d;
		make_walks(&m, 4, 10);
		uint32_t step = leak_model_root(&m, LEAK_ROOT_STATIC, "static System.Threading.TimerQueue.Instances");
		step = make_step(&m, step, "System.Threading.TimerQueueTimer", NULL, 96, COUNTS(2059, 1264, 2777, 3123));
		make_step(&m, step, "Shop.Parcel", "_target", 8000, COUNTS(2059, 1264, 2777, 3123));
		uint32_t type = leak_model_type(&m, "Shop.Parcel", "Shop.dll");
		for (size_t w = 0; w < 4; w++)
			leak_model_type_at(&m, type, w)->count = all[i][w];
		leak_diagnosis_make(&m, &d);
		cr_expect_eq(d.finding, i ? LEAK_FOUND_CHURN : LEAK_FOUND_GROWS, "%s", d.text);
		leak_diagnosis_fini(&d);
		leak_model_fini(&m);
	}
}

Test(leak_holders, disposables_in_the_container)
{
	struct leak_model m;
	struct leak_diagnosis d;
	make_walks(&m, 3, 30);
	uint32_t step = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.App.Host");
	step = make_step(&m, step, "Microsoft.Extensions.DependencyInjection.ServiceLookup.ServiceProviderEngineScope", NULL, 64, COUNTS(1, 1, 1));
	step = make_step(&m, step, "System.Collections.Generic.List<object>", "_disposables", 32, COUNTS(1, 1, 1));
	step = make_step(&m, step, "object[]", "_items", 80000, COUNTS(1, 1, 1));
	make_step(&m, step, "Shop.Connection", "[]", 300, COUNTS(10, 5000, 10010));
	leak_diagnosis_make(&m, &d);
	cr_expect_str_eq(findings_lead(&d.findings)->id, "DisposablesInContainer", "%s", d.text);
	cr_expect(strstr(d.text, "CreateScope"), "%s", d.text);
	leak_diagnosis_fini(&d);
	leak_model_fini(&m);
}

#define DI "Microsoft.Extensions.DependencyInjection."

Test(leak_holders, scopes_that_nobody_disposes_of)
{
	for (int own = 0; own < 2; own++) { /* the container's own scope is one */
		struct leak_model m;
		struct leak_diagnosis d;
		const uint64_t *scopes = own ? COUNTS(1, 1, 1) : COUNTS(10, 5000, 10010);
		make_walks(&m, 3, 30);
		uint32_t step = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.Mail.Campaign.Running");
		step = make_step(&m, step, own ? DI "ServiceProvider" : DI "IServiceScope[]", NULL, 80000, COUNTS(1, 1, 1));
		step = make_step(&m, step, DI "ServiceLookup.ServiceProviderEngineScope", own ? "Root" : "[]", 64, scopes);
		step = make_step(&m, step, "System.Collections.Generic.List<object>", "_disposables", 32, scopes);
		step = make_step(&m, step, "object[]", "_items", 56, scopes);
		make_step(&m, step, "Shop.Mail.MailTemplate", "[]", 300, COUNTS(10, 5000, 10010));
		leak_diagnosis_make(&m, &d);
		cr_expect_str_eq(findings_lead(&d.findings)->id, "DisposablesInContainer", "%s", d.text);
		cr_expect(strstr(d.headline, own ? "The DI container holds disposables: + 10,000 MailTemplate"
						 : "Undisposed DI scopes pile up: + 10,000 MailTemplate"), "%s", d.headline);
		cr_expect(own || (strstr(d.text, "Dispose of each scope") && strstr(d.text, "Campaign.Running")), "%s", d.text);
		leak_diagnosis_fini(&d);
		leak_model_fini(&m);
	}
}

/* What comes back to a pool was there before; a pool that grows with the heap has a bound. */
Test(leak_holders, a_pool_is_no_leak)
{
	for (int grew = 0; grew < 2; grew++) {
		struct leak_model m;
		struct leak_diagnosis d;
		make_walks(&m, 3, 30);
		uint32_t step = leak_model_root(&m, LEAK_ROOT_STATIC, "static System.Buffers.ArrayPool<byte>.s_shared");
		step = make_step(&m, step, "System.Buffers.SharedArrayPoolPartitions.Partition", NULL, 64, COUNTS(2, 2, 2));
		step = make_step(&m, step, "System.Array[]", "_arrays", 280, COUNTS(2, 2, 2));
		make_step(&m, step, "byte[]", "[]", 65560, COUNTS(10, 15, 21));
		m.walks[2].bytes = m.walks[0].bytes + (grew ? 721160 : 0);
		leak_diagnosis_make(&m, &d);
		cr_expect_null(findings_lead(&d.findings), "%s", d.text);
		cr_expect_eq(d.finding, grew ? LEAK_FOUND_UNCERTAIN : LEAK_FOUND_CHURN, "%s", d.text);
		cr_expect(!grew || strstr(d.text, "A pool keeps what was given back to it"), "%s", d.text);
		leak_diagnosis_fini(&d);
		leak_model_fini(&m);
	}
}
