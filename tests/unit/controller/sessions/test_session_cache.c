#include "controller/sessions/session_cache.h"

#include "common/api/reason.h"
#include "tests/unit/controller/sessions/make_session.h"
#include "controller/sessions/session_cache_each.h"

#include <pthread.h>

#define HELD ",\"finalizers\":[\"drdotnet.dev/detach\"]"
#define TARGET(phase) "\"targets\":[{\"podName\":\"a\",\"podUID\":\"u\",\"nodeName\":\"n\",\"jobID\":\"" UID "-0\",\"phase\":\"" phase "\"}]"
#define KEY "shop/cpu"

static bool put(struct session_cache *c, const char *metadata, const char *status, const char *version)
{
	struct profiling_session s = make_session(metadata, SPEC, status);
	snprintf(s.resource_version, sizeof s.resource_version, "%s", version);
	return session_cache_put_take(c, &s);
}

static enum session_cache_kind get(struct session_cache *c, int64_t now, struct profiling_session *s, struct plan_pod_view *view)
{
	struct plan_pod_view *views = NULL;
	int64_t expires = 0;
	enum session_cache_kind kind = session_cache_get(c, KEY, now, s, &views, &expires);
	if (views && view && s->pod_count)
		*view = views[0];
	free(views);
	return kind;
}

static enum session_job_verdict tell(struct session_cache *c, const char *node, const char *job_id, enum job_phase phase)
{
	struct link_job job = {.phase = phase};
	char key[SESSION_KEY_SIZE];
	snprintf(job.job_id, sizeof job.job_id, "%s", job_id);
	return session_cache_job(c, node, &job, key);
}

Test(session_cache, old_versions_are_echoes)
{
	struct session_cache *c = session_cache_new();
	cr_expect(put(c, "", "", "9"));
	cr_expect_not(put(c, "", "", "9"), "the same again");
	cr_expect_not(put(c, "", "", "8"), "an older one");
	cr_expect(put(c, "", "", "10"), "as numbers, not as texts");
	session_cache_remove(c, KEY, "another uid");
	struct profiling_session s;
	cr_expect_eq(get(c, 0, &s, NULL), SESSION_ACTIVE);
	session_object_fini(&s);
	session_cache_remove(c, KEY, UID);
	cr_expect_eq(get(c, 0, &s, NULL), SESSION_ABSENT);
	struct profiling_session answer = make_session("", SPEC, "");
	cr_expect_not(session_cache_update_take(c, &answer), "an answer to our own write does not bring it back");
	cr_expect_eq(get(c, 0, &s, NULL), SESSION_ABSENT);
	session_cache_free(c);
}

Test(session_cache, what_a_list_does_not_have_is_gone)
{
	struct session_cache *c = session_cache_new();
	put(c, "", "", "9");
	session_cache_list_begin(c, "shop2");
	session_cache_list_end(c, "shop2");
	struct profiling_session s;
	cr_expect_eq(get(c, 0, &s, NULL), SESSION_ACTIVE, "a list of another namespace");
	session_object_fini(&s);
	session_cache_list_begin(c, NULL);
	put(c, "", "", "9");
	session_cache_list_end(c, NULL);
	cr_expect_eq(get(c, 0, &s, NULL), SESSION_ACTIVE, "it was listed, unchanged");
	session_object_fini(&s);
	session_cache_list_begin(c, "shop");
	session_cache_list_end(c, "shop");
	cr_expect_eq(get(c, 0, &s, NULL), SESSION_ABSENT);
	session_cache_free(c);
}

