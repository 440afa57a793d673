/* `drdotnet serve`: the web page and the REST API for the processes of this machine. Ends with INT, TERM or HUP; the sessions that run are
 * ended as a cancel does, and their reports kept. */
#ifndef DRDOTNET_SERVE_H
#define DRDOTNET_SERVE_H

#include "agent/cli/cli_options.h"

/* Returns the exit status. */
int serve_run(const struct cli_args *a);

/* Where sessions are kept unless it is said: $XDG_STATE_HOME/drdotnet/reports, ~/.local/state/drdotnet/reports. NULL: neither variable is an
 * absolute path. */
char *serve_default_dir(const char *xdg_state_home, const char *home);

/* May a request name this host? Addresses, "localhost" and this machine's own name: no name that somebody else could let point here (DNS
 * rebinding). Pure. */
bool serve_host_allowed(const char *host, const char *own_name);

#endif
