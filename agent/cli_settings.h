/* The options of `drdotnet run` that stand for fields of a spec: settings of a profiler. Pure. */
#ifndef DRDOTNET_CLI_SETTINGS_H
#define DRDOTNET_CLI_SETTINGS_H

#include "agent/cli_options.h"

/* Into the spec, over what its manifest says. ERR_INVALID with REASON_InvalidSpec, by the option's name, for what its profiler does not take. */
int cli_settings_apply(const struct cli_args *a, struct session_spec *spec, struct err *e);

#endif
