#include "agent/link/link_policy.h"

#include <criterion/criterion.h>

Test(link_policy, only_the_newest_leader_is_obeyed)
{
	static const struct {
		int64_t seen, epoch;
		enum link_fence want;
	} rows[] = {
		{0, 0, LINK_FENCE_STALE}, {0, -1, LINK_FENCE_STALE}, {0, 1, LINK_FENCE_RAISE}, {5, 4, LINK_FENCE_STALE},
		{5, 5, LINK_FENCE_OBEY},  {5, 6, LINK_FENCE_RAISE},  {INT64_MAX, INT64_MAX, LINK_FENCE_OBEY},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(link_fence_check(rows[i].seen, rows[i].epoch), rows[i].want, "row %zu", i);
}

Test(link_policy, waits_double_up_to_a_bound_and_are_spread_over_a_half)
{
	static const int64_t whole[] = {500, 1000, 2000, 4000, 8000, 8000, 8000};
	for (int i = 0; i < 7; i++) {
		cr_expect_eq(link_backoff_ms(i + 1, 0), whole[i] / 2);
		int64_t least = INT64_MAX, most = 0;
		for (uint32_t r = 0; r < 20000; r++) {
			int64_t wait = link_backoff_ms(i + 1, r);
			least = wait < least ? wait : least;
			most = wait > most ? wait : most;
		}
		cr_expect_eq(least, whole[i] / 2);
		cr_expect_eq(most, whole[i]);
	}
	cr_expect_eq(link_backoff_ms(1000000, UINT32_MAX) <= LINK_BACKOFF_MOST_MS, 1);
	cr_expect_eq(link_backoff_ms(0, 0), LINK_BACKOFF_FIRST_MS / 2);
}

Test(link_policy, a_failure_names_what_to_look_at)
{
	static const struct {
		struct link_failure f;
		const char *said;
	} rows[] = {
		{{"Unable to connect", "", "", "10.0.0.1", "c.svc", 8443}, "no connection to 10.0.0.1 port 8443: refused, or no way there"},
		{{"Timed out waiting SSL", "", "", "10.0.0.1", "c.svc", 8443}, "no answer from 10.0.0.1 port 8443 (Timed out waiting SSL)"},
		{{"connect SSL err 1", "hostname mismatch", "", "10.0.0.1", "c.svc", 8443},
		 "the certificate of 10.0.0.1 is not accepted: hostname mismatch (expected for c.svc, signed by the CA file's authority)"},
		{{"closed", "", "TokenRefused", "10.0.0.1", "c.svc", 8443}, "the controller at 10.0.0.1 refuses this agent's token"},
		{{"closed", "", "Superseded", "10.0.0.1", "c.svc", 8443}, "the controller at 10.0.0.1 closed the link: Superseded"},
		{{"something new", "", "", "::1", "c.svc", 8443}, "::1 port 8443: something new"},
		{{NULL, "", "", "::1", "c.svc", 8443}, "::1 port 8443: "},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char said[320];
		link_failure_text(&rows[i].f, said, sizeof said);
		cr_expect_str_eq(said, rows[i].said, "row %zu: %s", i, said);
	}
}
