#include "agent/profilers/survivors/survivors_advice.h"
#include "agent/report/report.h"
#include "agent/profilers/survivors/survivors_diagnosis.h"
#include "tests/unit/agent/profilers/survivors/make_heap.h"

struct row {
	const char *what, *heap, *finding, *headline;
	const char *says[5];     /* lines, or their parts */
	const char *says_not[3];
	enum heap_way way;
};

static size_t chars(const char *s)
{
	size_t count = 0;
	for (; *s; s++)
		count += ((unsigned char)*s & 0xC0) != 0x80;
	return count;
}

static const struct row rows[] = {
	{"one holder",
	 "1 System.Collections.Generic.Dictionary<int,Shop.Order> 80 > 2\n"
	 "2 Entry[] 24000000 > 3 4 5\n"
	 "3 Shop.Order 80000000\n4 Shop.Order 80000000\n5 Shop.Order 80000000\n"
	 "6 Shop.Session 60000000\n"
	 "static Shop.Cache._items > 1\nstack of Shop.Main > 6\n",
	 "holder",
	 "264 MB of 324 MB are held by static Shop.Cache._items: Order x 3",
	 {"Held through static Shop.Cache._items -> ", "Order x 3: 240 MB (74%)",
	  "Remedy: bound the collection", "Next: stack of Shop.Main: 60 MB (19%).",
	  "Most bytes by type: Order x 3: 240 MB (74%); Session: 60 MB (19%); Entry[]: 24 MB (7.4%)"},
	 {"Free space", "garbage"}, HEAP_WAY_EXACT},
	{"an event", "1 Shop.Feed 100000 > 2\n2 System.EventHandler 64 > 3\n3 System.Object[] 100000 > 4 5\n4 System.EventHandler 64 > 6\n"
		     "5 System.EventHandler 64 > 7\n6 Shop.Widget 2000000\n7 Shop.Widget 2000000\nstatic Shop.Feed.Instance > 1\n",
	 "holder", "4.2 MB of 4.2 MB are held by static Shop.Feed.Instance: Widget x 2", {"unsubscribe (-=)"}, {NULL}, HEAP_WAY_EXACT},
	{"a long name is cut, the object's name goes first",
	 "1 Customer.Relations.Management.Persistence.UnitOfWork.ChangeTrackingIdentityMapDictionary 5000000\n"
	 "static Customer.Relations.Management.Persistence.UnitOfWork.ChangeTracker._identityMapOfAllEntities > 1\n",
	 "holder", "5.0 MB of 5.0 MB are held by static \xE2\x80\xA6" "ChangeTracker._identityMapOfAllEntities", {NULL}, {NULL}, HEAP_WAY_EXACT},
	{"several",
	 "1 Left 24 > 3\n2 Right 24 > 3\n3 Shop.Blob 9000000\nstatic A > 1\nstatic B > 2\n",
	 "several", "9.0 MB of 9.0 MB are held by several roots together: Blob",
	 {"The main path to it: static A -> Left._one -> Blob: 9.0 MB (100%)"}, {NULL}, HEAP_WAY_EXACT},
	{"one type below many holders",
	 "1 A 2000000\n2 B 2000000\n3 string 1000000\n4 string 1000000\n5 string 1000000\n6 C 2000000\n"
	 "static A > 1\nstatic B > 2\nstatic C > 3\nstatic D > 4\nstatic E > 5\nstatic F > 6\n",
	 "type", "3.0 MB of 9.0 MB are string x 3, from many holders", {NULL}, {NULL}, HEAP_WAY_EXACT},
	{"nothing stands out",
	 "1 A 1000000\n2 B 1000000\n3 C 1000000\n4 D 1000000\n5 E 1100000\n"
	 "static A > 1\nstatic B > 2\nstatic C > 3\nstatic D > 4\nstatic E > 5\n",
	 "spread", "5.1 MB, no holder stands out; most, 22%, static E", {"Next: static A: 1.0 MB (20%); static B"}, {NULL}, HEAP_WAY_EXACT},
	{"small", "1 A 1000\nstatic A > 1\n", "empty", "The heap is small: 1.0 kB in 1 object", {NULL}, {"Remedy", "Held through"}, HEAP_WAY_EXACT},
	{"nothing", "", "empty", "The heap is small: 0 bytes in 0 objects", {NULL}, {"Remedy"}, HEAP_WAY_EXACT},
	{"free space",
	 "1 A 1000000\n2 Free 30000000\n3 A 1000000\n4 Free 1000000\n5 A 1000000\npinned > 1\npinned > 3\npinned > 5\n",
	 "freeMemory", "31 MB of 34 MB of the heap are free space between objects",
	 {"Free space between objects: 31 MB beside 3.0 MB of objects, most of it in gen2, the largest gap 30 MB",
	  "Remedy: the memory was needed once"}, {NULL}, HEAP_WAY_EXACT},
	{"garbage", "1 A 1000000\n2 B 9000000\nstatic A > 1\n", "unreachable", "9.0 MB of 10 MB are garbage, not yet collected", {NULL}, {NULL}, HEAP_WAY_EXACT},
	{"held by no root that is known",
	 "1 A 1000000\n2 Shop.Native 9000000\nstatic A > 1\n", "unreachable", "9.0 MB of 10 MB are held by a handle, or garbage: Native",
	 {"Remedy: run it again with roots: Exact", "Roots: statics, handles and stacks, without a collection"}, {NULL}, HEAP_WAY_NO_COLLECTION},
	{"a thread's stack", "1 Shop.Batch 9000000\nstack of Shop.Import.Run (thread 12 worker) > 1\n", "holder",
	 "9.0 MB of 9.0 MB are held by stack of Shop.Import.Run (thread 12 worker): Batch", {"in use by running code"}, {NULL}, HEAP_WAY_EXACT},
	{"the finalizer queue", "1 Shop.File 9000000\nfinalizer queue > 1\n", "holder", "9.0 MB of 9.0 MB are held by finalizer queue: File",
	 {"finalizers do not keep up"}, {NULL}, HEAP_WAY_EXACT},
	{"several roots hold what an object of the application keeps",
	 "1 System.Net.Sockets.SocketAsyncEngine 40 > 3\n2 System.Threading.Tasks.Task 40 > 3\n3 System.Object 40 > 4\n"
	 "4 Shop.PriceFeed 40 > 5\n5 System.EventHandler 64 > 6\n6 System.Object[] 100000 > 7 8\n7 System.EventHandler 64 > 9\n"
	 "8 System.EventHandler 64 > 10\n9 Shop.Widget 4000000\n10 Shop.Widget 4000000\n11 A 1000000\n"
	 "static System.Net.Sockets.SocketAsyncEngine.s_engines > 1\nhandle > 2\nstatic A > 11\n",
	 "holder", "8.1 MB of 9.1 MB are held by Shop.PriceFeed: Widget x 2",
	 {"Held through PriceFeed._one -> EventHandler", "Widget x 2: 8.0 MB (88%).",
	  "Several roots reach PriceFeed; one is static System.Net.Sockets.SocketAsyncEngine.s_engines.", "unsubscribe (-=)"},
	 {"Held through static System", "Socket engine"}, HEAP_WAY_EXACT},
	{"one root of .NET's own holds it", "1 System.Net.Sockets.SocketAsyncEngine 40 > 2\n2 Shop.PriceFeed 40 > 3\n3 Shop.Quote[] 100000 > 4 5\n"
					    "4 Shop.Quote 4000000\n5 Shop.Quote 4000000\nstatic System.Net.Sockets.SocketAsyncEngine.s_engines > 1\n",
	 "holder", "8.1 MB of 8.1 MB are held by Shop.PriceFeed: Quote x 2",
	 {"Held through PriceFeed._one -> Quote[]", "The root that reaches PriceFeed is static System.Net.Sockets.SocketAsyncEngine.s_engines.",
	  "Remedy: release what it no longer needs, or bound what it holds"}, {NULL}, HEAP_WAY_EXACT},
	{"the lowest object of the application", "1 Shop.Server 40 > 2\n2 System.Object 40 > 3\n3 Shop.PriceFeed 40 > 4\n4 Shop.Quote[] 100000 > 5 6\n"
						 "5 Shop.Quote 4000000\n6 Shop.Quote 4000000\nhandle > 1\n",
	 "holder", "8.1 MB of 8.1 MB are held by Shop.PriceFeed: Quote x 2", {NULL}, {"GCHandle"}, HEAP_WAY_EXACT},
	{"a static of the application is what a person changes", "1 Shop.Server 40 > 2\n2 Shop.Catalog 40 > 3\n3 Shop.Quote[] 100000 > 4 5\n"
								"4 Shop.Quote 4000000\n5 Shop.Quote 4000000\nstatic Shop.Program.Server > 1\n",
	 "holder", "8.1 MB of 8.1 MB are held by static Shop.Program.Server: Quote x 2", {NULL}, {NULL}, HEAP_WAY_EXACT},
	{"but not where the framework is between", "1 Microsoft.Extensions.Hosting.Host 40 > 2\n2 Shop.Catalog 40 > 3\n3 Shop.Quote[] 100000 > 4 5\n"
						   "4 Shop.Quote 4000000\n5 Shop.Quote 4000000\nstack of Shop.Program.Main (thread 1 Shop) > 1\n",
	 "holder", "8.1 MB of 8.1 MB are held by Shop.Catalog: Quote x 2", {"The root that reaches Catalog is stack of Shop.Program.Main (thread 1 Shop)."},
	 {"running code"}, HEAP_WAY_EXACT},
	{"many of the application's objects are no holder", "1 System.Threading.TimerQueue 40 > 2\n2 Shop.Job 1000 > 3\n3 Shop.Job 1000000 > 4\n"
							    "4 Shop.Job 1000000 > 5\n5 Shop.Job 1000000 > 6\n6 Shop.Job 1000000\nhandle > 1\n",
	 "holder", "4.0 MB of 4.0 MB are held by handle: Job x 5", {NULL}, {NULL}, HEAP_WAY_EXACT},
	{"a pinned handle", "1 System.Byte[] 9000000\npinned > 1\n", "holder", "9.0 MB of 9.0 MB are held by pinned: byte[]", {"free pinned handles"}, {NULL}, HEAP_WAY_EXACT},
};

