/* YAML from people: session manifests and the stores' settings. What is accepted is JSON that can be dumped; what is refused says why. */
#include "common/api/session_manifest.h"
#include "common/api/session_spec.h"
#include "common/base/jsonx.h"
#include "common/base/yaml_json.h"
#include "controller/store/store_config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse_yaml(text, size, "input", &e);
	if (!doc && e.kind == ERR_NONE)
		abort();
	if (doc)
		free(jsonx_dump(doc, 1 << 20, NULL));
	char *name = NULL;
	struct session_spec spec;
	struct err refused = ERR_INIT;
	if (session_manifest_parse(text, size, "input", &name, &spec, &refused) == 0) {
		session_spec_fini(&spec);
		free(name);
	} else if (refused.kind == ERR_NONE) {
		abort();
	}
	struct store_config *items;
	size_t count;
	if (store_config_parse(text, size, &items, &count, NULL) == 0)
		store_config_free(items, count);
	return 0;
}
