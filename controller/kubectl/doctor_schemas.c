#include "controller/kubectl/doctor_schemas.h"

#include "common/base/embed.h"
#include "common/base/yaml_json.h"
#include "controller/sessions/session_object.h"

#include <string.h>

#define EMBED(symbol, path) EMBED_FILE(".rodata.doctor_schemas", symbol, "crds/" path)

EMBED(doctor_schema_sessions, "drdotnet.dev_profilingsessions.yaml");
EMBED(doctor_schema_triggers, "drdotnet.dev_profilingtriggers.yaml");
EMBED(doctor_schema_sessions_legacy, "legacy/drdotnet.dev_profilingsessions.yaml");
EMBED(doctor_schema_triggers_legacy, "legacy/drdotnet.dev_profilingtriggers.yaml");

const struct doctor_schema doctor_schemas[DOCTOR_SCHEMAS] = {
	{"profilingsessions.drdotnet.dev", doctor_schema_sessions, doctor_schema_sessions_end, doctor_schema_sessions_legacy,
	 doctor_schema_sessions_legacy_end},
	{"profilingtriggers.drdotnet.dev", doctor_schema_triggers, doctor_schema_triggers_end, doctor_schema_triggers_legacy,
	 doctor_schema_triggers_legacy_end},
};

static const json_t *schema_of(const json_t *definition)
{
	size_t i;
	json_t *version;
	json_array_foreach(jsonx_at(definition, "spec.versions"), i, version) {
		if (strcmp(jsonx_str_at(version, "name", ""), API_VERSION) == 0)
			return jsonx_at(version, "schema.openAPIV3Schema");
	}
	return NULL;
}

static bool same_schema(const char *text, const char *end, const json_t *theirs)
{
	AUTO_JSON json_t *own = jsonx_parse_yaml(text, (size_t)(end - text), "crds", NULL);
	const json_t *ours = schema_of(own);
	return ours && theirs && session_json_hash(ours) == session_json_hash(theirs);
}

bool doctor_schemas_match(const struct doctor_schema *s, const json_t *definition)
{
	const json_t *theirs = schema_of(definition);
	return same_schema(s->text, s->end, theirs) || same_schema(s->legacy, s->legacy_end, theirs);
}
