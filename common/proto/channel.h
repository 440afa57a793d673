/* The private protocol between libdrdotnet.so (inside the target) and the agent: frames over a unix stream socket that the
 * agent listens on. docs/channel-protocol.md tells the story; here stand the bytes. No allocation, no I/O, no state.
 *
 * Frame, little-endian:
 *
 *   0        4      6      8
 *   +--------+------+------+---------------------+
 *   | u32 len| u16  | u16 0| payload, len bytes  |   len <= CHANNEL_MAX_PAYLOAD
 *   |        | type |      |                     |
 *   +--------+------+------+---------------------+
 *
 * A payload longer than its type needs is read up to what is known: later versions may append fields. `text` is u16 length +
 * UTF-8 bytes, not NUL-terminated; 0xffff instead of a length says that there is none.
 */
#ifndef DRDOTNET_CHANNEL_H
#define DRDOTNET_CHANNEL_H

#include "common/proto/wire.h"

#define CHANNEL_VERSION 1
#define CHANNEL_NONCE_BYTES 16
#define CHANNEL_MAX_PAYLOAD 65536u
#define CHANNEL_HEADER_SIZE 8
#define CHANNEL_MAX_FRAME (CHANNEL_HEADER_SIZE + CHANNEL_MAX_PAYLOAD)
#define CHANNEL_MAX_RESOLVE 4096 /* instruction pointers in a request: its answer fits a frame */
#define CHANNEL_MAX_DEPTH 127    /* frames of a sample */
#define CHANNEL_MAX_PATH 107     /* of the socket: sockaddr_un.sun_path with its NUL */
#define CHANNEL_CLIENT_DATA_MAX (2 + 2 + CHANNEL_NONCE_BYTES + 2 + CHANNEL_MAX_PATH + 4 + 4 + 4)

/* {6D2F3C5E-8A41-4F0B-9C37-D2D07E70A5E1} as AttachProfiler wants it (and as it lies in memory): the library as main profiler;
 * and {...E2}: as notification-only profiler beside another one. The runtime asks which of the two it is before it hands
 * over the client data, so the class is what tells. */
extern const uint8_t channel_clsid[16];
extern const uint8_t channel_clsid_notification[16];

enum channel_type {
	/* agent to library */
	CHANNEL_RESOLVE = 0x0101,
	CHANNEL_SAMPLE_START = 0x0102,
	CHANNEL_SAMPLE_STOP = 0x0103,
	CHANNEL_STATS_REQUEST = 0x0104,
	CHANNEL_DETACH = 0x0105,
	CHANNEL_RENEW = 0x0106,
	CHANNEL_ALLOCS_START = 0x0120,
	CHANNEL_ALLOCS_STOP = 0x0121,
	/* library to agent */
	CHANNEL_HELLO = 0x0201,
	CHANNEL_READY = 0x0202,
	CHANNEL_FUNCTION = 0x0203,
	CHANNEL_RESOLVED = 0x0204,
	CHANNEL_SAMPLING = 0x0205,
	CHANNEL_SAMPLES = 0x0206,
	CHANNEL_STATS = 0x0207,
	CHANNEL_DETACHING = 0x0208,
	CHANNEL_DETACHED = 0x0209,
	CHANNEL_ERROR = 0x020a,
	CHANNEL_COLLECTIONS = 0x020b,
	CHANNEL_PAUSE = 0x020c,
	CHANNEL_LAPSED = 0x020d,
	/* of one profiler each: 0x0110/0x0210 and on the walk of the heap, 0x0120/0x0220 allocations, 0x0130/0x0230 pauses, 0x0170/0x0270 exceptions */
	CHANNEL_EXTENSION = 0x0010,
	CHANNEL_ALLOCS_STATE = 0x0220, /* common/proto/channel_allocs.h */
	CHANNEL_ALLOCS_TYPES = 0x0221,
	CHANNEL_ALLOCS_SITES = 0x0222,
	CHANNEL_ALLOCS_COUNTS = 0x0223,
};

