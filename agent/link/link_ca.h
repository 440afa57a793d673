/* The authority that the controller's certificate is verified by, as a file. The kubelet keeps it as the pod's ConfigMap is, but it looks at a pod's
 * ConfigMaps once in a minute or more: the file of an agent that began before the controller had published its authority comes that late. Until it is
 * there, a thread asks the API server for the ConfigMap and keeps what it has read in a file of the agent's own, which goes when the kubelet's comes. */
#ifndef DRDOTNET_LINK_CA_H
#define DRDOTNET_LINK_CA_H

#include "common/base/err.h"

#include <stdint.h>

#define LINK_CA_FIRST_MS 1000 /* between two questions at first, ... */
#define LINK_CA_MOST_MS 6000  /* ... and later, less a random half: the first controller of an installation may take minutes to come */
#define LINK_CA_KEPT_MS 30000 /* while what was read is in use */

struct link_ca_config {
	const char *file;       /* the kubelet's */
	const char *config_map; /* which has it as ca.crt; NULL: nobody is asked */
	const char *server;     /* the API server's URL, without a slash at its end; NULL: nobody is asked */
	const char *access;     /* the folder with token, ca.crt (the API server's) and namespace */
	const char *copy;       /* the agent's own file */
};

struct link_ca;

/* Strings are copied. A copy of an earlier run is removed. */
struct link_ca *link_ca_new(const struct link_ca_config *c, struct err *e);
void link_ca_free(struct link_ca *c); /* the copy goes, too */

/* Any thread: the file that counts now, the kubelet's where it is there. Borrowed for as long as `c` lives; it may not exist. NULL gives NULL. */
const char *link_ca_file(const struct link_ca *c);

/* Pure: the wait after question number `asked` (1..), spread over [half, whole] by `random`. */
int64_t link_ca_wait_ms(int asked, uint32_t random);

#endif
