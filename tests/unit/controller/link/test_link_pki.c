#include "controller/link/link_certs.h"

#include "common/base/mem.h"
#include "controller/link/link_certs_plan.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define DAY (24 * 3600 * 1000LL)
#define NOW (1800000000LL * 1000)

static const char *const names[] = {"drdotnet-controller.drdotnet-system.svc", "localhost"};

static struct link_pair make_ca(int64_t now, int days)
{
	struct link_pair p = {0};
	struct err e = ERR_INIT;
	cr_assert_eq(link_pki_make_ca(now, days, &p, &e), 0, "%s", e.message);
	return p;
}

static size_t count_certificates(const char *pem)
{
	size_t n = 0;
	while ((pem = strstr(pem, "BEGIN CERTIFICATE"))) {
		pem++;
		n++;
	}
	return n;
}

Test(link_pki, a_server_certificate_of_the_ca_for_the_names)
{
	struct link_pair ca = make_ca(NOW, 3650), other = make_ca(NOW + 1000, 3650), server = {0};
	struct link_cert_info info;
	struct err e = ERR_INIT;
	cr_assert_eq(link_pki_issue(&ca, names, 2, NOW, 365, &server, &e), 0, "%s", e.message);
	cr_assert_eq(link_pki_inspect(server.cert, ca.cert, names, 2, &info, &e), 0, "%s", e.message);
	cr_expect(info.issued_by_ca);
	cr_expect(info.covers_names);
	cr_expect_eq(info.not_before_wall_ms, NOW - 3600 * 1000);
	cr_expect_eq(info.not_after_wall_ms, NOW + 365 * DAY);
	static const char *const more[] = {"localhost", "elsewhere"};
	cr_assert_eq(link_pki_inspect(server.cert, other.cert, more, 2, &info, &e), 0);
	cr_expect_not(info.issued_by_ca);
	cr_expect_not(info.covers_names);
	cr_expect_eq(link_pki_inspect("nonsense", NULL, NULL, 0, &info, &e), -1);
	cr_expect_eq(e.kind, ERR_INVALID);
	cr_expect_neq(link_pki_issue(&(struct link_pair){.cert = ca.cert, .key = other.cert}, names, 2, NOW, 1, &(struct link_pair){0}, NULL), 0,
		      "that is no key");
	link_pair_fini(&ca);
	link_pair_fini(&other);
	link_pair_fini(&server);
	link_pair_fini(&server);
	cr_expect_null(server.key);
}

Test(link_pki, a_bundle_has_each_ca_once_and_no_expired_one)
{
	struct link_pair a = make_ca(NOW, 100), b = make_ca(NOW + 1000, 100), old = make_ca(NOW - 50 * DAY, 40);
	char *first = link_pki_bundle(a.cert, NULL, NULL, NOW);
	cr_expect_eq(count_certificates(first), 1);
	char *text = mem_printf("garbage\n%s%s%s", old.cert, a.cert, b.cert);
	char *bundle = link_pki_bundle(b.cert, a.cert, text, NOW);
	cr_expect_eq(count_certificates(bundle), 2);
	cr_expect_eq(strncmp(bundle, b.cert, strlen(b.cert)), 0, "the current one is first");
	char *none = link_pki_bundle("garbage", NULL, NULL, NOW);
	cr_expect_str_eq(none, "");
	char *later = link_pki_bundle(a.cert, NULL, bundle, NOW + 101 * DAY);
	cr_expect_str_eq(later, "", "all have expired");
	free(first);
	free(text);
	free(bundle);
	free(none);
	free(later);
	link_pair_fini(&a);
	link_pair_fini(&b);
	link_pair_fini(&old);
}

Test(link_pki, a_bundle_has_a_bound)
{
	struct link_pair ca = make_ca(NOW, 100);
	char *all = mem_strdup(ca.cert);
	for (int i = 1; i <= LINK_PKI_BUNDLE_MAX; i++) {
		struct link_pair one = make_ca(NOW + i * 1000, 100);
		char *longer = mem_printf("%s%s", all, one.cert);
		free(all);
		all = longer;
		link_pair_fini(&one);
	}
	char *bundle = link_pki_bundle(ca.cert, NULL, all, NOW);
	cr_expect_eq(count_certificates(all), LINK_PKI_BUNDLE_MAX + 1);
	cr_expect_eq(count_certificates(bundle), LINK_PKI_BUNDLE_MAX);
	free(bundle);
	free(all);
	link_pair_fini(&ca);
}