/* Requests, answers and frames of one profiler. */
static inline bool channel_is_extension(uint16_t type)
{
	return (type & 0xff) >= CHANNEL_EXTENSION;
}

enum channel_flag {
	CHANNEL_NOTIFICATION_ONLY = 1, /* in the client data: asked for; in the hello: so loaded */
};

/* What the runtime lets a profiler ask for only while it attaches. */
enum channel_want {
	CHANNEL_WANT_GC_ROOTS = 1, /* MONITOR_GC; as main profiler only */
	CHANNEL_WANT_SUSPENDS = 2, /* MONITOR_SUSPENDS */
	CHANNEL_WANT_HEAP = 4,     /* walks without a collection: MONITOR_GC only where the runtime cannot, or one may be under way in the background */
};

struct channel_text {
	const char *data; /* NULL: none */
	size_t len;
};

/* Client data of AttachProfiler: u16 version, u16 flags, 16 bytes nonce, text path, u32 pause budget in
 * microseconds, u32 features, u32 lease in milliseconds (of an earlier agent: not there, which is 0: none). */
struct channel_client_data {
	uint16_t version, flags;
	uint8_t nonce[CHANNEL_NONCE_BYTES];
	struct channel_text path; /* of the socket, as the target sees it */
	uint32_t pause_budget_us;
	uint32_t features; /* enum channel_want */
	uint32_t lease_ms; /* the library leaves when it has heard nothing of the agent for so long */
};

/* HELLO, from InitializeForAttach: u16 version, u16 flags, nonce, u32 pid, u16 runtime major, minor, build, text library version. */
struct channel_hello {
	uint16_t version, flags;
	uint8_t nonce[CHANNEL_NONCE_BYTES];
	uint32_t inner_pid;
	uint16_t runtime_major, runtime_minor, runtime_build;
	struct channel_text library_version;
};

/* READY, from ProfilerAttachComplete: empty. From here on requests are served.
 *
 * RESOLVE: u32 count, count x u64 instruction pointer. Answered in order by FUNCTION frames for functions that this session
 * has not described yet, then one RESOLVED: u32 count, count x { u64 function id, 0: none; u32 HRESULT }. */
struct channel_resolved {
	uint64_t function_id;
	uint32_t status;
};

enum channel_function_flag {
	CHANNEL_OVERLOADED = 1,
	CHANNEL_DYNAMIC = 2,
};

/* FUNCTION: u64 id, u16 flags, u64 start, text module, type, type args, method, method args, params, u32 token, u64 image, text path. An id is
 * described again when a dynamic method took the place of a collected one. */
struct channel_function {
	uint64_t id;
	uint16_t flags;
	uint64_t dynamic_start_ns; /* CLOCK_MONOTONIC when its compilation began; 0: before the attach */
	struct channel_text module, type, type_args, method, method_args, params;
	uint32_t token;    /* of the method in its module's metadata; 0: none, or of an earlier library, as what follows */
	uint64_t image;    /* where the module's image begins in the process; 0: not known */
	struct channel_text path; /* of the module's file, as the process sees it */
};

/* SAMPLE_START: u32 hertz. SAMPLE_STOP: empty. Both are answered by SAMPLING (after the last SAMPLES, when stopping) or ERROR:
 * u32 hertz (0: stopped), u32 threads, u64 taken, u64 dropped, u32 untimed, u64 untimed CPU, u32 flags, u64 CPU. */
struct channel_sampling {
	uint32_t hertz, threads;
	uint64_t taken, dropped;
	uint32_t untimed;        /* threads that ran without a timer, at most at once; of an earlier library: 0, as what follows */
	uint64_t untimed_cpu_ns; /* that threads used without one, as far as is known */
	uint32_t flags;          /* enum channel_sampling_flag */
	uint64_t cpu_ns;         /* of the whole process since the start */
};

