/* YAML as JSON. */
#ifndef DRDOTNET_YAML_JSON_H
#define DRDOTNET_YAML_JSON_H

#include "common/base/jsonx.h"

/* One YAML document (over libyaml, the core schema of YAML 1.2 as Kubernetes reads it: 1.1's yes/no are strings) as JSON:
 * aliases are refused, depth <= 64, scalars untagged become null/bool/number/string. More than one document: ERR_INVALID.
 * Messages carry line and column. */
json_t *jsonx_parse_yaml(const char *text, size_t len, const char *what, struct err *e);

#endif
