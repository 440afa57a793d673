/* Context: own thread. */
#include "profiler/requests/unanswered.h"

#include "common/proto/difference.h"
#include "profiler/base/now.h"
#include "profiler/requests/server_sockets.h"

#define CLOSE_MS 4u /* the kernel counts in ticks */

bool unanswered_waits(uint64_t received, uint64_t sent, uint32_t last_received_ms, uint32_t last_sent_ms)
{
	if (!received)
		return false;
	return !sent || last_received_ms + CLOSE_MS < last_sent_ms;
}

struct search {
	uint64_t began_ns;
	struct unanswered *out;
};

static void note_unanswered(const struct server_socket *s, void *ctx)
{
	const struct search *x = ctx;
	const struct tcp_facts *t = s->facts;
	uint64_t age_ms = difference(now_ns(), x->began_ns) / 1000000; /* as these facts are: a look at thousands of connections may take seconds */

	if (t->last_data_recv < age_ms + CLOSE_MS || !unanswered_waits(t->bytes_received, t->data_segs_out, t->last_data_recv, t->last_data_sent))
		return;
	x->out->connections++;
	if (t->last_data_recv * UINT64_C(1000000) > x->out->oldest_ns)
		x->out->oldest_ns = t->last_data_recv * UINT64_C(1000000);
}

void unanswered_find(uint64_t began_ns, struct unanswered *out)
{
	struct search x = {began_ns, out};

	*out = (struct unanswered){0};
	server_sockets_list();
	server_sockets_each(note_unanswered, &x);
}
