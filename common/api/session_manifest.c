/* A session's manifest as a person writes it, for the local command. */
#include "common/api/session_manifest.h"

#include "common/api/reason.h"
#include "common/api/session_spec.h"
#include "common/base/mem.h"
#include "common/base/yaml_json.h"

#include <string.h>

static int check_type(const json_t *doc, const char *what, struct err *e)
{
	const char *version = jsonx_str_at(doc, "apiVersion", ""), *kind = jsonx_str_at(doc, "kind", "");
	if (strcmp(version, API_GROUP_VERSION) != 0)
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s: apiVersion: expected \"%s\", found \"%.60s\"", what,
				      API_GROUP_VERSION, version);
	if (strcmp(kind, SESSION_KIND) != 0)
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s: kind: expected \"%s\", found \"%.60s\"", what, SESSION_KIND,
				      kind);
	return 0;
}

int session_manifest_parse(const char *text, size_t len, const char *what, char **name, struct session_spec *out, struct err *e)
{
	AUTO_JSON json_t *doc = jsonx_parse_yaml(text, len, what, e);
	if (!doc)
		return -1;
	if (!json_is_object(doc))
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s: expected a %s manifest", what, SESSION_KIND);
	if (check_type(doc, what, e) < 0)
		return -1;
	if (session_spec_from_json(json_object_get(doc, "spec"), false, out, e) < 0)
		return err_prefix(e, "%s", what);
	*name = mem_strdup(jsonx_str_at(doc, "metadata.name", ""));
	return 0;
}
