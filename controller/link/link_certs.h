/* TLS of the link, from one of two sources, looked at again now and then in a thread of its own:
 *   files: an operator's (cert-manager's) certificate and key; a change of the files is a rotation;
 *   self-made: a CA and a server certificate of ours, kept in a Secret and the CA's certificate published in a ConfigMap that the
 *     agents mount. Both objects exist empty from the installation; only `get` and `update` by name are needed.
 *
 * The Secret is the truth for all replicas: whoever finds it wanting mends it, and who loses the race (409) reads it again.
 * A new CA is published for a while (stage_ms) before a certificate of it is served, and never served when the publishing did not
 * succeed; the old one stays in the bundle until it expires, so agents always know the CA that they meet. */
#ifndef DRDOTNET_LINK_CERTS_H
#define DRDOTNET_LINK_CERTS_H

#include "controller/kube/kube_client.h"
#include "controller/link/link_secret.h"

#define LINK_CERTS_CA_DAYS 3650
#define LINK_CERTS_SERVER_DAYS 365
#define LINK_CERTS_RENEW_DAYS 120       /* left of a server certificate or CA when it is replaced */
#define LINK_CERTS_STAGE_MS 3600000LL   /* default: kubelet brings a ConfigMap's change to the agents within minutes */

struct link_certs_config {
	const char *cert_file, *key_file;   /* files, or NULL: self-made */
	const struct kube_config *kube;
	const char *namespace, *secret, *config_map;
	const char *const *names;           /* of the Service: what agents verify */
	size_t name_count;
	int64_t stage_ms;                   /* 0: LINK_CERTS_STAGE_MS */
	int64_t poll_ms;                    /* 0: 2 s for files; 300 s self-made, or less for a short stage_ms */
};

struct link_certs;

/* Gets the first pair (this may block on the API server, some seconds). The configuration is borrowed. */
struct link_certs *link_certs_new(const struct link_certs_config *c, struct err *e);

/* Starts looking for changes and tells of each in its own thread. Apart from new, because whoever is told of them (the server) is
 * made with the first pair. */
typedef void link_certs_fn(void *ctx, const char *cert_pem, const char *key_pem);
int link_certs_watch(struct link_certs *c, link_certs_fn *on_change, void *ctx, struct err *e);

void link_certs_free(struct link_certs *c); /* takes NULL */

/* The pair to serve; borrowed, until link_certs_watch. */
const struct link_pair *link_certs_pair(const struct link_certs *c);

#endif