enum channel_sampling_flag {
	CHANNEL_SAMPLING_THREADS_UNKNOWN = 1, /* there were more threads than the library can look at */
};

enum channel_sample_flag {
	CHANNEL_TRUNCATED = 1, /* deeper than CHANNEL_MAX_DEPTH, or the thread's stack was not known yet */
	/* Callers may be missing; one of: */
	CHANNEL_GAP_CODE = 2,   /* code on the way was not known or not understood */
	CHANNEL_GAP_BROKEN = 4, /* what lay on the stack led nowhere */
	CHANNEL_GAP_DEEP = 8,   /* the code became known when the stack was gone: beyond what was copied of it frame pointers were followed */
	CHANNEL_GAP_ROOM = 16,  /* the code was not known, and there was no room to copy the stack */
};

/* SAMPLES: records up to the payload's end: i64 time (CLOCK_MONOTONIC), u32 inner tid, u16 flags, u16 depth, depth x u64 ip, leaf first. */
struct channel_sample_record {
	int64_t time_ns;
	uint32_t tid;
	uint16_t flags, depth;
	uint64_t ips[CHANNEL_MAX_DEPTH];
};

/* COLLECTIONS, before STATS when there are any: records up to the payload's end: u64 start, u64 end (CLOCK_MONOTONIC), u32 inner tid,
 * u32 generation. Garbage collections that ended since the last STATS on the thread that they began on. */
struct channel_collection {
	uint64_t start_ns, end_ns;
	uint32_t tid, generation;
};

/* What a session could not undo, or nobody can. */
enum channel_left {
	CHANNEL_LEFT_EVENTS = 1, /* the runtime would not end an EventPipe session: it goes on to make its events */
	CHANNEL_LEFT_MAPPED = 2, /* the library's code, which a thread or a signal handler of others may still enter */
	CHANNEL_LEFT_TRACKING = 4, /* the runtime's ActivityTracker: once on, for events that carry an activity, it stays on until the process ends */
	CHANNEL_LEFT_UNUSED = 8, /* the agent's word: the library's code, that nobody enters any more: musl unmaps no library */
};

/* STATS (answer to STATS_REQUEST) and DETACHING (the runtime has agreed): the library's own account. */
struct channel_account {
	uint64_t cpu_ns;   /* of its own thread */
	uint64_t taken, dropped; /* samples */
	uint64_t resolved, unresolved; /* instruction pointers */
	uint64_t functions; /* described */
	uint64_t max_pause_ns; /* the longest that it stopped all threads of the application for a walk */
	uint64_t memory_bytes; /* reserved by the library: code, tables, its thread's stack */
	uint64_t pauses, paused_ns; /* how often it held one, and for how long in sum; of an earlier library: 0 */
	uint32_t left; /* enum channel_left; of an earlier library: 0 */
	uint64_t collections, collections_ns; /* that stopped the application because of the session (profiler/gc/gc_cost.h); of an earlier library: 0 */
	uint64_t max_wait_ns; /* the longest that it held one thread; of an earlier library: 0 */
};

enum channel_pause_kind {
	CHANNEL_PAUSE_CALLBACK = 1, /* of the runtime, on a thread of the application */
	CHANNEL_PAUSE_SIGNAL = 2,   /* a sample by a timer */
	CHANNEL_PAUSE_WALK = 3,     /* all threads, for a walk of the heap */
};

/* PAUSE: u32 kind, u64 end (CLOCK_MONOTONIC), u64 duration, u64 budget, in nanoseconds. The library held a thread of the application for
 * longer than it may; it leaves of its own accord, as if it had been asked to. */
struct channel_pause {
	uint32_t kind;
	uint64_t end_ns, duration_ns, budget_ns;
};

/* RENEW: empty, not answered. The agent is there, and has nothing else to say: each of its frames renews the lease.
 *
 * LAPSED: u32 milliseconds. Nothing was heard of the agent for so long: the library leaves of its own accord, as if it had been asked to. */

