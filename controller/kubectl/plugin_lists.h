/* `kubectl drdotnet ls`, `triggers`, `cancel` and `delete`. One thread. */
#ifndef DRDOTNET_PLUGIN_LISTS_H
#define DRDOTNET_PLUGIN_LISTS_H

#include "controller/kubectl/plugin_options.h"

/* Each returns the exit status. */
int plugin_lists_sessions(const struct plugin_args *a);
int plugin_lists_triggers(const struct plugin_args *a);
int plugin_lists_cancel(const struct plugin_args *a);
int plugin_lists_delete(const struct plugin_args *a);

#endif
