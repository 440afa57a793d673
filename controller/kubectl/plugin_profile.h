/* `kubectl drdotnet profile`: a session from a command line, followed to its diagnosis. One thread (the watch has its own). */
#ifndef DRDOTNET_PLUGIN_PROFILE_H
#define DRDOTNET_PLUGIN_PROFILE_H

#include "controller/kubectl/plugin_options.h"

/* Returns the exit status. */
int plugin_profile(const struct plugin_args *a);

#endif
