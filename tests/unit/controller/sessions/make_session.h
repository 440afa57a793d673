/* Sessions for tests, from the JSON that an API server would give. */
#ifndef DRDOTNET_TESTS_MAKE_SESSION_H
#define DRDOTNET_TESTS_MAKE_SESSION_H

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "controller/sessions/session_object.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define UID "7b6d8d3c-6b7e-4f0a-9a0e-1d2c3b4a5f60"
#define CREATED_MS INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */
#define SPEC "{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"a\"},\"activeDeadlineSeconds\":100}"
#define SPEC_CANCELED "{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"a\"},\"activeDeadlineSeconds\":100,\"cancel\":true}"
#define SPEC_NEXT "{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"a\"},\"activeDeadlineSeconds\":100,\"start\":\"NextContainerStart\"}"
#define COMPLETED_CONDITION "\"conditions\":[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"Completed\"}]"

/* `metadata` and `status` are the inner fields, "" for none; the metadata's begin with a comma. */
static inline struct profiling_session make_session(const char *metadata, const char *spec, const char *status)
{
	AUTO_FREE char *text = mem_printf("{\"metadata\":{\"namespace\":\"shop\",\"name\":\"cpu\",\"uid\":\"" UID "\",\"resourceVersion\":\"7\","
					  "\"generation\":3,\"creationTimestamp\":\"2026-01-01T00:00:00Z\"%s},\"spec\":%s,\"status\":{%s}}",
					  metadata, spec, status);
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(text, strlen(text), "test", &e);
	cr_assert_not_null(doc, "%s\n%s", e.message, text);
	struct profiling_session s;
	cr_assert_eq(session_object_from_json(doc, &s, &e), 0, "%s", e.message);
	return s;
}

#endif
