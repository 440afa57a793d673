#include "controller/triggers/alertmanager.h"

#include "tests/unit/controller/triggers/make_source.h"
#include "controller/triggers/alert_match.h"

#include <time.h>

#define ALERT(labels) \
	"{\"status\":\"firing\",\"labels\":{" labels "},\"annotations\":{\"summary\":\"s\"},\"startsAt\":\"2026-11-21T10:00:00Z\"," \
	"\"endsAt\":\"0001-01-01T00:00:00Z\",\"generatorURL\":\"http://p\",\"fingerprint\":\"b8f6f7d8e2c1a0f3\"}"
#define NOTIFICATION(alerts) "{\"version\":\"4\",\"groupKey\":\"{}\",\"status\":\"firing\",\"receiver\":\"r\",\"ofTheFuture\":{},\"alerts\":[" alerts "]}"

static struct alert_notification parse(const char *text)
{
	struct alert_notification n;
	struct err e = ERR_INIT;
	cr_assert_eq(alertmanager_parse(text, strlen(text), &n, &e), 0, "%s: %s", text, e.message);
	return n;
}

Test(alertmanager, reads_a_notification)
{
	struct alert_notification n = parse(NOTIFICATION(ALERT("\"alertname\":\"HighCPU\",\"pod\":\"p-1\"") ",{\"status\":\"resolved\",\"labels\":{},"
							"\"startsAt\":\"t\",\"fingerprint\":\"f\"}"));
	cr_assert_eq(n.count, 2);
	cr_expect(n.alerts[0].firing);
	cr_expect_null(n.alerts[0].problem);
	cr_expect_str_eq(n.alerts[0].fingerprint, "b8f6f7d8e2c1a0f3");
	cr_expect_str_eq(n.alerts[0].starts_at, "2026-11-21T10:00:00Z");
	cr_expect_str_eq(alert_label(&n.alerts[0], "pod"), "p-1");
	cr_expect_str_eq(alert_label(&n.alerts[0], "none"), "");
	cr_expect_not(n.alerts[1].firing);
	cr_expect_null(n.alerts[1].problem);
	alertmanager_fini(&n);
}

Test(alertmanager, says_what_is_no_notification)
{
	static const char *const rows[][2] = {
		{"", "notification"},
		{"[]", "expected an object"},
		{"{\"alerts\":[]}", "version: required"},
		{"{\"version\":4,\"alerts\":[]}", "version: expected a string"},
		{"{\"version\":\"3\",\"alerts\":[]}", "version: expected \"4\""},
		{"{\"version\":\"4\"}", "alerts: required"},
		{"{\"version\":\"4\",\"alerts\":{}}", "alerts: expected"},
		{"{\"version\":\"4\",\"alerts\":[],\"truncatedAlerts\":-1}", "truncatedAlerts: must be"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct alert_notification n;
		struct err e = ERR_INIT;
		cr_expect_eq(alertmanager_parse(rows[i][0], strlen(rows[i][0]), &n, &e), -1, "%s", rows[i][0]);
		cr_expect_eq(e.kind, ERR_INVALID);
		cr_expect(strstr(e.message, rows[i][1]), "%s: %s", rows[i][0], e.message);
		cr_expect_eq(n.count, 0);
	}
}

Test(alertmanager, an_odd_alert_does_not_hold_up_the_others)
{
	static const char *const odd[][2] = {
		{"1", "expected an object"},
		{"{}", "status: required"},
		{"{\"status\":\"burning\"}", "status: expected firing or resolved"},
		{"{\"status\":\"firing\"}", "fingerprint: required"},
		{"{\"status\":\"firing\",\"fingerprint\":\"\"}", "fingerprint: expected 1 to 128"},
		{"{\"status\":\"firing\",\"fingerprint\":\"f\"}", "startsAt: required"},
		{"{\"status\":\"firing\",\"fingerprint\":\"f\",\"startsAt\":\"t\"}", "labels: required"},
		{"{\"status\":\"firing\",\"fingerprint\":\"f\",\"startsAt\":\"t\",\"labels\":{\"a\":1}}", "labels: expected texts"},
	};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		AUTO_FREE char *text = mem_printf("{\"version\":\"4\",\"alerts\":[%s,%s]}", odd[i][0], ALERT("\"a\":\"b\""));
		struct alert_notification n = parse(text);
		cr_assert_eq(n.count, 2);
		cr_expect(n.alerts[0].problem && strstr(n.alerts[0].problem, odd[i][1]), "%s: %s", odd[i][0], n.alerts[0].problem);
		cr_expect_null(n.alerts[1].problem);
		alertmanager_fini(&n);
	}
}

