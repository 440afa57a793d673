/* A ProfilingTrigger from text, for tests: one of three sources, the rest of the spec as told. */
#ifndef DRDOTNET_TESTS_MAKE_TRIGGER_H
#define DRDOTNET_TESTS_MAKE_TRIGGER_H

#include "controller/triggers/trigger_object.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define ALERTS "\"source\": {\"alertmanager\": {\"matchers\": [{\"name\": \"alertname\", \"value\": \"HighCPU\"}]}}"
#define SCHEDULE(cron) "\"source\": {\"schedule\": {\"cron\": \"" cron "\"}}"
#define THRESHOLD "\"source\": {\"threshold\": {\"target\": {\"selector\": {\"matchLabels\": {\"app\": \"x\"}}}, \"cpu\": {\"above\": 80}}}"
#define TEMPLATE "\"sessionTemplate\": {\"spec\": {\"profiler\": \"CPUHotpaths\"}}"
#define AIMED "\"sessionTemplate\": {\"spec\": {\"profiler\": \"CPUHotpaths\", \"target\": {\"selector\": {\"matchLabels\": {\"app\": \"x\"}}}}}"

/* `spec`: the text between its braces; `status`: a whole object, or NULL. */
static inline struct profiling_trigger *make_trigger(const char *spec, const char *status)
{
	char text[32768];
	struct err e = ERR_INIT;
	snprintf(text, sizeof text,
		 "{\"metadata\": {\"namespace\": \"shop\", \"name\": \"hot\", \"uid\": \"u-1\", \"resourceVersion\": \"7\", \"generation\": 1},"
		 " \"spec\": {%s}, \"status\": %s}", spec, status ? status : "{}");
	AUTO_JSON json_t *doc = jsonx_parse(text, strlen(text), "trigger", &e);
	cr_assert_not_null(doc, "%s: %s", e.message, text);
	struct profiling_trigger *t = trigger_object_from_json(doc, &e);
	cr_assert_not_null(t, "%s", e.message);
	return t;
}

#endif
