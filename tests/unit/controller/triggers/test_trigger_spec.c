#include "tests/unit/controller/triggers/make_trigger.h"

#define SPEC(source, template) source ", " template

Test(trigger_spec, defaults)
{
	struct profiling_trigger *t = make_trigger(SPEC(ALERTS, TEMPLATE), NULL);
	cr_assert(t->spec_valid, "%s", t->spec_error);
	const struct trigger_spec *s = &t->spec;
	cr_expect_eq(s->source, TRIGGER_ALERTMANAGER);
	cr_expect_eq(s->alertmanager.matchers[0].type, TRIGGER_MATCH_EQUAL);
	cr_expect_str_eq(s->alertmanager.pod_label, "pod");
	cr_expect_str_eq(s->alertmanager.container_label, "container");
	cr_expect_eq(s->cooldown_seconds, 900);
	cr_expect_eq(s->max_active, 3);
	cr_expect_eq(s->per_hour, 10);
	cr_expect_eq(s->keep_successful, 10);
	cr_expect_eq(s->keep_failed, 3);
	cr_expect_not(s->suspend);
	cr_expect_not(s->template_target);
	trigger_unref(t);
	t = make_trigger(SPEC(SCHEDULE("@daily"), AIMED), NULL);
	cr_assert(t->spec_valid, "%s", t->spec_error);
	cr_expect_eq(t->spec.cooldown_seconds, 0, "a schedule has its own pace");
	cr_expect_eq(t->spec.schedule.starting_deadline_seconds, 300);
	trigger_unref(t);
	t = make_trigger(SPEC(THRESHOLD, TEMPLATE), NULL);
	cr_assert(t->spec_valid, "%s", t->spec_error);
	cr_expect_eq(t->spec.threshold.resource, TRIGGER_CPU_OF_LIMIT);
	cr_expect_eq(t->spec.threshold.for_seconds, 60);
	trigger_unref(t);
}