#define OTHERS "3 B 2000000\n4 C 2000000\n5 D 2000000\nstatic A > 1\nstatic B > 3\nstatic C > 4\nstatic D > 5\n"

/* Threads that did not fit into a table, memory that could not be read: nobody knows who holds it. */
Test(survivors_diagnosis, what_was_not_read_is_no_finding)
{
	static const struct {
		const char *what, *heap, *why, *headline, *says;
	} some[] = {
		{"most of it", "1 A 1000000\n2 Shop.Row[] 9000000\nstatic A > 1\n", "asked for", "What holds 9.0 MB of 10 MB was not read",
		 "Remedy: run it again with roots: Exact"},
		{"a holder may be among it", "1 A 2000000\n2 Shop.Row[] 3000000\n" OTHERS,
		 "another profiler has the process's main slot", "What holds 3.0 MB of 11 MB was not read", "Remedy: run it again without the other profiler"},
		{"a holder is known all the same", "1 A 4000000\n2 Shop.Row[] 3000000\nstatic A > 1\n", "asked for", "4.0 MB of 7.0 MB are held by static A: A",
		 "3.0 MB (43%) are held by a root that was not read, or garbage"},
		{"none can be among it", "1 A 2000000\n2 Shop.Row[] 2000000\n" OTHERS,
		 "asked for", "10 MB, no holder stands out; most, 20%, static A", ""},
	};
	for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
		struct err e = ERR_INIT;
		struct heap_snapshot *s = make_heap(some[i].heap);
		s->facts.way = HEAP_WAY_NO_COLLECTION;
		s->facts.roots_unread = true;
		s->facts.why = some[i].why;
		struct heap_graph *g = make_graph(s);
		struct survivors all;
		struct survivors_diagnosis d;
		cr_assert_eq(survivors_make(g, &all, &e), 0, "%s", e.message);
		survivors_diagnosis_make(&all, &d);
		cr_expect_str_eq(d.headline, some[i].headline, "%s: %s", some[i].what, d.headline);
		cr_expect_not_null(strstr(d.text, some[i].says), "%s: %s", some[i].what, d.text);
		cr_expect_null(strstr(d.text, "many holders"), "%s: %s", some[i].what, d.text);
		survivors_diagnosis_fini(&d);
		survivors_fini(&all);
		heap_graph_free(g);
		heap_snapshot_free(s);
	}
}