/* DETACHED, from ProfilerDetachSucceeded, after the library's thread has ended: u32 enum channel_left; the socket closes.
 *
 * ERROR: u16 type of the request that failed (0: none), u32 HRESULT or errno, text message. */
struct channel_error {
	uint16_t request;
	uint32_t code;
	struct channel_text message;
};

/* Framing ------------------------------------------------------------------------------------------------------------ */
struct channel_frame {
	uint16_t type;
	const uint8_t *payload; /* borrowed */
	uint32_t len;
};

enum channel_next { CHANNEL_MORE, CHANNEL_FRAME, CHANNEL_BAD };

/* Looks for a whole frame at the start of `data`. FRAME: *out borrows from data, *used is its full size. MORE: incomplete.
 * BAD: not this protocol (a length or a reserved field that cannot be): close. */
enum channel_next channel_next(const uint8_t *data, size_t len, struct channel_frame *out, size_t *used);

/* Writing: channel_begin() leaves room for the header in `buf`, wire_put_*() or a channel_put_*() writes the payload,
 * channel_end() returns the frame's size, or 0 when it did not fit `cap` or the protocol. */
void channel_begin(struct wire_writer *w, void *buf, size_t cap, uint16_t type);
size_t channel_end(struct wire_writer *w);

void channel_put_text(struct wire_writer *w, struct channel_text t);
struct channel_text channel_get_text(struct wire_reader *r);

/* Payloads. Readers return false when it is cut or out of bounds; texts are borrowed from the frame. */
void channel_put_client_data(struct wire_writer *w, const struct channel_client_data *v); /* not a frame */
bool channel_get_client_data(const void *data, size_t len, struct channel_client_data *v);
void channel_put_hello(struct wire_writer *w, const struct channel_hello *v);
bool channel_get_hello(const struct channel_frame *f, struct channel_hello *v);
void channel_put_function(struct wire_writer *w, const struct channel_function *v);
bool channel_get_function(const struct channel_frame *f, struct channel_function *v);
void channel_put_sampling(struct wire_writer *w, const struct channel_sampling *v);
bool channel_get_sampling(const struct channel_frame *f, struct channel_sampling *v);
void channel_put_account(struct wire_writer *w, const struct channel_account *v);
bool channel_get_account(const struct channel_frame *f, struct channel_account *v);
void channel_put_pause(struct wire_writer *w, const struct channel_pause *v);
bool channel_get_pause(const struct channel_frame *f, struct channel_pause *v);
void channel_put_lapsed(struct wire_writer *w, uint32_t lease_ms);
bool channel_get_lapsed(const struct channel_frame *f, uint32_t *lease_ms);
void channel_put_error(struct wire_writer *w, const struct channel_error *v);
bool channel_get_error(const struct channel_frame *f, struct channel_error *v);

/* u16 depth, depth x u64: instruction pointers, leaf first. Reading more than CHANNEL_MAX_DEPTH makes the reader bad. */
void channel_put_ips(struct wire_writer *w, const uint64_t *ips, uint16_t depth);
uint16_t channel_get_ips(struct wire_reader *r, uint64_t *ips);

void channel_put_sample(struct wire_writer *w, const struct channel_sample_record *v);
bool channel_get_sample(struct wire_reader *r, struct channel_sample_record *v); /* the next; false at a bad one */

void channel_put_collection(struct wire_writer *w, const struct channel_collection *v);
bool channel_get_collection(struct wire_reader *r, struct channel_collection *v); /* the next; false at a bad one */

/* RESOLVE and RESOLVED begin with a count that the rest must hold exactly; false otherwise. Then read with wire_u64(). */
bool channel_get_resolve(const struct channel_frame *f, struct wire_reader *r, uint32_t *count);
bool channel_get_resolved(const struct channel_frame *f, struct wire_reader *r, uint32_t *count);

#endif
