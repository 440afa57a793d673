/* The numbers that the rules judge, from small heaps. */
#include "agent/profilers/survivors/survivors_numbers.h"
#include "tests/unit/agent/profilers/survivors/make_heap.h"

static void number(const char *text, enum heap_way way, bool unread, struct survivors_numbers *out)
{
	struct err e = ERR_INIT;
	struct survivors all;
	struct heap_snapshot *s = make_heap(text);
	s->facts.way = way;
	s->facts.roots_unread = unread;
	struct heap_graph *g = make_graph(s);
	cr_assert_eq(survivors_make(g, &all, &e), 0, "%s", e.message);
	survivors_numbers_of(&all, out);
	survivors_fini(&all);
	heap_graph_free(g);
	heap_snapshot_free(s);
}

#define SCOPE "Microsoft.Extensions.DependencyInjection.ServiceLookup.ServiceProviderEngineScope"

Test(survivors_signs, what_a_scope_will_dispose_of_and_nobody_else_holds)
{
	struct survivors_numbers n;
	number("1 " SCOPE " 48 > 2 7\n2 System.Collections.Generic.List<object> 32 > 3\n3 object[] 56 > 4 5 6\n4 Shop.Mailer 1000\n"
	       "5 Shop.Mailer 1000\n6 Shop.Singleton 500\n7 Shop.Resolved[] 40 > 6\nhandle > 1\n",
	       HEAP_WAY_EXACT, false, &n);
	cr_expect(n.scopes == 1 && n.disposables == 2, "%g %g", n.scopes, n.disposables);
	cr_expect_eq(n.disposable_bytes, 32 + 56 + 2000);
	cr_expect_str_eq(n.disposable_type.text, "Shop.Mailer");
}

Test(survivors_signs, handlers_of_the_event_with_most)
{
	struct survivors_numbers n;
	number("1 Shop.Feed 32 > 2\n2 System.EventHandler 64 > 3\n3 object[] 56 > 4 5 6\n4 System.EventHandler 64 > 7\n5 System.EventHandler 64 > 8\n"
	       "6 System.EventHandler 64 > 9\n7 Shop.Widget 1000\n8 Shop.Widget 1000\n9 Shop.Widget 1000\n"
	       "10 Shop.Other 32 > 11\n11 System.EventHandler 64 > 12\n12 Shop.Widget 100\nstatic Shop.Feed.Instance > 1\nstatic Shop.Other.Instance > 10\n",
	       HEAP_WAY_EXACT, false, &n);
	cr_expect_eq(n.handlers, 3, "%g", n.handlers);
	cr_expect_eq(n.handler_bytes, 4 * 64 + 56 + 3000);
	cr_expect_str_eq(n.event.text, "Feed._one");
}

/* A weak handle is of a context that is in use. */
Test(survivors_signs, load_contexts_and_those_asked_to_unload)
{
	struct survivors_numbers n;
	number("1 System.Reflection.LoaderAllocator 64\n2 System.Reflection.LoaderAllocator 64\n"
	       "3 Shop.PluginLoadContext 96 > 1\n4 Shop.PluginLoadContext 96 > 2\n"
	       "5 Shop.Plugin 40 > 4\nhandle > 3\nweak > 4\nstatic Shop.Plugins.All > 5\n",
	       HEAP_WAY_EXACT, false, &n);
	cr_expect(n.load_contexts == 2 && n.unloading_contexts == 1, "%g %g", n.load_contexts, n.unloading_contexts);
	cr_expect_eq(n.load_context_bytes, 128);
}

Test(survivors_signs, timers_sources_and_tracked_entities_by_their_types)
{
	struct survivors_numbers n;
	number("1 System.Threading.TimerQueueTimer 96 > 2\n2 System.Threading.TimerQueueTimer 96 > 3\n3 Shop.Poller 1000\n"
	       "4 System.Threading.CancellationTokenSource 48\n5 Microsoft.EntityFrameworkCore.ChangeTracking.Internal.StateManager 80 > 6\n"
	       "6 Microsoft.EntityFrameworkCore.ChangeTracking.Internal.InternalEntityEntry 72\nhandle > 1\nhandle > 4\nhandle > 5\n",
	       HEAP_WAY_EXACT, false, &n);
	cr_expect(n.timers == 2 && n.timer_bytes == 96 * 2 + 1000 && n.timer_old_percent == 100, "%g %g", n.timers, n.timer_bytes);
	cr_expect(n.sources == 1 && n.source_bytes == 48);
	cr_expect(n.trackers == 1 && n.tracker_bytes == 152 && n.tracked_entities == 1);
	cr_expect(n.handlers == 0 && n.disposables == 0 && n.load_contexts == 0);
}

Test(survivors_signs, who_holds)
{
	struct survivors_numbers n;
	number("1 System.Object 40 > 2\n2 Shop.Feed 40 > 3\n3 Shop.Quote[] 1000 > 4 5\n4 Shop.Quote 4000\n5 Shop.Quote 4000\n6 A 5000\nhandle > 1\n",
	       HEAP_WAY_EXACT,
	       false, &n);
	cr_expect_str_eq(n.holder.text, "Shop.Feed");
	cr_expect(n.holder_objects == 1 && n.holder_bytes == 9040, "%g", n.holder_bytes);
	cr_expect_str_eq(n.holder_of.text, "Quote");
	cr_expect(n.holder_of_objects == 2 && n.unheld_bytes == 5000 && n.unread_bytes == 0 && n.shared_bytes == 0 && n.holders_known == 1);
	number("1 A 40\n2 B 5000\nstatic A > 1\n", HEAP_WAY_NO_COLLECTION, true, &n);
	cr_expect(n.unread_bytes == 5000 && n.unheld_bytes == 5000);
	cr_expect_str_eq(n.unheld_words.text, "held by a root that was not read, or garbage");
}
