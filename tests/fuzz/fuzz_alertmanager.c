/* A notification of Alertmanager, after a pattern and a zero byte. What is read has the bounds that are promised, names what it is about in
 * printable words, and is matched or not, but in bounded time. */
#include "controller/triggers/alertmanager.h"

#include "common/base/jsonx.h"
#include "tests/fuzz/fuzz_tools.h"
#include "controller/triggers/alert_match.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct profiling_trigger *trigger_of(const char *pattern, enum trigger_match type)
{
	static char name[] = "alertname", pod[] = "pod", container[] = "container";
	static struct trigger_matcher matcher;
	static struct profiling_trigger t;
	matcher = (struct trigger_matcher){name, (char *)pattern, type};
	t = (struct profiling_trigger){.namespace = "shop"};
	t.spec.alertmanager = (struct trigger_alertmanager){&matcher, 1, pod, container};
	return &t;
}

static void use(const struct alert *a, const char *pattern)
{
	struct err e = ERR_INIT;
	check(a->label_count <= ALERTMANAGER_MAX_LABELS);
	if (a->problem)
		return;
	int yes = alertmanager_matches(a, trigger_of(pattern, TRIGGER_MATCH_REGEX), &e);
	int no = alertmanager_matches(a, trigger_of(pattern, TRIGGER_MATCH_NOT_REGEX), &e);
	check(yes < 0 ? no < 0 : strcmp(alert_label(a, "namespace"), "shop") != 0 ? !yes && !no : yes + no == 1);
	struct alert_target target;
	if (alertmanager_target(a, trigger_of(pattern, TRIGGER_MATCH_EQUAL), &target, &e) < 0)
		return;
	check(!target.pod_name || (strlen(target.pod_name) <= 253 && !strchr(target.pod_name, '/')));
	check(!target.container || strlen(target.container) <= 63);
	for (const char *c = target.message; *c; c++)
		check((unsigned char)*c >= ' ');
	alert_target_fini(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	const uint8_t *end = memchr(data, 0, size);
	const char *pattern = end ? (const char *)data : "a+";
	size_t skip = end ? (size_t)(end - data) + 1 : 0;
	alertmanager_check_pattern(pattern, &e);
	struct alert_notification n;
	if (alertmanager_parse((const char *)data + skip, size - skip, &n, &e) < 0)
		return 0;
	check(n.count <= ALERTMANAGER_MAX_ALERTS);
	for (size_t i = 0; i < n.count; i++)
		use(&n.alerts[i], pattern);
	alertmanager_fini(&n);
	return 0;
}
