#include "agent/profilers/requests/request_numbers.h"
#include "agent/profilers/requests/request_peer_match.h"

#include <criterion/criterion.h>
#include <string.h>

#define MS 1000000u
#define FIRST_MS 1000u
#define APART_MS 200u
#define REQUESTS 20u
#define LAST_MS (FIRST_MS + APART_MS * REQUESTS)

static void add_shape(struct request_log *l, uint32_t number, const char *text)
{
	request_log_shape(l, &(struct channel_request_shape){number, {text, strlen(text)}});
}

static void on_thread(struct request_log *l, uint32_t number, uint64_t from_ms, uint64_t to_ms)
{
	request_trail_switch(&l->trail, &(struct channel_request_switch){from_ms * MS, number, number});
	request_trail_switch(&l->trail, &(struct channel_request_switch){to_ms * MS, number, 0});
}

/* Twenty requests, each of which is on a thread for 2 ms, awaits something for 100 ms, and goes on for 2 ms. */
static void add_requests(struct request_log *l)
{
	for (uint32_t i = 0; i < REQUESTS; i++) {
		uint64_t at = FIRST_MS + i * APART_MS;
		request_log_done(l, &(struct channel_request_done){.start_ns = at * MS, .end_ns = (at + 104) * MS, .number = i + 1, .shape = 1});
		on_thread(l, i + 1, at, at + 2);
		on_thread(l, i + 1, at + 102, at + 104);
	}
}

/* A look each 20 ms. */
static void add_looks(struct request_log *l, struct channel_request_peer (*row)(uint64_t at_ms))
{
	for (uint64_t at = 500; at < LAST_MS; at += 20) {
		struct channel_request_peer p = row(at);
		p.address[10] = p.address[11] = 0xff;
		memcpy(p.address + 12, (const uint8_t[]){10, 0, 0, 7}, 4);
		p.port = 6379;
		request_peers_look(&l->peers, at * MS, &p, p.flags || p.asked ? 1 : 0);
	}
}

static struct request_numbers numbers_of(struct request_log *l)
{
	struct request_capture c = {.log = l, .ended_ns = 10000ll * MS, .process_cpu_ns = -1};
	struct request_analysis a;
	struct request_numbers n;
	add_shape(l, 1, "GET /cart");
	request_trail_window(&l->trail, &(struct channel_request_window){0, 10000ull * MS});
	request_analysis_run(&c, &a);
	request_numbers_of(&a, &n);
	request_analysis_fini(&a);
	request_capture_fini(&c);
	return n;
}

static uint64_t since_start(uint64_t at_ms)
{
	return at_ms < FIRST_MS ? UINT64_MAX : (at_ms - FIRST_MS) % APART_MS;
}

/* Asked 1 ms after a request's beginning. */
static struct channel_request_peer asked_by_each(uint64_t at_ms, uint64_t answered_after_ms)
{
	uint64_t t = since_start(at_ms), asked = at_ms < FIRST_MS ? 0 : 100 + (at_ms - FIRST_MS) / APART_MS;
	if (t == UINT64_MAX || t < 6 || t >= answered_after_ms + 39)
		return (struct channel_request_peer){0};
	if (t < answered_after_ms)
		return (struct channel_request_peer){.flags = CHANNEL_PEER_OWES, .sent_ms = (uint32_t)t - 1, .received_ms = 9000, .asked = asked};
	return (struct channel_request_peer){.sent_ms = (uint32_t)t - 1, .received_ms = (uint32_t)(t - answered_after_ms), .asked = asked};
}

static struct channel_request_peer asked_by_requests(uint64_t at_ms)
{
	return asked_by_each(at_ms, 101);
}

Test(request_peer_match, an_answer_that_requests_wait_for)
{
	struct request_log *l = request_log_new();
	add_requests(l);
	add_looks(l, asked_by_requests);
	struct request_numbers n = numbers_of(l);
	cr_expect_str_eq(n.peer_name.text, "10.0.0.7:6379");
	cr_expect_str_eq(n.peer_port_of.text, "Redis");
	cr_expect_str_eq(n.peer_endpoint.text, "GET /cart");
	cr_expect_float_eq(n.peer_percent, 100 * 100.0 / 104, 1, "%f", n.peer_percent);
	cr_expect(n.peer_looks == 5 * REQUESTS && n.peer_alone_percent == 100 && n.peer_answered_percent == 100, "%f", n.peer_looks);
	cr_expect(n.peer_idle_percent == 0 && n.peer_waits_each == 1, "%f %f", n.peer_idle_percent, n.peer_waits_each);
	cr_expect_float_eq(n.peer_asked_each, 1, 0.1, "%f", n.peer_asked_each);
	cr_expect(n.peer_ended_percent == 100 && n.peer_came_percent == 0, "%f %f", n.peer_ended_percent, n.peer_came_percent);
}

