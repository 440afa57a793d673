#include "controller/link_certs.h"

#include <stddef.h>

#define DAY_MS (24 * 3600 * 1000LL)

void link_secret_fini(struct link_secret *s)
{
	if (!s)
		return;
	link_pair_fini(&s->ca);
	link_pair_fini(&s->next_ca);
	link_pair_fini(&s->server);
}

enum link_certs_step link_certs_plan(const struct link_secret *s, const char *const *names, size_t name_count, int64_t now_wall_ms)
{
	struct link_cert_info ca, next, server;
	int64_t soon = now_wall_ms + LINK_CERTS_RENEW_DAYS * DAY_MS;
	if (!s->ca.cert || !s->ca.key || link_pki_inspect(s->ca.cert, NULL, NULL, 0, &ca, NULL) < 0 || ca.not_after_wall_ms <= now_wall_ms)
		return LINK_CERTS_MAKE_ALL;
	bool has_next = s->next_ca.cert && s->next_ca.key && link_pki_inspect(s->next_ca.cert, NULL, NULL, 0, &next, NULL) == 0;
	/* A certificate's own beginning lies an hour before its making (clocks differ). */
	if (has_next && now_wall_ms - (next.not_before_wall_ms + 3600 * 1000) >= LINK_CERTS_STAGE_MS)
		return LINK_CERTS_PROMOTE_CA;
	if (!s->server.cert || !s->server.key || link_pki_inspect(s->server.cert, s->ca.cert, names, name_count, &server, NULL) < 0 ||
	    !server.covers_names || !server.issued_by_ca || server.not_after_wall_ms <= soon)
		return server_outlives_ca(&ca, now_wall_ms);
	if (!has_next && ca.not_after_wall_ms <= soon)
		return LINK_CERTS_STAGE_CA;
	return LINK_CERTS_KEEP;
}
