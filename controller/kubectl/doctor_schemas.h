/* The CustomResourceDefinitions of this version (crds/), embedded when this is built. */
#ifndef DRDOTNET_DOCTOR_SCHEMAS_H
#define DRDOTNET_DOCTOR_SCHEMAS_H

#include "common/base/jsonx.h"

struct doctor_schema {
	const char *name; /* of the definition: "profilingsessions.drdotnet.dev" */
	const char *text, *end, *legacy, *legacy_end; /* YAML */
};

#define DOCTOR_SCHEMAS 2
extern const struct doctor_schema doctor_schemas[DOCTOR_SCHEMAS];

/* Whether a definition as the API server has it says the same as this version's, or as its copy for old servers. */
bool doctor_schemas_match(const struct doctor_schema *s, const json_t *definition);

#endif