Test(alertmanager, alerts_labels_and_values_have_bounds)
{
	struct err e = ERR_INIT;
	for (int count = ALERTMANAGER_MAX_ALERTS; count <= ALERTMANAGER_MAX_ALERTS + 1; count++) {
		AUTO_BUF struct buf text;
		buf_init(&text, 1 << 20);
		buf_puts(&text, "{\"version\":\"4\",\"alerts\":[");
		for (int i = 0; i < count; i++)
			buf_printf(&text, "%s1", i ? "," : "");
		buf_puts(&text, "]}");
		struct alert_notification n;
		cr_expect_eq(alertmanager_parse(buf_str(&text), text.len, &n, &e), count <= ALERTMANAGER_MAX_ALERTS ? 0 : -1);
		alertmanager_fini(&n);
	}
	cr_expect(strstr(e.message, "max_alerts"), "%s", e.message);
	for (int labels = ALERTMANAGER_MAX_LABELS; labels <= ALERTMANAGER_MAX_LABELS + 1; labels++) {
		AUTO_BUF struct buf text;
		buf_init(&text, 1 << 20);
		buf_puts(&text, "{\"version\":\"4\",\"alerts\":[{\"status\":\"firing\",\"fingerprint\":\"f\",\"startsAt\":\"t\",\"labels\":{");
		for (int i = 0; i < labels; i++)
			buf_printf(&text, "%s\"l%d\":\"v\"", i ? "," : "", i);
		buf_puts(&text, "}}]}");
		struct alert_notification n = parse(buf_str(&text));
		cr_expect_eq(n.alerts[0].problem == NULL, labels <= ALERTMANAGER_MAX_LABELS);
		alertmanager_fini(&n);
	}
	for (int size = ALERTMANAGER_MAX_VALUE; size <= ALERTMANAGER_MAX_VALUE + 1; size++) {
		AUTO_FREE char *text = mem_printf("{\"version\":\"4\",\"alerts\":[{\"status\":\"firing\",\"fingerprint\":\"f\",\"startsAt\":\"t\","
						  "\"labels\":{\"a\":\"%0*d\"}}]}", size, 1);
		struct alert_notification n = parse(text);
		cr_expect_eq(n.alerts[0].problem == NULL, size <= ALERTMANAGER_MAX_VALUE);
		alertmanager_fini(&n);
	}
}

static const struct {
	const char *matchers;
	int matches; /* the alert below; -1: an error */
} match_rows[] = {
	{"{'name':'alertname','value':'HighCPU'}", 1},
	{"{'name':'alertname','value':'HighCPU','matchType':'Equal'}", 1},
	{"{'name':'alertname','value':'High'}", 0},
	{"{'name':'missing','value':''}", 1},
	{"{'name':'missing','value':'x','matchType':'NotEqual'}", 1},
	{"{'name':'severity','value':'page','matchType':'NotEqual'}", 0},
	{"{'name':'alertname','value':'HighCPU'},{'name':'severity','value':'page'}", 1},
	{"{'name':'alertname','value':'HighCPU'},{'name':'severity','value':'info'}", 0},
	{"{'name':'alertname','value':'High(CPU|Memory)','matchType':'Regex'}", 1},
	{"{'name':'alertname','value':'High','matchType':'Regex'}", 0}, /* anchored */
	{"{'name':'alertname','value':'CPU','matchType':'Regex'}", 0},
	{"{'name':'alertname','value':'Lo|High.*','matchType':'Regex'}", 1},
	{"{'name':'alertname','value':'High|HighCPU','matchType':'Regex'}", 1},
	{"{'name':'alertname','value':'(?i)highcpu','matchType':'Regex'}", 1},
	{"{'name':'alertname','value':'.+','matchType':'NotRegex'}", 0},
	{"{'name':'missing','value':'.+','matchType':'NotRegex'}", 1},
	{"{'name':'missing','value':'','matchType':'Regex'}", 1},
	{"{'name':'lines','value':'a.b','matchType':'Regex'}", 1}, /* the dot takes line ends */
	{"{'name':'lines','value':'a','matchType':'Regex'}", 0},
	{"{'name':'euro','value':'.','matchType':'Regex'}", 1},    /* one character */
	{"{'name':'aaaa','value':'(a*)*[xy]','matchType':'Regex'}", -1},
	{"{'name':'aaaa','value':'(a*)*[xy]','matchType':'NotRegex'}", -1},
};

