/* Context: own thread. */
#include "profiler/requests/unanswered.h"

#include "profiler/base/linux_dirent.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLOSE_MS 4u /* the kernel counts in ticks */

/* The beginning of the kernel's struct tcp_info, up to what is read; libc's own lacks the counts. Source: include/uapi/linux/tcp.h. */
struct tcp_facts {
	uint8_t state, others[7];
	uint32_t rto, ato, snd_mss, rcv_mss, unacked, sacked, lost, retrans, fackets;
	uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv; /* ms ago */
	uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering, rcv_rtt, rcv_space, total_retrans;
	uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
	uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
};
_Static_assert(offsetof(struct tcp_facts, bytes_received) == 128, "as the kernel has it");

#define STATE_ESTABLISHED 1

static uint16_t ports[UNANSWERED_PORTS];
static unsigned port_count;

static int descriptor_of(const char *name)
{
	int fd = 0;

	if (*name < '0' || *name > '9')
		return -1;
	for (; *name >= '0' && *name <= '9'; name++)
		fd = fd > 1000000 ? -1 : fd * 10 + (*name - '0');
	return fd;
}

typedef void descriptor_fn(int fd, void *ctx);

static void each_descriptor(descriptor_fn *fn, void *ctx)
{
	_Alignas(8) static char buf[8192];
	unsigned seen = 0;
	long n;

	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	while (seen < UNANSWERED_DESCRIPTORS && (n = syscall(SYS_getdents64, dir, buf, sizeof buf)) > 0)
		for (long i = 0; i < n; seen++) {
			const struct linux_dirent64 *d = (const struct linux_dirent64 *)(buf + i);
			int fd = descriptor_of(d->name);
			if (fd >= 0)
				fn(fd, ctx);
			i += d->size;
		}
	close(dir);
}

/* The port of our end; 0: it is no socket of TCP. */
static uint16_t own_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage all;
	} name;
	socklen_t len = sizeof name;

	if (syscall(SYS_getsockname, fd, &name.any, &len) < 0)
		return 0;
	if (name.any.sa_family == AF_INET)
		return name.v4.sin_port;
	return name.any.sa_family == AF_INET6 ? name.v6.sin6_port : 0;
}

static void note_listener(int fd, void *unused)
{
	int listens = 0;
	socklen_t len = sizeof listens;

	(void)unused;
	if (port_count == UNANSWERED_PORTS || syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 || !listens)
		return;
	uint16_t port = own_port(fd);
	if (port)
		ports[port_count++] = port;
}

static bool is_own_port(uint16_t port)
{
	for (unsigned i = 0; i < port_count; i++)
		if (ports[i] == port)
			return true;
	return false;
}

bool unanswered_waits(uint64_t received, uint64_t sent, uint32_t last_received_ms, uint32_t last_sent_ms)
{
	if (!received)
		return false;
	return !sent || last_received_ms + CLOSE_MS < last_sent_ms;
}

struct search {
	uint64_t age_ms;
	struct unanswered *out;
};

static void note_connection(int fd, void *ctx)
{
	const struct search *s = ctx;
	struct tcp_facts t = {0};
	socklen_t len = sizeof t;
	uint16_t port = own_port(fd);

	if (!port || !is_own_port(port) || syscall(SYS_getsockopt, fd, IPPROTO_TCP, 11 /* TCP_INFO */, &t, &len) < 0 || len < sizeof t)
		return;
	if (t.state != STATE_ESTABLISHED || t.last_data_recv < s->age_ms)
		return;
	if (!unanswered_waits(t.bytes_received, t.data_segs_out, t.last_data_recv, t.last_data_sent))
		return;
	s->out->connections++;
	if (t.last_data_recv * UINT64_C(1000000) > s->out->oldest_ns)
		s->out->oldest_ns = t.last_data_recv * UINT64_C(1000000);
}

void unanswered_find(uint64_t age_ns, struct unanswered *out)
{
	struct search s = {age_ns / 1000000, out};

	*out = (struct unanswered){0};
	port_count = 0;
	each_descriptor(note_listener, NULL);
	if (port_count)
		each_descriptor(note_connection, &s);
}
