#include "agent/profilers/pauses/pause_numbers.h"

#include "tests/unit/catalogue_capture.h"

/* A process that pauses for 2% of the time, for nothing in particular, with all that can be measured. */
static struct pause_numbers healthy(void)
{
	struct pause_numbers n;
	rules_clear(&pause_numbers_fields, &n);
	n = (struct pause_numbers){.seconds = 60, .pauses = 100, .paused_percent = 2, .longest_ms = 20, .longest_percent = 5, .longest_suspending_percent = 5,
				   .suspending_percent = 10, .induced_percent = 20, .young_percent = 29, .gen2_percent = 19, .background_percent = 0.9,
				   .other_percent = 22, .late_pauses = 3, .longest_suspending_ms = 3, .induced_pauses = 10, .young_collections = 60,
				   .gen2_collections = 10, .background_collections = 20, .causes_looked_at = 80, .large_percent = 10, .throttled_percent = 0,
				   .throttled_ms = 0, .run_delay_ms = 90, .delay_percent = 5, .cpus_used = 1, .cpus = 2, .node_cpus = 8,
				   .server_heaps = 2, .concurrent = 1,
				   .in_container = 1, .memory_mb = 200, .memory_limit_mb = 512, .hard_limit_mb = NAN,
				   .process_mb = 150, .node_pressure_percent = NAN};
	rules_set_text(&n.inducer, "Shop.Cache.Trim");
	rules_set_text(&n.late_thread, "scanner");
	rules_set_text(&n.late_method, "Shop.Native.Sit");
	rules_set_text(&n.other_reason, "change of code (ReJIT)");
	return n;
}

/* The state of one rule; its finding in *out. */
static enum finding_state judged(const struct pause_numbers *n, const char *id, struct finding *out)
{
	return judged_in_catalogue("RuntimePauses", &pause_numbers_fields, n, id, out);
}

struct row {
	const char *id;
	size_t member;
	double below, at; /* the first is healthy yet, the second is not */
	int score;
	const char *message, *evidence, *excluded;
};

#define MEMBER(name) offsetof(struct pause_numbers, name)

static const struct row rows[] = {
	{"InducedCollections", MEMBER(induced_percent), 29.9, 30, 30, "GCs induced by Shop.Cache.Trim", "10 induced pauses, 30% of the paused time",
	 "induced GCs"},
	{"SlowSuspension", MEMBER(suspending_percent), 39.9, 40, 40, "threads that stop late: Shop.Native.Sit",
	 "40% of the paused time until all threads had stopped, at most 3.0 ms; last came thread 'scanner'", "threads that stop late"},
	{"BlockingGen2", MEMBER(gen2_percent), 29.9, 30, 30, "blocking gen 2 GCs",
	 "10 blocking gen 2 GCs, 20 background GCs; 30% of the paused time", "blocking gen 2 GCs"},
	{"AllocationPressure", MEMBER(young_percent), 29.9, 30, 30, "GCs caused by allocation",
	 "60 gen 0 and gen 1 GCs, 30% of the paused time", "GCs caused by allocation"},
	{"OtherSuspensions", MEMBER(other_percent), 49.9, 50, 50, "change of code (ReJIT)", "50% of the paused time", "pauses without a GC"},
	{"BackgroundCollections", MEMBER(background_percent), 49.9, 50, 50, "pauses of background GCs",
	 "20 background GCs, 50% of the paused time", "pauses of background GCs"},
	{"CpuThrottled", MEMBER(throttled_percent), 4.9, 5, 5, "the CPU limit is used up", "throttled in 5% of the periods, 700 ms in all", "CPU throttling"},
	{"NodeIsFull", MEMBER(delay_percent), 19.9, 20, 20, "the node has no free CPU",
	 "threads were runnable without a CPU for 0.1 s, 20% of the time that they wanted to run", "a saturated node CPU"},
	{"ServerGCInSmallContainer", MEMBER(server_heaps), 3, 4, 25, "Server GC has 4 heaps on 2 CPUs",
	 "4 heaps on 2 CPUs, 128 MB of the memory limit for each",
	 "Server GC in a small container"},
};

