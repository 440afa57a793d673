#include "profiler/requests/peers.h"

#include <criterion/criterion.h>

static bool owes(uint32_t sent_segments, uint32_t unacked, uint32_t sent_ms, uint32_t received_ms)
{
	return peer_owes(&(struct tcp_facts){.data_segs_out = sent_segments, .unacked = unacked, .last_data_sent = sent_ms, .last_data_recv = received_ms});
}

Test(peers, who_has_spoken_last)
{
	cr_expect_not(owes(0, 0, 9000, 10000), "nothing was asked");
	cr_expect(owes(1, 0, 20, 9000), "asked, and no answer");
	cr_expect_not(owes(1, 0, 9000, 20), "answered");
	cr_expect_not(owes(1, 0, 8, 8), "answered within a tick");
	cr_expect(owes(1, 0, 4, 8), "asked in the tick after the last answer");
	cr_expect(owes(1, 1, 0, 0), "what was sent has not even arrived, as far as is known");
}

Test(peers, who_never_answers)
{
	cr_expect_not(peer_is_silent(0, 0));
	cr_expect_not(peer_is_silent(100, 90));
	cr_expect_not(peer_is_silent(80, 10));
	cr_expect(peer_is_silent(88, 10));
	cr_expect(peer_is_silent(8, 0));
	cr_expect_not(peer_is_silent(7, 0), "too few to tell");
}
