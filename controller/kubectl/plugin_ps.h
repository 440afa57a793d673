/* `kubectl drdotnet ps`: .NET processes of pods and whether they can be profiled, by the controller's REST API. One thread. */
#ifndef DRDOTNET_PLUGIN_PS_H
#define DRDOTNET_PLUGIN_PS_H

#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "controller/kubectl/plugin_options.h"

/* Returns the exit status. */
int plugin_ps(const struct plugin_args *a);

/* The table of an answer of /api/processes. Pure. */
void plugin_ps_print(const json_t *answer, bool namespaces, struct buf *out);

#endif