static enum link_certs_step step(struct link_secret *s, int64_t now)
{
	return link_certs_plan(s, names, 2, s->next_ca.cert, LINK_CERTS_STAGE_MS, now);
}

static void apply(struct link_secret *s, int64_t now)
{
	struct err e = ERR_INIT;
	cr_assert_eq(link_certs_apply(step(s, now), s, names, 2, now, &e), 0, "%s", e.message);
}

Test(link_certs_plan, nothing_then_good_then_renewed)
{
	struct link_secret s = {0};
	cr_expect_eq(step(&s, NOW), LINK_CERTS_MAKE_ALL);
	apply(&s, NOW);
	cr_expect_eq(step(&s, NOW), LINK_CERTS_KEEP);
	cr_expect_eq(step(&s, NOW + (365 - LINK_CERTS_RENEW_DAYS) * DAY - 1000), LINK_CERTS_KEEP);
	int64_t due = NOW + (365 - LINK_CERTS_RENEW_DAYS) * DAY;
	cr_expect_eq(step(&s, due), LINK_CERTS_RENEW);
	char *ca = mem_strdup(s.ca.cert);
	apply(&s, due);
	cr_expect_eq(step(&s, due), LINK_CERTS_KEEP);
	cr_expect_str_eq(s.ca.cert, ca, "of the same CA");
	static const char *const renamed[] = {"another.name"};
	cr_expect_eq(link_certs_plan(&s, renamed, 1, NULL, LINK_CERTS_STAGE_MS, due), LINK_CERTS_RENEW);
	free(ca);
	link_secret_fini(&s);
}

Test(link_certs_plan, a_ca_is_known_before_it_is_used)
{
	struct link_secret s = {0};
	apply(&s, NOW);
	int64_t due = NOW + (LINK_CERTS_CA_DAYS - LINK_CERTS_RENEW_DAYS) * DAY;
	apply(&s, due); /* the server's certificate is long expired by then */
	cr_expect_eq(step(&s, due), LINK_CERTS_STAGE_CA);
	apply(&s, due);
	char *next = mem_strdup(s.next_ca.cert);
	cr_expect_eq(step(&s, due), LINK_CERTS_KEEP, "agents learn of it");
	cr_expect_eq(step(&s, due + LINK_CERTS_STAGE_MS - 1000), LINK_CERTS_KEEP);
	cr_expect_eq(step(&s, due + LINK_CERTS_STAGE_MS), LINK_CERTS_PROMOTE_CA);
	static const char *const unknown[] = {NULL, "", "of another CA"};
	for (int i = 0; i < 3; i++)
		cr_expect_eq(link_certs_plan(&s, names, 2, unknown[i], LINK_CERTS_STAGE_MS, due + DAY), LINK_CERTS_KEEP, "it was never published");
	cr_expect_eq(link_certs_plan(&s, names, 2, next, 1000, due + 999), LINK_CERTS_KEEP);
	cr_expect_eq(link_certs_plan(&s, names, 2, next, 1000, due + 1000), LINK_CERTS_PROMOTE_CA);
	apply(&s, due + LINK_CERTS_STAGE_MS);
	cr_expect_str_eq(s.ca.cert, next);
	cr_expect_null(s.next_ca.cert);
	cr_expect_eq(step(&s, due + LINK_CERTS_STAGE_MS), LINK_CERTS_KEEP);
	free(next);
	link_secret_fini(&s);
}

Test(link_certs_plan, what_is_broken_is_made_anew)
{
	struct link_secret s = {0};
	apply(&s, NOW);
	cr_expect_eq(step(&s, NOW + (LINK_CERTS_CA_DAYS + 1) * DAY), LINK_CERTS_MAKE_ALL, "the CA has expired");
	char *key = s.server.key;
	s.server.key = NULL;
	cr_expect_eq(step(&s, NOW), LINK_CERTS_RENEW);
	s.server.key = key;
	free(s.ca.cert);
	s.ca.cert = mem_strdup("garbage");
	cr_expect_eq(step(&s, NOW), LINK_CERTS_MAKE_ALL);
	apply(&s, NOW);
	cr_expect_eq(step(&s, NOW), LINK_CERTS_KEEP);
	link_secret_fini(&s);
}
