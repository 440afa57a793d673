#include "controller/kube/lease.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WALL INT64_C(1790000000000)

static struct lease_record held_by(const char *holder, const char *version, int64_t transitions, int64_t renew_wall_ms)
{
	struct lease_record r = {.exists = true, .duration_ms = LEASE_DURATION_MS, .transitions = transitions, .renew_wall_ms = renew_wall_ms,
				 .acquire_wall_ms = 5};
	snprintf(r.holder, sizeof r.holder, "%s", holder);
	snprintf(r.resource_version, sizeof r.resource_version, "%s", version);
	return r;
}

static struct lease_decision step(struct lease_state *s, const struct lease_record *seen, int64_t mono_ms, int64_t highest)
{
	struct lease_decision d;
	lease_step(s, seen, (struct lease_clock){mono_ms, WALL + mono_ms}, highest, &d);
	return d;
}

Test(lease, taken_when_nobody_has_it)
{
	const struct lease_record rows[] = {{.exists = false}, held_by("", "4", 6, WALL)};
	for (size_t i = 0; i < 2; i++) {
		struct lease_state s = {.identity = "me"};
		struct lease_decision d = step(&s, &rows[i], 1000, 0);
		cr_assert_eq(d.action, LEASE_WRITE);
		cr_expect_str_eq(d.write.holder, "me");
		cr_expect_str_eq(d.write.resource_version, rows[i].resource_version, "the precondition");
		cr_expect_eq(d.write.exists, rows[i].exists);
		cr_expect_eq(d.write.transitions, rows[i].transitions + 1);
		cr_expect_eq(d.write.duration_ms, LEASE_DURATION_MS);
		cr_expect_not(s.leading, "not before it is written");
		lease_written(&s, &d.write, 1000);
		cr_expect(s.leading);
		cr_expect_eq(s.epoch, rows[i].transitions + 1);
	}
}

Test(lease, renewed_with_the_same_epoch)
{
	struct lease_state s = {.identity = "me", .leading = true, .epoch = 7};
	struct lease_record seen = held_by("me", "9", 7, WALL);
	struct lease_decision d = step(&s, &seen, 2000, 7);
	cr_assert_eq(d.action, LEASE_WRITE);
	cr_expect_eq(d.write.transitions, 7);
	cr_expect_eq(d.write.acquire_wall_ms, 5, "it stays");
	cr_expect_eq(d.write.renew_wall_ms, WALL + 2000);
}

