/* Connections to the process's own ports, and those that it has made, with what the kernel knows of them (TCP_INFO). Own thread. */
#ifndef DRDOTNET_SERVER_SOCKETS_H
#define DRDOTNET_SERVER_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#define SERVER_SOCKETS_PORTS 16
#define SERVER_SOCKETS_DESCRIPTORS 65536 /* what is beyond them is not looked at */
#define SERVER_SOCKETS_MOST 16384
#define SERVER_SOCKETS_ADDRESS 16

/* The beginning of the kernel's struct tcp_info, up to what is read; libc's own lacks the counts. What an older kernel does not tell is 0.
 * Source: include/uapi/linux/tcp.h. */
struct tcp_facts {
	uint8_t state, others[7];
	uint32_t rto, ato, snd_mss, rcv_mss, unacked, sacked, lost, retrans, fackets;
	uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv; /* ms ago */
	uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering, rcv_rtt, rcv_space, total_retrans;
	uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
	uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
	uint64_t delivery_rate, busy_us, window_limited_us; /* since the connection was made: it sent; of that, its other end's window let it send no more */
};

struct server_socket {
	int fd;
	uint16_t peer_port; /* of the other end */
	bool is_port_shared; /* the other end of another one has the same, at another address */
	const struct tcp_facts *facts;
	const uint8_t *peer_address; /* of 16 bytes: IPv6, or IPv4 mapped into it */
};

typedef void server_socket_fn(const struct server_socket *s, void *ctx);

void server_sockets_list(void); /* finds those that there are */
/* Each established one of the last list; a descriptor may have become another connection's meanwhile. */
void server_sockets_each(server_socket_fn *fn, void *ctx);
void server_sockets_each_made(server_socket_fn *fn, void *ctx); /* of those to others, not to itself */
bool server_sockets_is(const struct server_socket *s); /* it has not */

#endif