Test(trigger_spec, sources_in_short)
{
	static const struct {
		const char *spec, *text;
	} rows[] = {
		{SPEC(ALERTS, TEMPLATE), "alertmanager"},
		{SPEC(THRESHOLD, TEMPLATE), "cpu > 80% of limit"},
		{SPEC("\"source\": {\"schedule\": {\"cron\": \"0 3 * * *\", \"timeZone\": \"Europe/Berlin\"}}", AIMED), "0 3 * * * Europe/Berlin"},
		{SPEC(SCHEDULE("@daily"), AIMED), "@daily"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct profiling_trigger *t = make_trigger(rows[i].spec, NULL);
		cr_assert(t->spec_valid, "%s", t->spec_error);
		char *text = trigger_spec_source_text(&t->spec);
		cr_expect_str_eq(text, rows[i].text);
		free(text);
		trigger_unref(t);
	}
}

#define MATCHERS(list) "\"source\": {\"alertmanager\": {\"matchers\": [" list "]}}"
#define MATCHER "{\"name\": \"a\", \"value\": \"b\"}"
#define CPU(fields) "\"source\": {\"threshold\": {\"target\": {\"selector\": {\"matchLabels\": {\"app\": \"x\"}}}, \"cpu\": {" fields "}}}"
#define MEMORY(fields) "\"source\": {\"threshold\": {\"target\": {\"selector\": {\"matchLabels\": {\"app\": \"x\"}}}, \"memory\": {" fields "}}}"
#define ZONE(zone) "\"source\": {\"schedule\": {\"cron\": \"@daily\", \"timeZone\": \"" zone "\"}}"

Test(trigger_spec, what_is_refused_names_its_field)
{
	static const struct {
		const char *spec, *why;
	} rows[] = {
		{"", "spec.source: required"},
		{ALERTS, "spec.sessionTemplate: required"},
		{SPEC("\"source\": {}", TEMPLATE), "exactly one of"},
		{SPEC("\"source\": {\"alertmanager\": {\"matchers\": [" MATCHER "]}, \"schedule\": {\"cron\": \"@daily\"}}", AIMED), "exactly one of"},
		{SPEC("\"source\": {\"webhook\": {}}", TEMPLATE), "spec.source.webhook: unknown field"},
		{SPEC(MATCHERS(""), TEMPLATE), "spec.source.alertmanager.matchers: give 1 to 16"},
		{SPEC(MATCHERS(MATCHER ", 3"), TEMPLATE), "spec.source.alertmanager.matchers[1]: expected an object"},
		{SPEC(MATCHERS("{\"name\": \"9\", \"value\": \"b\"}"), TEMPLATE), "matchers[0].name: not a label of an alert: \"9\"; expected letters"},
		{SPEC(MATCHERS("{\"name\": \"a\"}"), TEMPLATE), "matchers[0].value: required"},
		{SPEC(MATCHERS("{\"name\": \"a\", \"value\": \"b\", \"matchType\": \"Like\"}"), TEMPLATE),
		 "matchers[0].matchType: must be Equal, NotEqual, Regex or NotRegex, found \"Like\""},
		{SPEC(MATCHERS("{\"name\": \"a\", \"value\": \"(b\", \"matchType\": \"Regex\"}"), TEMPLATE), "matchers[0].value: regular expression"},
		{SPEC(MATCHERS("{\"name\": \"a\", \"value\": \"(?=b)\", \"matchType\": \"NotRegex\"}"), TEMPLATE),
		 "matchers[0].value: regular expression"},
		{SPEC(CPU("\"above\": 0"), TEMPLATE), "spec.source.threshold.cpu.above"},
		{SPEC(CPU("\"above\": 10001"), TEMPLATE), "spec.source.threshold.cpu.above"},
		{SPEC(CPU("\"above\": 80, \"forSeconds\": 4"), TEMPLATE), "spec.source.threshold.cpu.forSeconds"},
		{SPEC(CPU("\"above\": 80, \"percentOf\": \"Node\""), TEMPLATE),
		 "spec.source.threshold.cpu.percentOf: must be Limit or Request, found \"Node\""},
		{SPEC(MEMORY("\"above\": 101"), TEMPLATE), "spec.source.threshold.memory.above"},
		{SPEC(MEMORY("\"above\": 90, \"percentOf\": \"Request\""), TEMPLATE),
		 "spec.source.threshold.memory.percentOf: must be Limit, found \"Request\""},
		{SPEC("\"source\": {\"threshold\": {\"target\": {\"selector\": {}}, \"cpu\": {\"above\": 1}}}", TEMPLATE), "threshold.target.selector"},
		{SPEC("\"source\": {\"threshold\": {\"target\": {\"selector\": {\"matchLabels\": {\"a\": \"b\"}}}}}", TEMPLATE), "give either cpu or memory"},
		{SPEC(SCHEDULE("61 * * * *"), AIMED), "spec.source.schedule.cron: minute"},
		{SPEC(ZONE("Mars/Base"), AIMED), "spec.source.schedule.timeZone: \"Mars/Base\" is not known here"},
		{SPEC(SCHEDULE("@daily"), TEMPLATE), "spec.sessionTemplate.spec.target: a schedule names no pod"},
		{SPEC(ALERTS, "\"sessionTemplate\": {\"spec\": {\"profiler\": \"Guess\"}}"), "spec.sessionTemplate.spec.profiler: unknown profiler \"Guess\""},
		{SPEC(ALERTS, "\"sessionTemplate\": {\"spec\": {\"profiler\": \"CPUHotpaths\", \"durationSeconds\": 0}}"),
		 "spec.sessionTemplate.spec.durationSeconds: must be between"},
		{SPEC(ALERTS, "\"sessionTemplate\": {\"spec\": {\"profiler\": \"CPUHotpaths\", \"cancel\": true}}"),
		 "spec.sessionTemplate.spec.cancel: a template has none; leave it out"},
		{SPEC(ALERTS, "\"sessionTemplate\": {\"spec\": {\"profiler\": \"CPUHotpaths\", \"reveal\": true}}"), "spec.sessionTemplate.spec.reveal"},
		{SPEC(ALERTS, "\"sessionTemplate\": {\"metadata\": {\"labels\": {\"a\": 3}}, \"spec\": {\"profiler\": \"CPUHotpaths\"}}"),
		 "labels.a: expected a string"},
		{SPEC(ALERTS, TEMPLATE ", \"cooldownSeconds\": -1"), "spec.cooldownSeconds"},
		{SPEC(ALERTS, TEMPLATE ", \"limits\": {\"maxActive\": 0}"), "spec.limits.maxActive"},
		{SPEC(ALERTS, TEMPLATE ", \"limits\": {\"perHour\": 61}"), "spec.limits.perHour"},
		{SPEC(ALERTS, TEMPLATE ", \"limits\": {\"perDay\": 6}"), "spec.limits.perDay: unknown field"},
		{SPEC(ALERTS, TEMPLATE ", \"historyLimits\": {\"failed\": 1001}"), "spec.historyLimits.failed"},
		{SPEC(ALERTS, TEMPLATE ", \"suspend\": \"yes\""), "spec.suspend"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct profiling_trigger *t = make_trigger(rows[i].spec, NULL);
		cr_assert_not(t->spec_valid, "%s", rows[i].spec);
		cr_expect(strstr(t->spec_error, rows[i].why), "%s: \"%s\" lacks \"%s\"", rows[i].spec, t->spec_error, rows[i].why);
		trigger_unref(t);
	}
}

Test(trigger_spec, a_name_must_be_a_label)
{
	char text[1024];
	snprintf(text, sizeof text, "{\"metadata\": {\"namespace\": \"shop\", \"name\": \"%064d\", \"uid\": \"u\", \"resourceVersion\": \"7\"},"
		 " \"spec\": {%s}}", 0, SPEC(ALERTS, TEMPLATE));
	AUTO_JSON json_t *doc = jsonx_parse(text, strlen(text), "trigger", NULL);
	struct profiling_trigger *t = trigger_object_from_json(doc, NULL);
	cr_assert_not_null(t);
	cr_expect_not(t->spec_valid);
	cr_expect(strstr(t->spec_error, "metadata.name"), "%s", t->spec_error);
	trigger_unref(t);
}
