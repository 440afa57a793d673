#include "agent/profilers/pauses/pause_advice.h"

#include "agent/report/phrase.h"
#include "common/base/size_text.h"

#include <inttypes.h>

#define THROTTLED_PERCENT 5.0 /* of the quota's periods */
#define DELAY_PERCENT 20.0    /* of the time that threads were ready to run */
#define DELAY_NS 100000000
#define GEN0_BYTES (64 << 20) /* that are advised */
#define GEN0_ROOM 2           /* so many times as much must be left */

double pause_throttled_percent(const struct pause_capture *c)
{
	return c->periods > 0 && c->throttled_periods >= 0 ? 100.0 * (double)c->throttled_periods / (double)c->periods : c->periods == 0 ? 0 : -1;
}

double pause_delay_percent(const struct pause_capture *c)
{
	double ready_ns = (double)c->facts.run_delay_ns + (double)c->process_cpu_ns;
	return c->facts.run_delay_ns >= 0 && c->process_cpu_ns >= 0 ? ready_ns > 0 ? 100.0 * (double)c->facts.run_delay_ns / ready_ns : 0 : -1;
}

int64_t pause_hard_limit(const struct pause_capture *c)
{
	int64_t percent = c->gc.of[GC_SETTING_HARD_LIMIT_PERCENT].value;
	if (c->gc.of[GC_SETTING_HARD_LIMIT].value > 0)
		return c->gc.of[GC_SETTING_HARD_LIMIT].value;
	return percent > 0 && percent < 100 && c->memory_limit_bytes > 0 ? c->memory_limit_bytes / 100 * percent : -1;
}

int64_t pause_cpus(const struct pause_capture *c)
{
	return c->cpu_limit_millicores > 0 ? (c->cpu_limit_millicores + 999) / 1000 : c->node_cpus > 0 ? c->node_cpus : -1;
}

/* the young generations ------------------------------------------------------------------------------------------------------- */

/* Memory that is left for a larger generation 0; INT64_MAX: there is no limit; -1: not known. */
static int64_t memory_left(const struct pause_capture *c)
{
	if (pause_hard_limit(c) > 0 || c->memory_bytes < 0 || c->memory_limit_bytes < 0)
		return -1;
	return c->memory_limit_bytes == 0 ? INT64_MAX : c->memory_limit_bytes - c->memory_bytes;
}

static void put_gen0_advice(const struct pause_capture *c, struct buf *out)
{
	int64_t heaps = c->gc.server_heaps > 0 ? c->gc.server_heaps : 1, needed = (int64_t)GEN0_BYTES * GEN0_ROOM * heaps, left = memory_left(c);
	if (c->gc.of[GC_SETTING_GEN0_SIZE].origin != GC_NOT_SET) {
		buf_puts(out, " Generation 0 has ");
		size_text_bytes(out, (uint64_t)c->gc.of[GC_SETTING_GEN0_SIZE].value);
		buf_puts(out, " already (");
		gc_settings_place(&c->gc, GC_SETTING_GEN0_SIZE, out);
		buf_puts(out, ").");
	} else if (left < 0 || left >= needed) {
		buf_printf(out, " Or set DOTNET_GCgen0size=0x%x: the runtime then collects after each 64 MiB that are allocated%s, and takes up to "
			   "as much more memory%s.",
			   (unsigned)GEN0_BYTES, heaps > 1 ? " in one of its heaps" : "", left < 0 ? ", where the container has that" : "");
	}
}

static void put_server_advice(const struct pause_capture *c, struct buf *out)
{
	int server = gc_settings_server(&c->gc);
	int64_t cpus = pause_cpus(c);
	if (server > 0)
		buf_puts(out, " Server GC is in use already.");
	else if (server == 0 && cpus >= 2)
		buf_printf(out, " Or set System.GC.Server to true (DOTNET_gcServer=1): up to %" PRId64 " threads then collect at the same time; pauses "
			   "get shorter, and the process takes more memory.", cpus);
	else if (server == 0 && cpus == 1)
		buf_puts(out, " Server GC is no remedy: with one CPU the runtime does not use it.");
}