/* A message that is confirmed while the request waits for something else, which takes longer. */
static struct channel_request_peer confirmed_to_requests(uint64_t at_ms)
{
	return asked_by_each(at_ms, 70);
}

Test(request_peer_match, an_answer_that_comes_while_requests_wait)
{
	struct request_log *l = request_log_new();
	add_requests(l);
	add_looks(l, confirmed_to_requests);
	struct request_numbers n = numbers_of(l);
	cr_expect(n.peer_percent > 50 && n.peer_answered_percent == 100 && n.peer_idle_percent == 0, "%f", n.peer_percent);
	cr_expect(n.peer_ended_percent == 0, "%f", n.peer_ended_percent);
}

/* Asked again as soon as it has answered, each 70 ms, by others. */
static struct channel_request_peer asked_all_the_time(uint64_t at_ms)
{
	uint32_t t = (uint32_t)(at_ms % 70);
	return (struct channel_request_peer){.flags = t > 8 ? CHANNEL_PEER_OWES : 0, .sent_ms = t, .received_ms = t, .asked = at_ms / 70};
}

Test(request_peer_match, answers_that_others_wait_for)
{
	struct request_log *l = request_log_new();
	add_requests(l);
	add_looks(l, asked_all_the_time);
	struct request_numbers n = numbers_of(l);
	cr_expect(n.peer_percent > 40 && n.peer_ended_percent < 50 && n.peer_came_percent > 10, "%f %f %f", n.peer_percent, n.peer_ended_percent,
		  n.peer_came_percent);
}

/* A subscription, or a consumer that waits for messages: it was asked long before. */
static struct channel_request_peer asked_before(uint64_t at_ms)
{
	return (struct channel_request_peer){.flags = CHANNEL_PEER_OWES, .sent_ms = (uint32_t)at_ms, .received_ms = 9000, .asked = 3};
}

Test(request_peer_match, an_answer_that_was_asked_for_before)
{
	struct request_log *l = request_log_new();
	add_requests(l);
	add_looks(l, asked_before);
	struct request_numbers n = numbers_of(l);
	cr_expect(n.peer_percent == 0 && !n.peer_name.text[0], "%f %s", n.peer_percent, n.peer_name.text);
}

/* Messages that nobody confirms, sent by each request. */
static struct channel_request_peer told_by_requests(uint64_t at_ms)
{
	uint64_t t = since_start(at_ms);
	if (t == UINT64_MAX)
		return (struct channel_request_peer){0};
	return (struct channel_request_peer){
		.flags = CHANNEL_PEER_OWES | CHANNEL_PEER_RARELY, .sent_ms = t ? (uint32_t)t - 1 : 199, .received_ms = (uint32_t)at_ms, .asked = at_ms};
}

Test(request_peer_match, messages_that_nobody_answers)
{
	struct request_log *l = request_log_new();
	add_requests(l);
	add_looks(l, told_by_requests);
	struct request_numbers n = numbers_of(l);
	cr_expect(n.peer_percent == 0, "%f", n.peer_percent);
}

Test(request_peer_match, looks_are_in_order_and_bounded)
{
	struct request_peers x = {0};
	struct channel_request_peer p = {.flags = CHANNEL_PEER_OWES, .sent_ms = 900};
	request_peers_look(&x, 500 * MS, &p, 1);
	request_peers_look(&x, 500 * MS, &p, 1);
	request_peers_look(&x, 400 * MS, &p, 1);
	cr_expect(x.look_count == 1 && x.row_count == 1 && x.rows[0].sent_ns == 0, "longer ago than there is time");
	for (unsigned i = 1; i < PEERS_MOST + 10; i++) {
		p.port = (uint16_t)i;
		request_peers_look(&x, (500 + i) * (uint64_t)MS, &p, 1);
	}
	cr_expect(x.name_count == PEERS_MOST && x.row_count == PEERS_MOST);
	cr_expect_eq(request_peers_after(&x, 500 * MS), 1);
	cr_expect_eq(request_peers_rows_end(&x, x.look_count - 1), PEERS_MOST);
	request_peers_fini(&x);
}

Test(request_peer_match, names)
{
	AUTO_BUF struct buf text;
	struct peer_name n = {.address = {[15] = 1}, .port = 27017};
	buf_init(&text, 100);
	request_peers_name(&n, &text);
	cr_expect_str_eq(buf_str(&text), "[::1]:27017");
	cr_expect_str_eq(request_peers_usual(27017), "MongoDB");
	cr_expect_null(request_peers_usual(80));
	cr_expect_str_eq(request_peers_of_method("StackExchange.Redis.RedisDatabase.StringGetAsync(RedisKey)"), "Redis");
	cr_expect_null(request_peers_of_method("Shop.StackExchange.Redis.Get"));
}
