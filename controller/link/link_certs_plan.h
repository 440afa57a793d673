/* What is to be done about the link's certificates. Pure. */
#ifndef DRDOTNET_LINK_CERTS_PLAN_H
#define DRDOTNET_LINK_CERTS_PLAN_H

#include "controller/link/link_secret.h"

enum link_certs_step {
	LINK_CERTS_KEEP,
	LINK_CERTS_MAKE_ALL,    /* nothing usable */
	LINK_CERTS_RENEW,       /* a new server certificate of the same CA */
	LINK_CERTS_STAGE_CA,    /* make the next CA and publish it */
	LINK_CERTS_PROMOTE_CA,  /* agents know the next CA: serve a certificate of it */
};
/* Carries a step out on the parts: makes keys and certificates, does no I/O. */
int link_certs_apply(enum link_certs_step step, struct link_secret *s, const char *const *names, size_t name_count, int64_t now_wall_ms,
		     struct err *e);

/* `published` is the bundle that agents have, NULL: none. */
enum link_certs_step link_certs_plan(const struct link_secret *s, const char *const *names, size_t name_count, const char *published,
				     int64_t stage_ms, int64_t now_wall_ms);

#endif
