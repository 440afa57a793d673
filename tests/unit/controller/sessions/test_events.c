#include "controller/sessions/events.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct profiling_session session = {.namespace = "shop", .name = "cpu", .uid = "u"};

static json_t *build(const struct profiling_session *s, const char *reason, const char *message, char name[EVENT_NAME_SIZE])
{
	return events_build(s, true, reason, message, "instance", INT64_C(1767225600000), name);
}

Test(events, what_kubectl_shows)
{
	char name[EVENT_NAME_SIZE];
	AUTO_JSON json_t *e = build(&session, "NoPodsMatched", "no pod", name);
	cr_expect_str_eq(jsonx_str_at(e, "metadata.name", ""), name);
	cr_expect_eq(strncmp(name, "cpu.", 4), 0);
	cr_expect_str_eq(jsonx_str_at(e, "involvedObject.uid", ""), "u");
	cr_expect_str_eq(jsonx_str_at(e, "involvedObject.apiVersion", ""), "drdotnet.dev/v1alpha1");
	cr_expect_str_eq(jsonx_str_at(e, "type", ""), "Warning");
	cr_expect_str_eq(jsonx_str_at(e, "lastTimestamp", ""), "2026-01-01T00:00:00Z");
	cr_expect_eq(jsonx_int_at(e, "count", 0), 1);
}

Test(events, equal_ones_have_one_name)
{
	char a[EVENT_NAME_SIZE], b[EVENT_NAME_SIZE];
	json_decref(build(&session, "AgentLost", "gone", a));
	json_decref(build(&session, "AgentLost", "gone", b));
	cr_expect_str_eq(a, b);
	json_decref(build(&session, "AgentLost", "gone again", b));
	cr_expect_str_neq(a, b);
	struct profiling_session other = session;
	strcpy(other.uid, "v");
	json_decref(build(&other, "AgentLost", "gone", b));
	cr_expect_str_neq(a, b, "another object of the same name");
}

Test(events, names_and_messages_stay_within_the_apis_bounds)
{
	struct profiling_session s = session;
	char name[EVENT_NAME_SIZE], message[3000];
	memset(s.name, 'a', 253);
	memcpy(s.name + 230, "....-", 5);
	memset(message, 'x', sizeof message - 1);
	message[0] = '\033';
	message[sizeof message - 1] = '\0';
	AUTO_JSON json_t *e = build(&s, "Failed", message, name);
	cr_expect_leq(strlen(name), 253);
	cr_expect_eq(strspn(name, "a"), 230, "no dot or dash at the end of what was kept");
	cr_expect_eq(name[230], '.');
	cr_expect_neq(name[231], '.');
	cr_expect_leq(strlen(jsonx_str_at(e, "message", "")), 1024);
	cr_expect_neq(jsonx_str_at(e, "message", "x")[0], '\033');
}
