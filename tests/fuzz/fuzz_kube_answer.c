/* What an API server answers with, beside sessions: pods, Leases, TokenReviews, the Secret of the certificates, errors. The first byte
 * chooses. */
#include "controller/kube/kube_client.h"
#include "controller/kube/lease.h"
#include "controller/link/link_secret.h"
#include "controller/triggers/observe_set.h"
#include "controller/kube/pods.h"
#include "controller/kube/token_review.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What agents are asked about it can be said over the link. */
static void observe_pod(const json_t *doc)
{
	static struct profiling_trigger trigger = {.uid = "0a1b2c3d-aaaa-bbbb-cccc-444455556666", .refs = 1};
	trigger.spec.threshold = (struct trigger_threshold){.above_percent = 80, .for_seconds = 5};
	for (int resource = TRIGGER_CPU_OF_LIMIT; resource <= TRIGGER_MEMORY_OF_LIMIT; resource++) {
		struct observe_set s = {.max_entries = 100};
		trigger.spec.threshold.resource = (enum trigger_resource)resource;
		observe_set_add_pod(&s, &trigger, doc);
		for (const struct observe_node *n = s.nodes; n; n = n->hh.next) {
			struct link_observation *items = observe_set_items(n);
			for (size_t i = 0; i < n->count; i++)
				check(link_observation_is_valid(&items[i]));
			free(items);
		}
		observe_set_fini(&s);
	}
}

/* Whatever the words of a container are, nothing but names comes of them. */
static void read_end(const json_t *doc)
{
	struct container_end end;
	AUTO_BUF struct buf text;
	buf_init(&text, 1024);
	if (!container_end_of_pod(doc, "ab", &end))
		return;
	check(end.exit.known && !strpbrk(end.exception, " \n\t\x1b") && !strpbrk(end.thrown_in, " \n\t\x1b("));
	check(!end.thrown_in[0] || end.exception[0]);
	container_end_text(&end, &text);
	check(text.len > 0 && !text.full);
}

static void read_pod(const json_t *doc)
{
	struct pod_info p;
	pod_info_from_json(doc, &p);
	pod_info_fini(&p);
	observe_pod(doc);
	read_end(doc);
}

/* What we would write after having seen it reads as what was meant. */
static void read_lease(const json_t *doc)
{
	struct lease_record seen, again;
	lease_record_from_json(doc, &seen);
	check(memchr(seen.holder, 0, sizeof seen.holder) && memchr(seen.resource_version, 0, sizeof seen.resource_version));
	check(lease_epoch_most(&seen) >= 0);
	struct lease_state state = {.leading = seen.transitions % 2};
	struct lease_decision what;
	snprintf(state.identity, sizeof state.identity, "me");
	lease_step(&state, &seen, (struct lease_clock){1000000, 1790000000000}, seen.transitions, &what);
	lease_step(&state, &seen, (struct lease_clock){2000000, 1790000001000}, INT64_MAX, &what);
	AUTO_JSON json_t *text = lease_record_to_json(&seen, "n", "l");
	check(text != NULL);
	lease_record_from_json(text, &again);
	check(strcmp(again.holder, seen.holder) == 0);
}

static void read_review(const json_t *doc)
{
	struct reviewed_agent who;
	struct err e = ERR_INIT;
	if (token_review_parse_agent(doc, "drdotnet", "n:drdotnet-agent", &who, &e) < 0)
		check(e.kind == ERR_DENIED);
	else
		check(who.pod_uid[0] && who.pod[0] && strcmp(who.namespace, "n") == 0 && json_is_true(json_object_get(doc, "authenticated")));
}

static void read_secret(json_t *doc)
{
	struct link_secret s, again;
	link_secret_read(doc, &s);
	link_secret_write(&s, doc);
	link_secret_read(doc, &again);
	check(!s.ca.cert == !again.ca.cert && (!s.ca.cert || strcmp(s.ca.cert, again.ca.cert) == 0));
	check(!s.server.key == !again.server.key && (!s.server.key || strcmp(s.server.key, again.server.key) == 0));
	link_secret_fini(&s);
	link_secret_fini(&again);
}

static void read_error(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	char *exact = malloc(size ? size : 1); /* nothing behind it */
	memcpy(exact, data, size);
	check(kube_status_error(300 + (int)(size % 300), exact, size, "fuzz", &e) == -1 && e.kind != ERR_NONE && e.message[0]);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	if (data[0] % 5 == 4) {
		read_error(data + 1, size - 1);
		return 0;
	}
	AUTO_JSON json_t *doc = jsonx_parse((const char *)data + 1, size - 1, "fuzz", NULL);
	if (!json_is_object(doc))
		return 0;
	switch (data[0] % 5) {
	case 0:
		read_pod(doc);
		break;
	case 1:
		read_lease(doc);
		break;
	case 2:
		read_review(doc);
		break;
	default:
		read_secret(doc);
	}
	return 0;
}