static void put_allocation_advice(const struct pause_capture *c, struct buf *out)
{
	buf_puts(out, "\nAllocate less: the Allocations profiler shows where.");
	put_gen0_advice(c, out);
	put_server_advice(c, out);
}

/* generation 2 ---------------------------------------------------------------------------------------------------------------- */

static void put_limit_advice(const struct pause_capture *c, struct buf *out)
{
	buf_puts(out, "\nThe heap is near ");
	if (pause_hard_limit(c) > 0) {
		buf_puts(out, "its own limit of ");
		size_text_bytes(out, (uint64_t)pause_hard_limit(c));
		buf_puts(out, " (");
		gc_settings_place(&c->gc, c->gc.of[GC_SETTING_HARD_LIMIT].value > 0 ? GC_SETTING_HARD_LIMIT : GC_SETTING_HARD_LIMIT_PERCENT, out);
		buf_puts(out, ")");
	} else {
		buf_puts(out, "the memory limit");
		if (c->memory_limit_bytes > 0) {
			buf_puts(out, " of ");
			size_text_bytes(out, (uint64_t)c->memory_limit_bytes);
		}
	}
	buf_puts(out, ": raise the limit, or find what fills the heap (profilers GCSurvivors and MemoryLeak).");
}

static void put_background_advice(const struct pause_capture *c, struct buf *out)
{
	int concurrent = gc_settings_concurrent(&c->gc);
	if (c->collections[2][1].count) {
		buf_puts(out, "\nFind what fills generation 2 (profiler GCSurvivors): collections in the background could not keep up.");
	} else if (concurrent == 0) {
		buf_puts(out, "\nCollections in the background are switched off (");
		gc_settings_place(&c->gc, GC_SETTING_CONCURRENT, out);
		buf_puts(out, "): switch them on, and the application runs on while generation 2 is collected, but for two short pauses.");
	} else if (concurrent > 0 && c->gc.of[GC_SETTING_CONSERVE].value > 0) {
		buf_puts(out, "\nA heap that is to stay small is compacted, which blocks (");
		gc_settings_place(&c->gc, GC_SETTING_CONSERVE, out);
		buf_printf(out, " is %" PRId64 "): set it to 0, and less of generation 2 is collected in pauses.", c->gc.of[GC_SETTING_CONSERVE].value);
	} else if (concurrent > 0) {
		buf_puts(out, "\nFind what fills generation 2 (profiler GCSurvivors). Collections in the background are on; the runtime chose to block, as it "
			      "does to compact, or when memory is short.");
	} else {
		buf_puts(out, "\nFind what fills generation 2 (profiler GCSurvivors). No collection ran in the background: see that concurrent "
			      "collection is on (System.GC.Concurrent).");
	}
}

/* heaps ----------------------------------------------------------------------------------------------------------------------- */

static void put_heaps_advice(const struct pause_capture *c, struct buf *out)
{
	int64_t cpus = pause_cpus(c);
	if (c->gc.of[GC_SETTING_HEAP_COUNT].origin != GC_NOT_SET) {
		buf_printf(out, "\nThe number of heaps is set to %" PRId64 " (", c->gc.of[GC_SETTING_HEAP_COUNT].value);
		gc_settings_place(&c->gc, GC_SETTING_HEAP_COUNT, out);
		buf_printf(out, "): take the setting away, and the runtime makes one for each of %" PRId64 " CPU%s", cpus, size_text_plural(cpus, "", "s"));
	} else {
		buf_printf(out, "\nSet System.GC.HeapCount to %" PRId64 " (DOTNET_GCHeapCount=%" PRIx64 "), or switch Server GC off (DOTNET_gcServer=0)", cpus,
			   (uint64_t)cpus);
	}
	buf_puts(out, ": its threads then no longer wait for each other in a collection, and the process takes less memory.");
}