Test(alertmanager, matches_as_prometheus_does)
{
	struct alert_notification n = parse(NOTIFICATION(
		ALERT("\"alertname\":\"HighCPU\",\"severity\":\"page\",\"namespace\":\"shop\",\"lines\":\"a\\nb\",\"euro\":\"\xE2\x82\xAC\","
		      "\"aaaa\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac\"")));
	for (size_t i = 0; i < sizeof match_rows / sizeof *match_rows; i++) {
		AUTO_FREE char *source = mem_printf("{'alertmanager':{'matchers':[%s]}}", match_rows[i].matchers);
		struct profiling_trigger *t = make_source("shop", "t", source), *elsewhere = make_source("other", "t", source);
		struct err e = ERR_INIT;
		cr_expect_eq(alertmanager_matches(&n.alerts[0], t, &e), match_rows[i].matches, "%s: %s", match_rows[i].matchers, e.message);
		cr_expect_eq(alertmanager_matches(&n.alerts[0], elsewhere, NULL), 0, "of its own namespace only");
		trigger_unref(t);
		trigger_unref(elsewhere);
	}
	alertmanager_fini(&n);
	n = parse(NOTIFICATION(ALERT("\"alertname\":\"HighCPU\"")));
	struct profiling_trigger *t = make_source("shop", "t", "{'alertmanager':{'matchers':[{'name':'alertname','value':'HighCPU'}]}}");
	cr_expect_eq(alertmanager_matches(&n.alerts[0], t, NULL), 0, "no namespace, no match");
	trigger_unref(t);
	alertmanager_fini(&n);
}

Test(alertmanager, patterns_are_those_of_re2)
{
	static const char *const good[] = {"", "a", "a|b", "[a-z]+", "(?:x)", "(?i)x", "(?i:x)", "(?P<n>x)", "\\d+\\.\\w", "\\+", "\\++", "a+?", "a{2,3}",
					   "[[:alpha:]*+]", "[(?=]", "[]a]", "[^]a]", "\\pL", "^a$", "a**"};
	static const char *const bad[] = {"(", "[", "a{2", "(?=x)", "(?!x)", "(?<=x)", "(?<n>x)", "(?>x)", "(?R)", "(?1)", "(?(1)a)",
					  "(*ACCEPT)", "(a)\\1", "\\g1",
					  "\\k<n>", "\\K", "a++", "a*+", "a\\", "(?", "(?P=n)", "\\C"};
	struct err e;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		e = (struct err)ERR_INIT;
		if (strcmp(good[i], "a**") != 0)
			cr_expect_eq(alertmanager_check_pattern(good[i], &e), 0, "%s: %s", good[i], e.message);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		e = (struct err)ERR_INIT;
		cr_expect_eq(alertmanager_check_pattern(bad[i], &e), strcmp(bad[i], "a{2") == 0 ? 0 : -1, "%s", bad[i]);
	}
	AUTO_FREE char *most = mem_printf("%0*d", 256, 1), *more = mem_printf("%0*d", 257, 1);
	cr_expect_eq(alertmanager_check_pattern(most, NULL), 0);
	cr_expect_eq(alertmanager_check_pattern(more, NULL), -1);
}