Test(pause_rules, each_at_both_sides_of_its_threshold)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct pause_numbers n = healthy();
		struct finding f;
		n.throttled_ms = 700;
		n.run_delay_ms = 100;
		*(double *)((char *)&n + rows[i].member) = rows[i].below;
		cr_expect_eq(judged(&n, rows[i].id, &f), FINDING_EXCLUDED, "%s", rows[i].id);
		cr_expect_str_eq(f.message, rows[i].excluded);
		cr_expect(f.evidence[0], "%s: the number that excludes it", rows[i].id);
		*(double *)((char *)&n + rows[i].member) = rows[i].at;
		cr_expect_eq(judged(&n, rows[i].id, &f), FINDING_FOUND, "%s", rows[i].id);
		cr_expect_eq(f.score, rows[i].score, "%s: %d", rows[i].id, f.score);
		cr_expect_str_eq(f.message, rows[i].message);
		cr_expect_str_eq(f.evidence, rows[i].evidence);
	}
}

Test(pause_rules, nothing_is_found_in_a_healthy_process_nor_where_nobody_feels_it)
{
	struct pause_numbers n = healthy();
	struct findings f;
	catalogue_judge("RuntimePauses", &pause_numbers_fields, &n, &f);
	cr_expect_null(findings_lead(&f), "%s", f.list[0].id);
	findings_fini(&f);
	n.paused_percent = 0.49;
	n.longest_ms = 9.9;
	n.induced_percent = n.suspending_percent = n.gen2_percent = n.young_percent = n.other_percent = n.throttled_percent = n.delay_percent = 90;
	catalogue_judge("RuntimePauses", &pause_numbers_fields, &n, &f);
	cr_expect_null(findings_lead(&f), "%s", f.list[0].id);
	cr_expect_str_eq(f.list[0].evidence, "0.49% of the time paused, longest 9.9 ms");
	findings_fini(&f);
	n.longest_ms = 10;
	catalogue_judge("RuntimePauses", &pause_numbers_fields, &n, &f);
	cr_expect_not_null(findings_lead(&f));
	findings_fini(&f);
}

Test(pause_rules, a_heap_at_its_limit_explains_its_blocking_collections)
{
	struct pause_numbers n = healthy();
	struct finding f;
	n.gen2_percent = 60;
	n.memory_mb = 0.699 * n.memory_limit_mb;
	cr_expect_eq(judged(&n, "GCAtHeapLimit", &f), FINDING_EXCLUDED);
	cr_expect_str_eq(f.evidence, "358 MB of 512 MB, 10 blocking gen 2 GCs, 60% of the paused time");
	n.memory_mb = 0.7 * n.memory_limit_mb;
	cr_expect_eq(judged(&n, "GCAtHeapLimit", &f), FINDING_FOUND);
	n.gen2_percent = 19.9;
	cr_expect_eq(judged(&n, "GCAtHeapLimit", &f), FINDING_EXCLUDED);
	n.gen2_percent = 60;
	struct findings all;
	catalogue_judge("RuntimePauses", &pause_numbers_fields, &n, &all);
	cr_expect_str_eq(findings_lead(&all)->id, "GCAtHeapLimit", "it comes before what it explains");
	cr_expect_not_null(findings_find(&all, "BlockingGen2"));
	findings_fini(&all);
	n.hard_limit_mb = 400; /* the heap's own counts, for this process alone */
	n.process_mb = 399;
	cr_expect_eq(judged(&n, "GCAtHeapLimit", &f), FINDING_EXCLUDED);
	n.process_mb = 400;
	cr_expect_eq(judged(&n, "GCAtHeapLimit", &f), FINDING_FOUND);
	n.hard_limit_mb = NAN;
	n.memory_limit_mb = 0;
	cr_expect_eq(judged(&n, "GCAtHeapLimit", &f), FINDING_EXCLUDED);
	cr_expect_str_eq(f.evidence, "358 MB, no limit");
	cr_expect_eq(judged(&n, "NoMemoryLimit", &f), FINDING_POSSIBLE);
	n.gen2_percent = 29;
	cr_expect_eq(judged(&n, "NoMemoryLimit", &f), FINDING_EXCLUDED, "it does no harm");
	n.memory_limit_mb = NAN;
	cr_expect_eq(judged(&n, "GCAtHeapLimit", &f), FINDING_NOT_MEASURED);
	cr_expect_eq(judged(&n, "NoMemoryLimit", &f), FINDING_NOT_MEASURED);
}

Test(pause_rules, large_objects_need_the_runtimes_word)
{
	struct pause_numbers n = healthy();
	struct finding f;
	n.gen2_percent = 10;
	n.background_percent = 10;
	n.large_percent = 19.9;
	cr_expect_eq(judged(&n, "LargeObjectCollections", &f), FINDING_EXCLUDED);
	n.large_percent = 20;
	cr_expect_eq(judged(&n, "LargeObjectCollections", &f), FINDING_FOUND);
	n.gen2_percent = 9.9; /* young ones, nearly all of them */
	cr_expect_eq(judged(&n, "LargeObjectCollections", &f), FINDING_EXCLUDED);
	n.gen2_percent = 60;
	n.causes_looked_at = 0;
	n.large_percent = NAN;
	cr_expect_eq(judged(&n, "LargeObjectCollections", &f), FINDING_NOT_MEASURED);
}

