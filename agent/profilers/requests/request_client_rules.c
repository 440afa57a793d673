#include "agent/profilers/requests/request_client_rules.h"

#include "agent/profilers/requests/request_numbers.h"
#include "agent/profilers/requests/request_text.h"
#include "common/base/size_text.h"

#define LEAST_SLOW 5
#define LEAST_SHARE 5.0
#define PART_PERCENT 30.0
#define SLOW_MS 20.0
#define WINDOW_PERCENT 50.0 /* of the time in which a connection takes no more */
#define ONE_PERCENT 60.0    /* of the requests */
#define ONE_OTHERS 4        /* addresses: with fewer they may be proxies, and a check of health */
#define ONE_TOLD 50         /* requests */
#define NAME_CHARS 30

static const struct request_numbers *client_numbers_in(const void *numbers)
{
	return numbers;
}

/* The kernel says that the connection takes no more; the tasks, that no thread works for the request meanwhile. */
struct rule_score request_client_reads(const void *numbers)
{
	const struct request_numbers *n = client_numbers_in(numbers);
	bool found = n->client_percent >= PART_PERCENT && n->client_share >= LEAST_SHARE && n->client_requests >= LEAST_SLOW && n->client_ms >= SLOW_MS;
	return (struct rule_score){found ? rules_score(n->client_percent * n->client_share / 100) : 0, 2};
}

void request_client_says_reads(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = client_numbers_in(numbers);
	bool reads_slowly = n->client_window_percent >= WINDOW_PERCENT;
	AUTO_BUF struct buf text, size;
	buf_init(&text, 4 * RULE_TEXT_BYTES);
	buf_init(&size, RULE_TEXT_BYTES);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "responses that wait for their clients");
		finding_evidence(out, "connections take no more of them for at most %.0f%% of the time of an endpoint's slowest requests", n->client_percent);
		return;
	}
	request_text_endpoint(&text, n->client_endpoint.text, NAME_CHARS);
	buf_printf(&text, ": %.0f%% of %.0f ms ", n->client_percent, n->client_ms);
	buf_puts(&text, reads_slowly ? "waiting for slow clients" : "sending the response");
	finding_message(out, "%s", buf_str(&text));
	size_text_bytes(&size, (uint64_t)n->client_bytes);
	finding_evidence(out, "no thread works for its %.0f slowest requests, and their connections' send buffers are full; %s each went out meanwhile, "
			      "and for %.0f%% of that time the client had %s",
			 n->client_requests, buf_str(&size), reads_slowly ? n->client_window_percent : 100 - n->client_window_percent,
			 reads_slowly ? "no room for more: it reads slowly" : "room for more: the network takes the time");
	finding_place(out, n->client_endpoint.text);
}

const char *request_client_needs_addresses(const void *numbers)
{
	const struct request_numbers *n = client_numbers_in(numbers);
	return rules_known(n->one_told) ? NULL : "each endpoint's requests came from one address, or their addresses are not known";
}

/* What is behind an address is not known: a proxy that many share looks alike. */
struct rule_score request_client_one(const void *numbers)
{
	const struct request_numbers *n = client_numbers_in(numbers);
	bool found = n->one_percent >= ONE_PERCENT && n->one_others >= ONE_OTHERS && n->one_told >= ONE_TOLD && n->one_share >= LEAST_SHARE &&
		     n->one_p95_ms >= SLOW_MS;
	return (struct rule_score){found ? rules_score(n->one_percent * n->one_share / 100 / 2) : 0, 1};
}

void request_client_says_one(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = client_numbers_in(numbers);
	AUTO_BUF struct buf name;
	buf_init(&name, 2 * RULE_TEXT_BYTES);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "one client that makes most of the requests");
		finding_evidence(out, "at the endpoint where one client matters most, it makes %.0f%% of the requests; they come from %.0f addresses",
				 n->one_percent, n->one_others + 1);
		return;
	}
	request_text_endpoint(&name, n->one_endpoint.text, NAME_CHARS);
	finding_message(out, "%s: one client makes %.0f%% of the requests", buf_str(&name), n->one_percent);
	finding_evidence(out, "%.0f of %.0f requests whose client's address was told come from one address, the others from %.0f more; a proxy or a gateway "
			      "that many clients share looks the same",
			 n->one_requests, n->one_told, n->one_others);
	finding_place(out, n->one_endpoint.text);
}
