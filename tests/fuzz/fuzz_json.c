/* JSON from outside: what is accepted can be dumped and read again to the same; a session's spec that is accepted is within its bounds and
 * survives its own encoding. */
#include "common/api/session_spec.h"
#include "common/base/jsonx.h"

#include <stdlib.h>
#include <string.h>

static void check_spec(const json_t *doc)
{
	struct session_spec spec, again;
	if (session_spec_from_json(doc, false, &spec, NULL) < 0)
		return;
	AUTO_JSON json_t *written = session_spec_to_json(&spec);
	if (spec.duration_seconds < 1 || spec.duration_seconds > 3600 || session_spec_from_json(written, false, &again, NULL) < 0)
		abort();
	AUTO_JSON json_t *rewritten = session_spec_to_json(&again);
	if (!json_equal(written, rewritten))
		abort();
	session_spec_fini(&spec);
	session_spec_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse((const char *)data, size, "input", &e);
	if (!doc)
		return e.kind == ERR_NONE ? (abort(), 0) : 0;
	char *text = jsonx_dump(doc, 1 << 20, NULL);
	if (text) {
		AUTO_JSON json_t *again = jsonx_parse(text, strlen(text), "dump", NULL);
		if (!again || !json_equal(doc, again))
			abort();
	}
	free(text);
	jsonx_str_at(doc, "metadata.name", "");
	jsonx_int_at(doc, "spec.durationSeconds", 0);
	check_spec(doc);
	check_spec(jsonx_at(doc, "spec"));
	return 0;
}