static int64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

Test(alertmanager, no_pattern_runs_away)
{
	static const char *const evil[] = {"(a*)*b", "(a|a)*b", "(a|aa)+b", "(.*)*(.*)*(.*)*x", "(a?){64}a{64}b", "(((a+)+)+)+b"};
	for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
		AUTO_FREE char *source = mem_printf("{'alertmanager':{'matchers':[{'name':'v','value':'%s','matchType':'Regex'}]}}", evil[i]);
		AUTO_FREE char *value = mem_alloc(4001);
		memset(value, 'a', 4000);
		AUTO_FREE char *text = mem_printf("{\"version\":\"4\",\"alerts\":[{\"status\":\"firing\",\"fingerprint\":\"f\",\"startsAt\":\"t\","
						  "\"labels\":{\"namespace\":\"shop\",\"v\":\"%s\"}}]}", value);
		struct alert_notification n = parse(text);
		struct profiling_trigger *t = make_source("shop", "t", source);
		int64_t began_ns = cpu_ns();
		cr_expect_leq(alertmanager_matches(&n.alerts[0], t, NULL), 0);
		cr_expect_lt((cpu_ns() - began_ns) / 1000000, 2000, "%s: %lld ms", evil[i], (long long)(cpu_ns() - began_ns) / 1000000);
		trigger_unref(t);
		alertmanager_fini(&n);
	}
}

Test(alertmanager, labels_name_the_target)
{
	struct alert_notification n = parse(NOTIFICATION(
		ALERT("\"alertname\":\"High\\u001b[1mCPU\",\"namespace\":\"shop\",\"pod\":\"checkout-1\",\"k8s_pod\":\"other.pod-2\",\"container\":\"app\","
		      "\"severity\":\"page\"")
		"," ALERT("\"pod\":\"../../etc\"") "," ALERT("\"pod\":\"p\",\"container\":\"a.b c\"") "," ALERT("\"a\":\"b\"")));
	struct profiling_trigger *t = make_source("shop", "t", "{'alertmanager':{'matchers':[{'name':'alertname','value':'x'}]}}");
	struct profiling_trigger *mapped = make_source("shop", "t", "{'alertmanager':{'matchers':[{'name':'alertname','value':'x'}],"
								     "'targetLabels':{'pod':'k8s_pod','container':'k8s_container'}}}");
	struct alert_target target;
	struct err e = ERR_INIT;
	cr_assert_eq(alertmanager_target(&n.alerts[0], t, &target, &e), 0, "%s", e.message);
	cr_expect_str_eq(target.pod_name, "checkout-1");
	cr_expect_str_eq(target.container, "app");
	cr_expect_str_eq(target.dedup, "b8f6f7d8e2c1a0f3/2026-11-21T10:00:00Z");
	cr_expect_str_eq(target.message, "alert High\\x1b[1mCPU, severity page, since 2026-11-21T10:00:00Z");
	alert_target_fini(&target);
	cr_assert_eq(alertmanager_target(&n.alerts[0], mapped, &target, &e), 0);
	cr_expect_str_eq(target.pod_name, "other.pod-2");
	cr_expect_null(target.container);
	alert_target_fini(&target);
	cr_assert_eq(alertmanager_target(&n.alerts[3], t, &target, &e), 0);
	cr_expect_null(target.pod_name);
	cr_expect_str_eq(target.message, "alert without a name, since 2026-11-21T10:00:00Z");
	alert_target_fini(&target);
	cr_expect_eq(alertmanager_target(&n.alerts[1], t, &target, &e), -1);
	cr_expect(strstr(e.message, "label pod: no name of a pod"), "%s", e.message);
	e = (struct err)ERR_INIT;
	cr_expect_eq(alertmanager_target(&n.alerts[2], t, &target, &e), -1);
	cr_expect(strstr(e.message, "label container:"), "%s", e.message);
	trigger_unref(t);
	trigger_unref(mapped);
	alertmanager_fini(&n);
}