/* CPU ------------------------------------------------------------------------------------------------------------------------- */

static bool cpu_was_short(const struct pause_capture *c)
{
	return pause_throttled_percent(c) >= THROTTLED_PERCENT || (pause_delay_percent(c) >= DELAY_PERCENT && c->facts.run_delay_ns >= DELAY_NS);
}

static bool cpu_was_free(const struct pause_capture *c)
{
	return pause_throttled_percent(c) >= 0 && c->facts.run_delay_ns > 0 && pause_delay_percent(c) >= 0 && !cpu_was_short(c);
}

void pause_advice_put_starved(const struct pause_analysis *a, struct buf *out)
{
	const struct pause_capture *c = a->capture;
	if (pause_throttled_percent(c) >= THROTTLED_PERCENT) {
		buf_puts(out, "\nThe container had used up its CPU quota in ");
		phrase_percent(out, pause_throttled_percent(c));
		buf_puts(out, " of the periods: a thread without CPU cannot stop, and a collection without CPU takes longer. Raise the CPU limit");
		if (c->cpu_limit_millicores > 0)
			buf_printf(out, " of %" PRId64 "m", c->cpu_limit_millicores);
		buf_puts(out, ".");
	} else if (cpu_was_short(c)) {
		buf_puts(out, "\nIts threads, the collector's too, waited ");
		phrase_duration(out, c->facts.run_delay_ns);
		buf_puts(out, " for a CPU and ran for ");
		phrase_duration(out, c->process_cpu_ns);
		buf_puts(out, "; its quota was not used up: the node is full. Raise the CPU request, so that the pod gets its share or another node.");
	}
}

/* A collection that is asked for without blocking blocks all the same where there are none in the background. */
static void put_induced_advice(const struct pause_capture *c, struct buf *out)
{
	buf_puts(out, "\nRemove the calls of GC.Collect: the runtime knows better when it is worth it. Where one must stay: "
		      "GC.Collect(2, GCCollectionMode.Optimized, blocking: false)");
	if (gc_settings_concurrent(&c->gc) == 0) {
		buf_puts(out, ", and collections in the background switched on (they are off: ");
		gc_settings_place(&c->gc, GC_SETTING_CONCURRENT, out);
		buf_puts(out, ")");
	}
	buf_puts(out, ".");
}

void pause_advice_put(const struct pause_analysis *a, enum pause_finding f, struct buf *out)
{
	switch (f) {
	case PAUSES_INDUCED:
		put_induced_advice(a->capture, out);
		break;
	case PAUSES_SUSPENSION:
		buf_printf(out, "\nA thread stops late when it sits in code that the runtime cannot interrupt (a native call marked SuppressGCTransition, one "
			   "long copy)%s.", cpu_was_free(a->capture) ? " or waits for a page of memory" : ", waits for a page of memory, or gets no CPU");
		break;
	case PAUSES_LIMIT:
		put_limit_advice(a->capture, out);
		break;
	case PAUSES_LARGE:
		buf_puts(out, "\nLarge objects (");
		gc_settings_put_large(&a->capture->gc, out);
		buf_puts(out, " and more) cause them: rent arrays (ArrayPool), or find who allocates them (profiler Allocations).");
		break;
	case PAUSES_GENERATION2:
		put_background_advice(a->capture, out);
		break;
	case PAUSES_BACKGROUND:
		buf_puts(out, "\nGeneration 2 is collected again and again. Find what fills it (profiler GCSurvivors), or who allocates what gets that old "
			      "(profiler Allocations).");
		break;
	case PAUSES_HEAPS:
		put_heaps_advice(a->capture, out);
		break;
	case PAUSES_ALLOCATION:
		put_allocation_advice(a->capture, out);
		break;
	default:
		break;
	}
}
