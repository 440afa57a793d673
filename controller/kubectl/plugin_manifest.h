/* The ProfilingSession that a command line asks for. Pure. */
#ifndef DRDOTNET_PLUGIN_MANIFEST_H
#define DRDOTNET_PLUGIN_MANIFEST_H

#include "controller/kubectl/plugin_options.h"
#include "controller/kubectl/plugin_target.h"

/* `selector` (borrowed) for targets that are not one pod. The name is --name, or made from the target and `suffix`. Only what was asked
 * for stands in the spec: the API server fills in the rest. A new reference, or NULL with ERR_INVALID when the values do not fit
 * each other (the same check as the controller's). */
json_t *plugin_manifest_make(const struct plugin_args *a, const struct plugin_target *target, const json_t *selector, const char *namespace,
			     const char *suffix, struct err *e);

/* As YAML that jsonx_parse_yaml() and kubectl read to the same. */
void plugin_manifest_yaml(const json_t *value, struct buf *out);

#endif
