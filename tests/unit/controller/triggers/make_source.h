/* Triggers for tests of their sources: of any namespace and name, with the least template. */
#ifndef TESTS_MAKE_SOURCE_H
#define TESTS_MAKE_SOURCE_H

#include "common/base/cleanup.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"
#include "controller/triggers/trigger_object.h"

#include <criterion/criterion.h>
#include <string.h>

#define TRIGGER_UID "0a1b2c3d-aaaa-bbbb-cccc-444455556666"

/* `source` is JSON with ' for ". */
static inline struct profiling_trigger *make_source(const char *namespace, const char *name, const char *source)
{
	AUTO_FREE char *text = mem_printf("{'apiVersion':'drdotnet.dev/v1alpha1','kind':'ProfilingTrigger','metadata':{'namespace':'%s','name':'%s',"
					  "'uid':'" TRIGGER_UID "','resourceVersion':'5','generation':1,'creationTimestamp':'2026-11-01T00:00:00Z'},"
					  "'spec':{'source':%s,'sessionTemplate':{'spec':{'profiler':'CPUHotpaths'}}}}",
					  namespace, name, source);
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(text, strlen(text), "trigger", &e);
	cr_assert_not_null(doc, "%s: %s", text, e.message);
	struct profiling_trigger *t = trigger_object_from_json(doc, &e);
	cr_assert_not_null(t, "%s", e.message);
	cr_assert(t->spec_valid, "%s", t->spec_error);
	return t;
}

#endif
