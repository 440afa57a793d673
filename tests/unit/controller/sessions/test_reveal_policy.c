#include "controller/sessions/reveal_policy.h"

#include "common/base/jsonx.h"

#include <criterion/criterion.h>
#include <string.h>

#define CHECKS "{\"spec\":{\"failurePolicy\":\"Fail\",\"validations\":[{\"expression\":\"a || authorizer.group('x').check('reveal').allowed()\"}]}}"
#define OPEN "{\"spec\":{\"failurePolicy\":\"Ignore\",\"validations\":[{\"expression\":\"x.check('reveal').allowed()\"}]}}"
#define DENIES "{\"spec\":{\"policyName\":\"sessions.drdotnet.dev\",\"validationActions\":[\"Deny\"]}}"

Test(reveal_policy, holds_only_when_it_refuses_everywhere)
{
	static const struct {
		const char *about, *policy, *binding;
		bool holds;
	} rows[] = {
		{"as shipped", CHECKS, DENIES, true},
		{"no policy", NULL, DENIES, false},
		{"no binding", CHECKS, NULL, false},
		{"a failure lets pass", OPEN, DENIES, false},
		{"checks something else", "{\"spec\":{\"validations\":[{\"expression\":\"true\"}]}}", DENIES, false},
		{"not always", "{\"spec\":{\"matchConditions\":[],\"validations\":[{\"expression\":\"x.check('reveal').allowed()\"}]}}", DENIES, false},
		{"warns only", CHECKS, "{\"spec\":{\"policyName\":\"sessions.drdotnet.dev\",\"validationActions\":[\"Warn\"]}}", false},
		{"of another policy", CHECKS, "{\"spec\":{\"policyName\":\"other\",\"validationActions\":[\"Deny\"]}}", false},
		{"in some namespaces", CHECKS,
		 "{\"spec\":{\"policyName\":\"sessions.drdotnet.dev\",\"validationActions\":[\"Deny\"],\"matchResources\":{}}}", false},
		{"nonsense", "[]", "7", false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_JSON json_t *policy = rows[i].policy ? json_loads(rows[i].policy, 0, NULL) : NULL;
		AUTO_JSON json_t *binding = rows[i].binding ? json_loads(rows[i].binding, JSON_DECODE_ANY, NULL) : NULL;
		cr_expect_eq(reveal_policy_holds(policy, binding), rows[i].holds, "%s", rows[i].about);
	}
}