Test(lease, newer_than_what_any_agent_has_seen)
{
	static const struct {
		int64_t stands, highest, epoch;
		const char *why;
	} rows[] = {
		{6, 6, 7, "as it should be"},
		{6, 41, 42, "the Lease was deleted meanwhile"},
		{6, 6 + LEASE_EPOCH_STEP_MAX, 7 + LEASE_EPOCH_STEP_MAX, "the most that is believed"},
		{6, 7 + LEASE_EPOCH_STEP_MAX, 7, "a lying agent"},
		{INT32_MAX - 3, INT32_MAX - 1, INT32_MAX - 2, "near the end of the field"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct lease_state s = {.identity = "me"};
		struct lease_record seen = held_by("", "1", rows[i].stands, WALL);
		cr_expect_eq(step(&s, &seen, 0, rows[i].highest).write.transitions, rows[i].epoch, "%s", rows[i].why);
	}
	struct lease_state leading = {.identity = "me", .leading = true, .epoch = 7};
	struct lease_record mine = held_by("me", "1", 7, WALL);
	cr_expect_eq(step(&leading, &mine, 0, 9).write.transitions, 10, "while leading, too");
}

Test(lease, waits_for_another_until_it_has_not_changed_for_its_duration)
{
	struct lease_state s = {.identity = "me"};
	struct lease_record seen = held_by("other", "1", 3, WALL);
	struct lease_decision d = step(&s, &seen, 100, 0);
	cr_expect_eq(d.action, LEASE_WAIT);
	cr_expect_eq(d.wake_mono_ms, 100 + LEASE_RENEW_MS);
	cr_expect_eq(step(&s, &seen, 100 + LEASE_DURATION_MS - 1, 0).action, LEASE_WAIT);
	cr_expect_eq(step(&s, &seen, 100 + LEASE_DURATION_MS - 1, 0).wake_mono_ms, 100 + LEASE_DURATION_MS);
	struct lease_record renewed = held_by("other", "2", 3, WALL);
	cr_expect_eq(step(&s, &renewed, 100 + LEASE_DURATION_MS, 0).action, LEASE_WAIT, "it lives");
	cr_expect_eq(step(&s, &renewed, 100 + 2 * LEASE_DURATION_MS, 0).action, LEASE_WRITE);
}

Test(lease, one_that_ran_out_long_ago_is_taken_at_once)
{
	struct lease_state s = {.identity = "me"};
	struct lease_record seen = held_by("other", "1", 3, WALL - LEASE_DURATION_MS - LEASE_SKEW_MS);
	cr_expect_eq(step(&s, &seen, 0, 0).action, LEASE_WAIT, "as old as clocks may differ");
	cr_expect_eq(step(&s, &seen, 1, 0).action, LEASE_WRITE);
}

Test(lease, resigns_when_another_has_it)
{
	struct lease_state s = {.identity = "me", .leading = true, .epoch = 3};
	struct lease_record seen = held_by("other", "1", 4, WALL);
	cr_expect_eq(step(&s, &seen, 0, 0).action, LEASE_RESIGN);
	cr_expect_not(s.leading);
	cr_expect_eq(s.epoch, 0);
	cr_expect_eq(step(&s, &seen, 1, 0).action, LEASE_WAIT, "once");
}

Test(lease, gives_up_before_another_may_begin)
{
	cr_assert_lt(LEASE_RENEW_BOUND_MS, LEASE_DURATION_MS);
	struct lease_state s = {.identity = "me"};
	cr_expect_not(lease_failed(&s, 100000), "it did not lead");
	struct lease_record w = {.transitions = 2};
	lease_written(&s, &w, 1000);
	cr_expect_eq(lease_bound_ms(&s), 1000 + LEASE_RENEW_BOUND_MS);
	cr_expect_not(lease_failed(&s, 1000 + LEASE_RENEW_BOUND_MS - 1));
	cr_expect(s.leading);
	cr_expect(lease_failed(&s, 1000 + LEASE_RENEW_BOUND_MS));
	cr_expect_not(s.leading);
}

Test(lease, failures_of_any_kind_are_said_now_and_then)
{
	static const struct err kinds[] = {{.kind = ERR_RETRY, .code = 7}, {.kind = ERR_RETRY, .code = 503}, {.kind = ERR_TIMEOUT}, {.kind = ERR_DENIED}};
	for (size_t count = 1; count <= sizeof kinds / sizeof *kinds; count++) {
		struct lease_said said = {0};
		int lines = 0;
		cr_expect(lease_worth_saying(&said, &kinds[0], 1000), "the first at once");
		for (int i = 1; i < 200; i++) /* a minute */
			lines += lease_worth_saying(&said, &kinds[(size_t)i % count], 1000 + i * 300);
		cr_expect_leq(lines, count == 1 ? 6 : 20, "%zu kinds: %d lines", count, lines);
		cr_expect_geq(lines, 5, "%zu kinds: %d lines", count, lines);
	}
}

Test(lease, what_is_written_is_read)
{
	struct lease_record w = held_by("me", "12", 41, WALL), r;
	AUTO_JSON json_t *doc = lease_record_to_json(&w, "drdotnet-system", "drdotnet-controller");
	cr_expect_str_eq(jsonx_str_at(doc, "spec.acquireTime", ""), "1970-01-01T00:00:00.005000Z", "MicroTime");
	lease_record_from_json(doc, &r);
	cr_expect_eq(memcmp(&w, &r, sizeof w), 0);
}

Test(lease, what_others_wrote_is_read_as_far_as_it_makes_sense)
{
	struct err e = ERR_INIT;
	static const char text[] = "{\"spec\":{\"holderIdentity\":7,\"leaseDurationSeconds\":99999999,\"leaseTransitions\":-4,\"renewTime\":\"soon\"}}";
	AUTO_JSON json_t *doc = jsonx_parse(text, sizeof text - 1, "test", &e);
	struct lease_record r;
	lease_record_from_json(doc, &r);
	cr_expect_str_eq(r.holder, "");
	cr_expect_eq(r.duration_ms, 0);
	cr_expect_eq(r.transitions, 0);
	cr_expect_eq(r.renew_wall_ms, 0);
}