/* A static field whose name was not read is held by a handle. */
Test(survivors_diagnosis, a_handle_may_be_a_static_without_its_name)
{
	struct heap_snapshot *s = make_heap("1 Shop.Row[] 9000000\nhandle > 1\n");
	for (int unread = 0; unread < 2; unread++) {
		s->facts.names_unread = unread;
		const char *advice = survivors_advice(s, SURVIVORS_HANDLE, NULL);
		cr_expect_eq(strstr(advice, "it may be a static field") != NULL, unread, "%s", advice);
	}
	heap_snapshot_free(s);
}

Test(survivors_diagnosis, says_what_fills_the_heap)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		struct err e = ERR_INIT;
		struct heap_snapshot *s = make_heap(r->heap);
		s->facts.way = r->way;
		struct heap_graph *g = make_graph(s);
		struct survivors all;
		struct survivors_diagnosis d;
			cr_assert_eq(survivors_make(g, &all, &e), 0, "%s", e.message);
		survivors_diagnosis_make(&all, &d);
		cr_expect_str_eq(survivors_finding_name(d.finding), r->finding, "%s: %s", r->what, survivors_finding_name(d.finding));
		cr_expect_str_eq(d.headline, r->headline, "%s: %s", r->what, d.headline);
		cr_expect_leq(chars(d.headline), HEADLINE_MAX_CHARS, "%s", d.headline);
		cr_expect(strncmp(d.text, d.headline, strlen(d.headline)) == 0);
		cr_expect_leq(strlen(d.text), DIAGNOSIS_MAX_BYTES);
		for (size_t k = 0; k < sizeof r->says / sizeof *r->says && r->says[k]; k++)
			cr_expect(strstr(d.text, r->says[k]), "%s: '%s' is not in\n%s", r->what, r->says[k], d.text);
		for (size_t k = 0; k < sizeof r->says_not / sizeof *r->says_not && r->says_not[k]; k++)
			cr_expect(!strstr(d.text, r->says_not[k]), "%s: '%s' is in\n%s", r->what, r->says_not[k], d.text);
		survivors_diagnosis_fini(&d);
		survivors_fini(&all);
		heap_graph_free(g);
		heap_snapshot_free(s);
	}
}