Test(session_cache, a_node_speaks_only_of_jobs_it_was_given)
{
	struct session_cache *c = session_cache_new();
	put(c, HELD, TARGET("Pending"), "9");
	static const struct {
		const char *node, *job;
		enum session_job_verdict verdict;
	} rows[] = {
		{"n", UID "-0", SESSION_JOB_TAKEN}, {"other", UID "-0", SESSION_JOB_FOREIGN}, {"n", UID "-1", SESSION_JOB_FOREIGN},
		{"n", "unknown-0", SESSION_JOB_UNKNOWN}, {"n", "rubbish", SESSION_JOB_ORPHAN}, {"n", "", SESSION_JOB_ORPHAN},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_expect_eq(tell(c, rows[i].node, rows[i].job, JOB_PROFILING), rows[i].verdict, "%s of %s", rows[i].job, rows[i].node);
	struct session_upload u;
	struct err e = ERR_INIT;
	cr_expect_eq(session_cache_upload(c, "n", UID "-0", &u, &e), 0);
	cr_expect_str_eq(u.store, "default");
	cr_expect_eq(session_cache_upload(c, "other", UID "-0", &u, &e), -1);
	cr_expect_eq(e.kind, ERR_DENIED);
	struct link_report r = {.size_bytes = SESSION_REPORT_MAX_BYTES};
	for (int i = 0; i < LINK_MAX_REPORTS; i++) {
		snprintf(r.name, sizeof r.name, "report-%d", i);
		cr_expect_eq(session_cache_grant(c, "n", UID "-0", &r, &u, NULL), 0);
		cr_expect_eq(session_cache_grant(c, "n", UID "-0", &r, &u, NULL), 0, "asked for again");
	}
	e = (struct err)ERR_INIT;
	snprintf(r.name, sizeof r.name, "one-more");
	cr_expect_eq(session_cache_grant(c, "n", UID "-0", &r, &u, &e), -1);
	cr_expect_eq(e.kind, ERR_DENIED);
	e = (struct err)ERR_INIT;
	snprintf(r.name, sizeof r.name, "report-0");
	r.size_bytes++;
	cr_expect_eq(session_cache_grant(c, "n", UID "-0", &r, &u, &e), -1);
	cr_expect_eq(e.kind, ERR_DENIED);
	put(c, HELD, TARGET("Succeeded"), "10");
	cr_expect_eq(tell(c, "n", UID "-0", JOB_SUCCEEDED), SESSION_JOB_ORPHAN, "its end is known: it may be forgotten");
	session_cache_free(c);
}

Test(session_cache, the_job_of_a_missed_start_may_be_forgotten)
{
	struct session_cache *c = session_cache_new();
	put(c, HELD, "\"targets\":[{\"podName\":\"a\",\"nodeName\":\"n\",\"jobID\":\"" UID "-0.2\",\"phase\":\"Pending\"}]", "9");
	cr_expect_eq(tell(c, "n", UID "-0.2", JOB_QUEUED), SESSION_JOB_TAKEN);
	cr_expect_eq(tell(c, "n", UID "-0", JOB_FAILED), SESSION_JOB_ORPHAN);
	cr_expect_eq(tell(c, "other", UID "-0.1", JOB_FAILED), SESSION_JOB_ORPHAN, "it was another node's");
	cr_expect_eq(tell(c, "n", UID "-0.3", JOB_QUEUED), SESSION_JOB_FOREIGN);
	session_cache_free(c);
}

Test(session_cache, the_agents_word_is_newer_than_the_status_until_an_end_stands_there)
{
	struct session_cache *c = session_cache_new();
	struct profiling_session s;
	struct plan_pod_view v;
	put(c, HELD, TARGET("Pending"), "9");
	tell(c, "n", UID "-0", JOB_PROFILING);
	put(c, HELD, TARGET("Pending"), "10");
	get(c, 50, &s, &v);
	cr_expect_eq(s.pods[0].job.phase, JOB_PROFILING);
	cr_expect(s.pods[0].reported && v.reported_in_link && !v.stored_final);
	session_object_fini(&s);
	put(c, HELD, TARGET("Failed"), "11");
	get(c, 50, &s, &v);
	cr_expect_eq(s.pods[0].job.phase, JOB_FAILED, "an end is not taken back");
	cr_expect(v.stored_final);
	session_object_fini(&s);
	session_cache_free(c);
}

Test(session_cache, ages_of_links_orders_and_cancels)
{
	struct session_cache *c = session_cache_new();
	struct profiling_session s;
	struct plan_pod_view v;
	put(c, HELD, TARGET("Pending"), "9");
	session_cache_lead(c, 1, 900);
	get(c, 1000, &s, &v);
	cr_expect_eq(v.linked_age_ms, 100, "counted from when this process began to lead");
	cr_expect_not(v.linked || v.complete || v.says_complete || v.unordered);
	cr_expect_eq(v.ordered_age_ms, -1);
	cr_expect_eq(v.canceled_age_ms, -1);
	session_object_fini(&s);
	session_cache_ordered(c, KEY, 0, 1100);
	session_cache_canceled(c, KEY, 0, 1200, true);
	session_cache_canceled(c, KEY, 0, 1300, false);
	session_cache_ordered(c, KEY, 7, 1); /* no such pod */
	get(c, 2000, &s, &v);
	cr_expect_eq(v.ordered_age_ms, 900);
	cr_expect_eq(v.canceled_age_ms, 800, "since the first");
	cr_expect(v.cancel_sent);
	session_object_fini(&s);
	tell(c, "n", UID "-0", JOB_PROFILING);
	session_cache_node(c, "n", true, false, 2100);
	session_cache_node(c, "n", false, false, 3000);
	get(c, 3500, &s, &v);
	cr_expect_eq(v.linked_age_ms, 500);
	cr_expect_not(v.linked);
	cr_expect_eq(v.ordered_age_ms, -1, "what was sent in the old link counts no more");
	cr_expect_not(v.cancel_sent || v.reported_in_link);
	cr_expect_eq(v.canceled_age_ms, 2300, "that it was wanted does");
	session_object_fini(&s);
	session_cache_free(c);
}

Test(session_cache, when_an_agent_has_told_of_all_its_jobs)
{
	struct session_cache *c = session_cache_new();
	struct profiling_session s;
	struct plan_pod_view v;
	put(c, HELD, TARGET("Pending"), "9");
	static const struct {
		const char *about;
		int64_t leads, completes;
		bool linked, says, complete;
	} rows[] = {
		{"a standby does not decide", 0, 4, true, true, false},
		{"told the leader before", 5, 4, true, true, false},
		{"told us", 5, 5, true, true, true},
		{"an agent that does not say so", 5, 0, true, false, false},
		{"a link that is gone", 5, 5, false, true, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		session_cache_node(c, "n", true, rows[i].says, 1000);
		session_cache_lead(c, rows[i].leads, 2000);
		if (rows[i].completes)
			session_cache_complete(c, "n", rows[i].completes);
		session_cache_node(c, "n", rows[i].linked, rows[i].says, 3000);
		get(c, 3500, &s, &v);
		cr_expect_eq(v.linked, rows[i].linked, "%s", rows[i].about);
		cr_expect_eq(v.says_complete, rows[i].linked && rows[i].says, "%s", rows[i].about);
		cr_expect_eq(v.complete, rows[i].complete, "%s", rows[i].about);
		cr_expect_eq(v.linked_age_ms, rows[i].linked ? 1500 : 500, "%s: hello again changes nothing", rows[i].about);
		session_object_fini(&s);
		session_cache_node(c, "n", false, false, 4000);
	}
	session_cache_complete(c, "never linked", 5);
	session_cache_free(c);
}

Test(session_cache, whose_order_was_never_given)
{
	static const struct {
		const char *status;
		bool assigned, ordered, unordered;
	} rows[] = {
		{TARGET("Pending"), false, false, false}, /* by a leader before us, maybe */
		{TARGET("Pending"), true, false, true},
		{TARGET("Pending"), true, true, false},
		{TARGET("Pending\",\"reason\":\"NodeWithoutAgent"), false, false, true},
		{TARGET("Pending\",\"reason\":\"AgentTooOld"), false, false, true},
		{TARGET("Pending\",\"reason\":\"NodeWithoutAgent"), false, true, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct session_cache *c = session_cache_new();
		struct profiling_session s;
		struct plan_pod_view v;
		put(c, HELD, rows[i].status, "9");
		session_cache_node(c, "n", true, true, 1000);
		if (rows[i].assigned)
			session_cache_assigned(c, KEY);
		if (rows[i].ordered)
			session_cache_ordered(c, KEY, 0, 1000);
		session_cache_node(c, "n", false, false, 2000); /* that it was ordered outlives the link */
		get(c, 3000, &s, &v);
		cr_expect_eq(v.unordered, rows[i].unordered, "row %zu", i);
		session_object_fini(&s);
		session_cache_free(c);
	}
}

/* The phase that is known of the session's only job; JOB_QUEUED: none. */
static enum job_phase phase_known(struct session_cache *c, bool *in_link)
{
	struct profiling_session s;
	struct plan_pod_view v = {0};
	enum job_phase phase = get(c, 5000, &s, &v) == SESSION_ACTIVE && s.pod_count ? s.pods[0].job.phase : JOB_QUEUED;
	*in_link = v.reported_in_link;
	session_object_fini(&s);
	return phase;
}

static void see_early(void *ctx, const char *node, const struct link_job *job)
{
	struct link_job *out = ctx;
	cr_expect(strcmp(node, "n") == 0 || strcmp(node, "other") == 0, "%s", node);
	memcpy(out->job_id, job->job_id, sizeof out->job_id);
	out->phase = job->phase;
}

Test(session_cache, what_is_told_before_the_watch_knows_of_it)
{
	static const struct {
		const char *about, *known, *teller;
		enum session_job_verdict verdict;
		bool node_leaves, settled, kept;
	} rows[] = {
		{"no session", NULL, "n", SESSION_JOB_UNKNOWN, false, false, true},
		{"a session without pods", "", "n", SESSION_JOB_EARLY, false, false, true},
		{"another node", NULL, "other", SESSION_JOB_UNKNOWN, false, false, false},
		{"a link that has ended since", NULL, "n", SESSION_JOB_UNKNOWN, true, false, false},
		{"settled", NULL, "n", SESSION_JOB_UNKNOWN, false, true, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct session_cache *c = session_cache_new();
		struct session_upload u;
		struct err e = ERR_INIT;
		bool in_link;
		if (rows[i].known)
			put(c, "", rows[i].known, "8");
		session_cache_node(c, "n", true, true, 1000);
		session_cache_node(c, "other", true, true, 1000);
		cr_expect_eq(tell(c, rows[i].teller, UID "-0", JOB_PROFILING), rows[i].verdict, "%s", rows[i].about);
		cr_expect_eq(tell(c, rows[i].teller, UID "-0", JOB_DELIVERING), rows[i].verdict, "%s", rows[i].about);
		cr_expect_not(session_cache_knows(c, UID), "%s", rows[i].about);
		cr_expect_eq(session_cache_upload(c, rows[i].teller, UID "-0", &u, &e), -1);
		cr_expect_eq(e.kind, ERR_RETRY, "%s: the agent asks again for where to put its report", rows[i].about);
		struct link_job early = {.phase = JOB_QUEUED};
		session_cache_each_early(c, see_early, &early);
		cr_expect_str_eq(early.job_id, UID "-0", "%s", rows[i].about);
		cr_expect_eq(early.phase, JOB_DELIVERING, "%s", rows[i].about);
		if (rows[i].node_leaves)
			session_cache_node(c, "n", false, false, 2000);
		if (rows[i].settled)
			session_cache_forget_early(c, "n", UID "-0");
		put(c, HELD, TARGET("Preparing"), "9");
		cr_expect_eq(phase_known(c, &in_link), rows[i].kept ? JOB_DELIVERING : JOB_PREPARING, "%s", rows[i].about);
		cr_expect_eq(in_link, rows[i].kept, "%s", rows[i].about);
		cr_expect(session_cache_knows(c, UID), "%s", rows[i].about);
		session_cache_free(c);
	}
}

Test(session_cache, a_node_s_early_jobs_are_bounded)
{
	struct session_cache *c = session_cache_new();
	char id[64];
	bool in_link;
	session_cache_node(c, "n", true, true, 1000);
	tell(c, "n", UID "-0", JOB_DELIVERING);
	for (int i = 0; i < LINK_MAX_JOBS; i++) {
		snprintf(id, sizeof id, "00000000-6b7e-4f0a-9a0e-%012d-0", i);
		tell(c, "n", id, JOB_PROFILING);
	}
	put(c, HELD, TARGET("Preparing"), "9");
	cr_expect_eq(phase_known(c, &in_link), JOB_PREPARING, "the oldest word went");
	session_cache_free(c);
}

static void collect(void *ctx, const char *key)
{
	strncat(ctx, key, 200);
	strncat(ctx, " ", 2);
}

Test(session_cache, what_is_over_is_small_and_expires)
{
	struct session_cache *c = session_cache_new();
	char keys[512] = "";
	size_t active, over;
	put(c, HELD, COMPLETED_CONDITION, "9");
	session_cache_counts(c, &active, &over);
	cr_expect_eq(active, 1, "our finalizer is still there");
	put(c, "", COMPLETED_CONDITION ",\"completionTime\":\"2026-01-01T00:00:00Z\"", "10");
	session_cache_counts(c, &active, &over);
	cr_expect_eq(active, 0);
	cr_expect_eq(over, 1);
	session_cache_each_expired(c, CREATED_MS + INT64_C(604800000) - 1, collect, keys);
	session_cache_each_active(c, collect, keys);
	cr_expect_str_eq(keys, "");
	session_cache_each_expired(c, CREATED_MS + INT64_C(604800000), collect, keys);
	cr_expect_str_eq(keys, KEY " ");
	session_cache_free(c);
}

Test(session_cache, who_waits_for_a_node)
{
	struct session_cache *c = session_cache_new();
	char keys[512] = "";
	put(c, "", "", "9");
	session_cache_each_waiting_for(c, "any", collect, keys);
	cr_expect_str_eq(keys, KEY " ", "one without pods waits for every node");
	put(c, HELD, TARGET("Pending"), "10");
	session_cache_each_waiting_for(c, "any", collect, keys);
	cr_expect_str_eq(keys, KEY " ");
	session_cache_each_waiting_for(c, "n", collect, keys);
	cr_expect_str_eq(keys, KEY " " KEY " ");
	session_cache_free(c);
}

static void *talk(void *arg)
{
	for (int i = 0; i < 300; i++) {
		tell(arg, "n", UID "-0", i % 2 ? JOB_PROFILING : JOB_ANALYZING);
		session_cache_node(arg, "n", i % 3, i % 2, i);
		session_cache_complete(arg, "n", i);
		struct profiling_session s;
		get(arg, i, &s, NULL);
		session_object_fini(&s);
	}
	return NULL;
}

Test(session_cache, threads)
{
	struct session_cache *c = session_cache_new();
	pthread_t threads[3];
	char version[16];
	for (int i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, talk, c), 0);
	for (int i = 0; i < 300; i++) {
		snprintf(version, sizeof version, "%d", i + 1);
		put(c, HELD, i % 5 ? TARGET("Profiling") : "", version);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	session_cache_free(c);
}

Test(session_cache, which_session_occupies_a_pod_and_until_when)
{
	static const struct {
		const char *phase, *started, *key, *container;
		int64_t until;
		bool occupied;
	} rows[] = {
		{"Profiling", ",\"startTime\":\"2026-01-01T00:00:10Z\"", "shop/other", NULL, CREATED_MS + 10000 + 30000, true},
		{"Profiling", ",\"startTime\":\"2026-01-01T00:00:10Z\"", "shop/other", "app", CREATED_MS + 10000 + 30000, true},
		{"Profiling", ",\"startTime\":\"2026-01-01T00:00:10Z\"", "shop/other", "sidecar", 0, false},
		{"Pending", "", "shop/other", NULL, 0, true},
		{"Analyzing", "", "shop/other", NULL, 0, false},
		{"Succeeded", "", "shop/other", NULL, 0, false},
		{"Profiling", "", KEY, NULL, 0, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct session_cache *c = session_cache_new();
		struct pod_info pods[] = {{.uid = "another"}, {.uid = "u"}};
		AUTO_FREE char *status = mem_printf("\"targets\":[{\"podName\":\"a\",\"podUID\":\"u\",\"nodeName\":\"n\",\"container\":\"app\","
						    "\"jobID\":\"" UID "-0\",\"phase\":\"%s\"%s}]",
						    rows[i].phase, rows[i].started);
		put(c, HELD, status, "9");
		session_cache_occupy(c, rows[i].key, rows[i].container, pods, 2);
		cr_expect_str_eq(pods[0].occupied_by, "");
		cr_expect_str_eq(pods[1].occupied_by, rows[i].occupied ? "cpu" : "", "row %zu", i);
		cr_expect_eq(pods[1].occupied_until_wall_ms, rows[i].until, "row %zu: %lld", i, (long long)pods[1].occupied_until_wall_ms);
		session_cache_free(c);
	}
}
