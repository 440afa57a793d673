/* `kubectl drdotnet doctor`: is this installation well, and may the caller use it? Looks only, with the caller's own rights; what may not be
 * looked at is said and not guessed. One thread. */
#ifndef DRDOTNET_DOCTOR_H
#define DRDOTNET_DOCTOR_H

#include "controller/kubectl/plugin_options.h"

/* Returns the exit status: PLUGIN_FAILED when something fails. */
int doctor(const struct plugin_args *a);

#endif
