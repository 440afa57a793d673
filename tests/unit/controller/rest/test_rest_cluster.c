/* The pure parts of the cluster's REST backend. */
#include "controller/rest/rest_access.h"
#include "controller/kube/workload.h"

#include <criterion/criterion.h>
#include <string.h>

static json_t *parse(const char *text)
{
	json_t *doc = jsonx_parse(text, strlen(text), "test", NULL);
	cr_assert(doc, "%s", text);
	return doc;
}

#define POD(labels, owners) "{\"metadata\":{\"name\":\"cart-7d8f-x2x\",\"labels\":{" labels "},\"ownerReferences\":[" owners "]}}"
#define OWNER(kind, name) "{\"kind\":\"" kind "\",\"name\":\"" name "\",\"controller\":true}"
#define HASH "\"pod-template-hash\":\"7d8f\""

Test(rest_cluster, a_pod_belongs_to_what_people_know)
{
	static const struct {
		const char *pod, *kind, *name;
	} rows[] = {
		{POD(HASH, OWNER("ReplicaSet", "cart-7d8f")), "Deployment", "cart"},
		{POD(HASH, OWNER("ReplicaSet", "cart-9999")), "ReplicaSet", "cart-9999"},
		{POD("", OWNER("ReplicaSet", "cart-7d8f")), "ReplicaSet", "cart-7d8f"},
		{POD(HASH, OWNER("ReplicaSet", "-7d8f")), "ReplicaSet", "-7d8f"},
		{POD(HASH, OWNER("ReplicaSet", "7d8f")), "ReplicaSet", "7d8f"},
		{POD("\"pod-template-hash\":\"\"", OWNER("ReplicaSet", "cart-")), "ReplicaSet", "cart-"},
		{POD(HASH, OWNER("StatefulSet", "db-7d8f")), "StatefulSet", "db-7d8f"},
		{POD("", OWNER("Job", "nightly-28")), "Job", "nightly-28"},
		{POD("", "{\"kind\":\"Other\",\"name\":\"no-controller\"}"), "Pod", "cart-7d8f-x2x"},
		{POD("", "7," OWNER("DaemonSet", "agent")), "DaemonSet", "agent"},
		{"{}", "Pod", ""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_JSON json_t *pod = parse(rows[i].pod);
		struct workload w;
		workload_of_pod(pod, &w);
		cr_expect_str_eq(w.kind, rows[i].kind, "%s", rows[i].pod);
		cr_expect_str_eq(w.name, rows[i].name, "%s", rows[i].pod);
	}
}

Test(rest_cluster, a_review_asks_for_the_caller)
{
	AUTO_JSON json_t *user = parse("{\"username\":\"anna\",\"uid\":\"u\",\"groups\":[\"a\",\"b\"],\"extra\":{\"k\":[\"v\"]},\"other\":1}");
	struct rest_wish one = {"get", "drdotnet.dev", "profilingsessions", "shop"}, all = {"list", "", "pods", NULL};
	AUTO_JSON json_t *got = rest_access_review_body(user, &one), *every = rest_access_review_body(user, &all);
	AUTO_JSON json_t *want = parse("{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"spec\":{\"user\":\"anna\",\"uid\":\"u\","
				       "\"groups\":[\"a\",\"b\"],\"extra\":{\"k\":[\"v\"]},\"resourceAttributes\":{\"verb\":\"get\","
				       "\"group\":\"drdotnet.dev\",\"resource\":\"profilingsessions\",\"namespace\":\"shop\"}}}");
	cr_expect(json_equal(got, want));
	cr_expect_null(jsonx_at(every, "spec.resourceAttributes.namespace"), "in all namespaces");
	cr_expect_str_eq(jsonx_str_at(every, "spec.resourceAttributes.resource", ""), "pods");
}
