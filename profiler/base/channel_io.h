/* The library's end of the channel: one non-blocking socket, one buffer each way. Own thread only, except connecting (from
 * InitializeForAttach, before the thread exists) and the last frame (after the thread has ended). */
#ifndef DRDOTNET_CHANNEL_IO_H
#define DRDOTNET_CHANNEL_IO_H

#include "common/proto/channel.h"

struct channel_io {
	int fd;         /* -1: closed */
	uint64_t cookie; /* SO_COOKIE of the socket; 0: not known. Another one may stand at its number, where the application closes one twice */
	int passed_fd;  /* that came beside the bytes; -1: none */
	int give_up_fd; /* readable: nothing waits for the agent any more; -1: none */
	void (*stalled)(void); /* set after connecting; NULL: nothing is to be done. Must not write frames */
	size_t in_len, in_used, out_len;
	struct wire_writer writer;
	uint8_t in[CHANNEL_MAX_FRAME], out[CHANNEL_MAX_FRAME * 3 / 2];
};

/* Never waits: the agent listens already. Returns 0 or an errno. */
int channel_io_connect(struct channel_io *io, struct channel_text path);
void channel_io_close(struct channel_io *io);

/* Writes a frame into the out buffer: begin, wire_put_*(), end. Flushes before when there is no room. false: the channel is lost. */
struct wire_writer *channel_io_begin(struct channel_io *io, uint16_t type);
bool channel_io_end(struct channel_io *io);
/* A whole CHANNEL_ERROR that answers the request. */
bool channel_io_refuse(struct channel_io *io, uint16_t request, uint32_t code, const char *message);
/* Sends what is buffered, waiting at most CHANNEL_IO_STALL_MS without progress, and not at all when give_up_fd is readable. When it has waited for
 * CHANNEL_IO_HOLD_MS in all it calls stalled(), once: who ends what costs the application something cannot do so while its thread is in here. */
bool channel_io_flush(struct channel_io *io);
#define CHANNEL_IO_STALL_MS 10000
#define CHANNEL_IO_HOLD_MS 300

/* Reads what is there without waiting. false: closed by the agent, or broken. */
bool channel_io_fill(struct channel_io *io);
/* The descriptor that the agent passed last; the caller's. -1: none. */
int channel_io_take_fd(struct channel_io *io);
/* The next whole frame of what was read; borrowed until the next fill. */
enum channel_next channel_io_next(struct channel_io *io, struct channel_frame *f);

#endif