Test(pause_rules, one_witness_is_not_enough)
{
	struct pause_numbers n = healthy();
	struct finding f;
	n.induced_percent = 90;
	n.inducer.text[0] = '\0';
	cr_expect_eq(judged(&n, "InducedCollections", &f), FINDING_POSSIBLE);
	n.suspending_percent = 90;
	n.delay_percent = 20;
	n.run_delay_ms = 100;
	cr_expect_eq(judged(&n, "SlowSuspension", &f), FINDING_POSSIBLE, "the thread may just have had no CPU");
	cr_expect_eq(judged(&n, "NodeIsFull", &f), FINDING_FOUND);
	n.cpus_used = 5.6;
	cr_expect_eq(judged(&n, "NodeIsFull", &f), FINDING_POSSIBLE, "it fills the node itself");
	n.throttled_percent = 5;
	cr_expect_eq(judged(&n, "NodeIsFull", &f), FINDING_EXCLUDED, "it is the quota");
	n.throttled_percent = 0;
	n.run_delay_ms = 99;
	cr_expect_eq(judged(&n, "NodeIsFull", &f), FINDING_EXCLUDED);
	n.longest_suspending_ms = 0.9;
	cr_expect_eq(judged(&n, "SlowSuspension", &f), FINDING_EXCLUDED, "no suspension was slow");
}

/* The kernel's own word for the whole node, where it gives one. */
Test(pause_rules, a_node_without_pressure_is_not_full)
{
	struct pause_numbers n = healthy();
	struct finding f;
	n.delay_percent = 50;
	n.run_delay_ms = 1000;
	n.node_pressure_percent = 19;
	cr_expect_eq(judged(&n, "NodeIsFull", &f), FINDING_EXCLUDED);
	n.node_pressure_percent = 20;
	cr_expect_eq(judged(&n, "NodeIsFull", &f), FINDING_FOUND);
	cr_expect(strstr(f.evidence, "; in 20% of the session some task of the node waited for one"), "%s", f.evidence);
}

Test(pause_rules, one_pause_that_outweighs_the_others)
{
	struct pause_numbers n = healthy();
	struct finding f;
	n.suspending_percent = 35;
	n.longest_percent = 50;
	n.longest_suspending_percent = 59.9;
	cr_expect_eq(judged(&n, "SlowSuspension", &f), FINDING_EXCLUDED);
	n.longest_suspending_percent = 60;
	cr_expect_eq(judged(&n, "SlowSuspension", &f), FINDING_FOUND);
	n.longest_percent = 49.9;
	cr_expect_eq(judged(&n, "SlowSuspension", &f), FINDING_EXCLUDED);
}

Test(pause_rules, heaps_need_memory)
{
	struct pause_numbers n = healthy();
	struct finding f;
	n.cpus = 16;
	n.server_heaps = 16;
	n.memory_mb = 400;
	n.memory_limit_mb = 1024;
	cr_expect_eq(judged(&n, "ServerGCInSmallContainer", &f), FINDING_EXCLUDED);
	n.memory_limit_mb = 512;
	cr_expect_eq(judged(&n, "ServerGCInSmallContainer", &f), FINDING_FOUND);
	cr_expect_str_eq(f.evidence, "16 heaps on 16 CPUs, 32 MB of the memory limit for each");
	n.memory_mb = 300;
	cr_expect_eq(judged(&n, "ServerGCInSmallContainer", &f), FINDING_EXCLUDED, "there is room");
	n.server_heaps = 0;
	cr_expect_eq(judged(&n, "ServerGCInSmallContainer", &f), FINDING_EXCLUDED);
	cr_expect_str_eq(f.evidence, "Server GC is not in use");
	n.server_heaps = NAN;
	cr_expect_eq(judged(&n, "ServerGCInSmallContainer", &f), FINDING_NOT_MEASURED);
}

static void judge_pauses(const struct rule_fields *fields, const void *numbers, struct findings *out)
{
	catalogue_judge("RuntimePauses", fields, numbers, out);
}

Test(pause_rules, recorded_captures)
{
	struct pause_numbers n;
	const struct capture_judge by = {.fields = &pause_numbers_fields, .judge = judge_pauses};
	check_group("RuntimePauses", &pause_numbers_fields);
	check_captures_by("pauses", &by, &n);
}
