#include "controller/link/link_certs_plan.h"

#include "controller/link/link_certs.h"

#include <stddef.h>
#include <string.h>

#define DAY_MS (24 * 3600 * 1000LL)

static bool usable(const struct link_pair *p, struct link_cert_info *info)
{
	return p->cert && p->key && link_pki_inspect(p->cert, NULL, NULL, 0, info, NULL) == 0;
}

static bool server_is_good(const struct link_secret *s, const char *const *names, size_t name_count, int64_t until_wall_ms)
{
	struct link_cert_info info;
	return s->server.cert && s->server.key && link_pki_inspect(s->server.cert, s->ca.cert, names, name_count, &info, NULL) == 0 &&
	       info.covers_names && info.issued_by_ca && info.not_after_wall_ms > until_wall_ms;
}

/* Whether agents have had the time to learn of the next CA. A certificate's own beginning lies an hour before its making (clocks differ). */
static bool is_known(const struct link_secret *s, const struct link_cert_info *next, const char *published, int64_t stage_ms, int64_t now_wall_ms)
{
	return published && strstr(published, s->next_ca.cert) && now_wall_ms - (next->not_before_wall_ms + 3600 * 1000) >= stage_ms;
}

enum link_certs_step link_certs_plan(const struct link_secret *s, const char *const *names, size_t name_count, const char *published,
				     int64_t stage_ms, int64_t now_wall_ms)
{
	struct link_cert_info ca, next;
	int64_t soon = now_wall_ms + LINK_CERTS_RENEW_DAYS * DAY_MS;
	if (!usable(&s->ca, &ca) || ca.not_after_wall_ms <= now_wall_ms)
		return LINK_CERTS_MAKE_ALL;
	bool has_next = usable(&s->next_ca, &next);
	if (has_next && is_known(s, &next, published, stage_ms, now_wall_ms))
		return LINK_CERTS_PROMOTE_CA;
	if (!server_is_good(s, names, name_count, soon))
		return LINK_CERTS_RENEW;
	if (!has_next && ca.not_after_wall_ms <= soon)
		return LINK_CERTS_STAGE_CA;
	return LINK_CERTS_KEEP;
}

/* The server's pair of the CA that is current. */
static int issue(struct link_secret *s, const char *const *names, size_t name_count, int64_t now_wall_ms, struct err *e)
{
	link_pair_fini(&s->server);
	return link_pki_issue(&s->ca, names, name_count, now_wall_ms, LINK_CERTS_SERVER_DAYS, &s->server, e);
}

int link_certs_apply(enum link_certs_step step, struct link_secret *s, const char *const *names, size_t name_count, int64_t now_wall_ms,
		     struct err *e)
{
	switch (step) {
	case LINK_CERTS_KEEP:
		return 0;
	case LINK_CERTS_MAKE_ALL:
		link_secret_fini(s);
		if (link_pki_make_ca(now_wall_ms, LINK_CERTS_CA_DAYS, &s->ca, e) < 0)
			return -1;
		return issue(s, names, name_count, now_wall_ms, e);
	case LINK_CERTS_RENEW:
		return issue(s, names, name_count, now_wall_ms, e);
	case LINK_CERTS_STAGE_CA:
		return link_pki_make_ca(now_wall_ms, LINK_CERTS_CA_DAYS, &s->next_ca, e);
	case LINK_CERTS_PROMOTE_CA:
		link_pair_fini(&s->ca);
		s->ca = s->next_ca;
		s->next_ca = (struct link_pair){0};
		return issue(s, names, name_count, now_wall_ms, e);
	}
	return 0;
}
