/* Context: own thread. */
#include "profiler/requests/peers.h"

#include "common/proto/channel_requests.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SILENT_TIMES 8

struct peer_now {
	struct channel_request_peer at;
	uint64_t received; /* segments */
	bool owes, owed;   /* now; at the look before */
};

static struct peer_list {
	struct peer_now list[PEERS_MOST];
	unsigned count;
	unsigned connections;
} now, before;

bool peer_owes(const struct tcp_facts *t)
{
	if (!t->data_segs_out)
		return false;
	return t->unacked || t->last_data_sent < t->last_data_recv; /* in ticks: within one it is not known which was first */
}

bool peer_is_silent(uint64_t sent_segments, uint64_t received_segments)
{
	return received_segments < sent_segments / SILENT_TIMES;
}

void peers_reset(void)
{
	before.count = before.connections = now.count = now.connections = 0;
}

/* The application has not read all that came: it is its own turn. */
static bool has_unread(int fd)
{
	int bytes = 0;

	return syscall(SYS_ioctl, fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

static struct peer_now *peer_in(struct peer_list *l, const uint8_t *address, uint16_t port)
{
	for (unsigned i = 0; i < l->count; i++)
		if (l->list[i].at.port == port && memcmp(l->list[i].at.address, address, CHANNEL_PEER_ADDRESS) == 0)
			return &l->list[i];
	return NULL;
}

static struct peer_now *peer_of(const struct server_socket *s)
{
	struct peer_now *p = peer_in(&now, s->peer_address, s->peer_port);

	if (p || now.count == PEERS_MOST)
		return p;
	p = &now.list[now.count++];
	*p = (struct peer_now){.at = {.port = s->peer_port, .sent_ms = UINT32_MAX, .received_ms = UINT32_MAX}};
	memcpy(p->at.address, s->peer_address, CHANNEL_PEER_ADDRESS);
	const struct peer_now *old = peer_in(&before, s->peer_address, s->peer_port);
	p->owed = old && old->owes;
	return p;
}

static void note_peer(const struct server_socket *s, void *unused)
{
	const struct tcp_facts *t = s->facts;
	struct peer_now *p = peer_of(s);

	(void)unused;
	now.connections++;
	if (!p)
		return;
	bool owes = peer_owes(t) && !has_unread(s->fd);
	if (owes > p->owes || (owes == p->owes && t->last_data_sent < p->at.sent_ms))
		p->at.sent_ms = t->last_data_sent;
	p->owes |= owes;
	if (t->last_data_recv < p->at.received_ms)
		p->at.received_ms = t->last_data_recv;
	p->at.asked += t->data_segs_out;
	p->received += t->data_segs_in;
}

void peers_look(struct channel_io *io, uint64_t at_ns)
{
	before = now;
	now.count = now.connections = 0;
	server_sockets_each_made(note_peer, NULL);
	if (!now.connections && !before.connections)
		return;
	struct wire_writer *w = channel_io_begin(io, CHANNEL_REQUESTS_PEERS);
	wire_put_u64(w, at_ns);
	for (unsigned i = 0; i < now.count; i++) {
		struct peer_now *p = &now.list[i];
		p->at.flags = (uint16_t)((p->owes ? CHANNEL_PEER_OWES : 0) | (peer_is_silent(p->at.asked, p->received) ? CHANNEL_PEER_RARELY : 0));
		if (p->owes || p->owed)
			channel_put_request_peer(w, &p->at);
	}
	channel_io_end(io);
}
