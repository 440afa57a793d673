/* The spec of a session, and whole manifests. What is taken is within its bounds and is read again as it is written. The first byte
 * chooses the reader. */
#include "common/api/session_spec.h"

#include "common/api/session_manifest.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct session_spec *s)
{
	if (s->duration_seconds < !profiler_takes_one_look(s->profiler) || s->duration_seconds > 3600 || s->walks < 2 ||
	    s->walks > 10 || s->frequency_hertz < 1 || s->frequency_hertz > 999 ||
	    s->active_deadline_seconds < s->duration_seconds + 10 || s->target.max_pods < 1 || s->target.max_pods > 20 || !s->store)
		abort();
	struct err e = ERR_INIT;
	struct session_spec again;
	AUTO_JSON json_t *doc = session_spec_to_json(s);
	if (session_spec_from_json(doc, false, &again, &e) < 0)
		abort();
	AUTO_JSON json_t *twice = session_spec_to_json(&again);
	if (!json_equal(doc, twice))
		abort();
	session_spec_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	struct err e = ERR_INIT;
	struct session_spec s;
	const char *text = (const char *)data + 1;
	if (data[0] % 2) {
		AUTO_JSON json_t *doc = jsonx_parse(text, size - 1, "fuzz", &e);
		if (!doc || session_spec_from_json(doc, data[0] & 2, &s, &e) < 0)
			return 0;
	} else {
		char *name = NULL;
		if (session_manifest_parse(text, size - 1, "fuzz", &name, &s, &e) < 0)
			return 0;
		if (!name)
			abort();
		free(name);
	}
	check(&s);
	session_spec_fini(&s);
	return 0;
}
