/* Keys and certificates of the link: a small CA (ECDSA P-256) and server certificates of it, as PEM text. No I/O; any thread. */
#ifndef DRDOTNET_LINK_PKI_H
#define DRDOTNET_LINK_PKI_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_PKI_BUNDLE_MAX 8 /* CAs in a bundle */

struct link_pair { /* owned PEM texts */
	char *cert, *key;
};
void link_pair_fini(struct link_pair *p); /* the key is wiped */
void link_pair_copy(struct link_pair *out, const struct link_pair *from);

/* A self-signed CA, valid from one hour before now. */
int link_pki_make_ca(int64_t now_wall_ms, int days, struct link_pair *out, struct err *e);

/* A server certificate for these DNS names. */
int link_pki_issue(const struct link_pair *ca, const char *const *names, size_t name_count, int64_t now_wall_ms, int days,
		   struct link_pair *out, struct err *e);

struct link_cert_info {
	int64_t not_before_wall_ms, not_after_wall_ms;
	bool covers_names; /* all of those asked for */
	bool issued_by_ca;
};

/* -1 (ERR_INVALID) when the text is no certificate. `ca_pem` and `names` may be NULL. */
int link_pki_inspect(const char *cert_pem, const char *ca_pem, const char *const *names, size_t name_count, struct link_cert_info *out,
		     struct err *e);

/* `current` first, `next` (may be NULL) and then the other CAs of `old` (may be NULL) that have not expired, without duplicates, at most
 * LINK_PKI_BUNDLE_MAX. New text; free it. What is no certificate is dropped. */
char *link_pki_bundle(const char *current, const char *next, const char *old, int64_t now_wall_ms);

#endif
