#include "controller/sessions/session_findings.h"

#include "common/base/cleanup.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"

#include <string.h>

struct pod_finding {
	const struct session_pod *pod;
	size_t at; /* in the pod's list */
};

static const struct finding *finding_of(const struct pod_finding *x)
{
	return &x->pod->job.findings[x->at];
}

/* What was found before what is possible, then by score, then as the pods and their lists are. */
static bool pod_finding_comes_before(const struct pod_finding *a, const struct pod_finding *b)
{
	const struct finding *x = finding_of(a), *y = finding_of(b);
	return x->state != y->state ? x->state < y->state : x->score > y->score;
}

/* Keeps the `most` that come first, in their order. */
static size_t insert_pod_finding(struct pod_finding *list, size_t count, size_t most, struct pod_finding x)
{
	size_t i = count < most ? count++ : most;
	if (i == most && !pod_finding_comes_before(&x, &list[--i]))
		return count;
	for (; i > 0 && pod_finding_comes_before(&x, &list[i - 1]); i--)
		list[i] = list[i - 1];
	list[i] = x;
	return count;
}

json_t *session_findings_json(const struct profiling_session *s)
{
	struct pod_finding list[SESSION_FINDINGS_MAX];
	size_t count = 0;
	for (size_t i = 0; i < s->pod_count; i++)
		for (size_t k = 0; k < s->pods[i].job.finding_count; k++)
			count = insert_pod_finding(list, count, SESSION_FINDINGS_MAX, (struct pod_finding){&s->pods[i], k});
	json_t *array = count ? json_array() : NULL;
	for (size_t i = 0; i < count; i++) {
		AUTO_JSON json_t *one = findings_to_json(finding_of(&list[i]), 1);
		json_t *entry = json_array_get(one, 0);
		if (s->pod_count > 1)
			json_object_set_new(entry, "podName", json_string(list[i].pod->pod_name));
		json_array_append(array, entry);
	}
	return array;
}

static struct session_pod *pod_of_finding(const json_t *entry, struct profiling_session *s)
{
	const char *name = jsonx_str_at(entry, "podName", NULL);
	if (s->pod_count == 1)
		return &s->pods[0];
	for (size_t i = 0; name && i < s->pod_count; i++)
		if (strcmp(s->pods[i].pod_name, name) == 0)
			return &s->pods[i];
	return NULL;
}

void session_findings_read(const json_t *list, struct profiling_session *s)
{
	for (size_t i = 0; i < json_array_size(list) && i < SESSION_FINDINGS_MAX; i++) {
		const json_t *entry = json_array_get(list, i);
		struct session_pod *pod = pod_of_finding(entry, s);
		struct finding read[FINDINGS_REPORTED];
		AUTO_JSON json_t *one = json_pack("[O]", entry);
		if (!pod || pod->job.finding_count == FINDINGS_REPORTED || findings_from_json(one, read) == 0)
			continue;
		struct link_job *j = &pod->job;
		j->findings = mem_realloc(j->findings, j->finding_count + 1, sizeof *j->findings);
		j->findings[j->finding_count++] = read[0];
	}
}
