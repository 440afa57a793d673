// Requests to a server on loopback, as many a second as asked for, from one thread.
//
// usage: http-load PORT [--http2] [--rate N] [--connections N] [--depth N] [--seconds N] [--requests N] [--distinct] PATH...
//   --rate N         a second, begun when it is their turn whether earlier ones have been answered or not; 0 (the default): as many as are answered
//   --connections N  kept alive (16)
//   --depth N        requests on the way on one connection (1): pipelined with HTTP/1.1, streams with HTTP/2
//   --seconds N      (5); --requests N: so many, then no more; a second of patience for the last answers
//   --distinct       each path is followed by a number of its own
// Prints one line of JSON: what was sent, answered, refused (a status of 400 or more), and how long the answers took in microseconds.
// With HTTP/2 only answers whose status is in the static table of HPACK (200, 204, 206, 304, 400, 404, 500) are told from others, which count as refused.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_DEPTH = 256,
	MAX_PATHS = 1024,
	IN_BYTES = 64 * 1024,
	OUT_BYTES = 256 * 1024,
	FINE = 32,                        // buckets for each power of two of microseconds
	MAX_HEAD = 32 * 1024,
	FRAME_HEAD = 9,
	FRAME_DATA = 0, FRAME_HEADERS = 1, FRAME_RST = 3, FRAME_SETTINGS = 4, FRAME_PING = 6, FRAME_GOAWAY = 7, FRAME_WINDOW = 8,
	FLAG_END_STREAM = 1, FLAG_ACK = 1, FLAG_END_HEADERS = 4,
	WINDOW = 0x3fffffff,
	PATIENCE_US = 1000000,
};

struct connection {
	int fd;
	bool writable;                    // epoll waits for room
	uint8_t *out;                     // what the socket did not take yet: out[sent .. filled)
	size_t sent, filled;
	uint8_t *in;
	size_t in_filled;
	uint64_t begun_us[MAX_DEPTH];     // HTTP/1.1: a ring, answers come in order; HTTP/2: by stream
	uint32_t first, waiting;
	bool refusals[MAX_DEPTH];         // HTTP/2
	uint64_t body_left;               // HTTP/1.1: of the answer that is being read
	bool refused;
	uint32_t next_stream;
	uint64_t unreturned;              // HTTP/2: bytes of the connection's window that have not been given back
};

static struct {
	uint16_t port;
	bool http2, distinct;
	double rate;
	uint32_t connections, depth;
	double seconds;
	uint64_t requests;
	const char *paths[MAX_PATHS];
	size_t path_count;
} options = {.connections = 16, .depth = 1, .seconds = 5};

static struct {
	uint64_t sent, answered, refused, broken, sum_us, max_us;
	uint64_t buckets[40 * FINE];
} counts;

static struct connection *connections;
static int poller;

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void die(const char *what)
{
	fprintf(stderr, "http-load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void count_answer(uint64_t begun_us, bool refused)
{
	uint64_t us = now_us() - begun_us;
	int power = us ? 63 - __builtin_clzll(us) : 0;
	uint64_t part = us ? ((us - (1ull << power)) * FINE) >> power : 0;

	counts.answered++;
	counts.refused += refused;
	counts.sum_us += us;
	if (us > counts.max_us)
		counts.max_us = us;
	counts.buckets[(size_t)power * FINE + part]++;
}

static uint64_t percentile(double percent)
{
	double wanted = (double)counts.answered * percent / 100;

	for (size_t i = 0; i < sizeof counts.buckets / sizeof *counts.buckets; i++) {
		wanted -= (double)counts.buckets[i];
		if (wanted <= 0 && counts.answered)
			return (1ull << (i / FINE)) + ((i % FINE) << (i / FINE)) / FINE;
	}
	return 0;
}

static void watch(struct connection *c, bool for_room)
{
	struct epoll_event event = {.events = EPOLLIN | (for_room ? EPOLLOUT : 0), .data.ptr = c};

	if (epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event) < 0)
		die("epoll_ctl");
	c->writable = for_room;
}

static void flush_out(struct connection *c)
{
	while (c->sent < c->filled) {
		ssize_t n = send(c->fd, c->out + c->sent, c->filled - c->sent, MSG_NOSIGNAL);

		if (n < 0) {
			if (errno == EAGAIN && !c->writable)
				watch(c, true);
			return; // what else is wrong is seen by the reader
		}
		c->sent += (size_t)n;
	}
	c->sent = c->filled = 0;
	if (c->writable)
		watch(c, false);
}

static void put(struct connection *c, const void *bytes, size_t size)
{
	if (c->filled + size > OUT_BYTES)
		exit((fprintf(stderr, "http-load: more is on the way than a connection holds\n"), 1));
	memcpy(c->out + c->filled, bytes, size);
	c->filled += size;
}

static void put_frame(struct connection *c, uint8_t type, uint8_t flags, uint32_t stream, const void *body, size_t size)
{
	uint8_t head[FRAME_HEAD] = {(uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size, type, flags,
		(uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream};

	put(c, head, sizeof head);
	put(c, body, size);
}

static void put_window(struct connection *c, uint32_t stream, uint32_t bytes)
{
	uint8_t body[4] = {(uint8_t)(bytes >> 24), (uint8_t)(bytes >> 16), (uint8_t)(bytes >> 8), (uint8_t)bytes};

	put_frame(c, FRAME_WINDOW, 0, stream, body, sizeof body);
}

// A literal header whose name is in the static table. Returns how many bytes it takes.
static size_t put_literal(uint8_t *to, uint8_t name, const char *value, size_t length)
{
	size_t n = 0;

	to[n++] = name;
	if (length < 127) {
		to[n++] = (uint8_t)length;
	} else {
		size_t rest = length - 127;

		to[n++] = 127;
		for (; rest >= 128; rest >>= 7)
			to[n++] = (uint8_t)(rest | 128);
		to[n++] = (uint8_t)rest;
	}
	memcpy(to + n, value, length);
	return n + length;
}

static void send_request(struct connection *c)
{
	static uint64_t number;
	static char path[MAX_HEAD], head[MAX_HEAD + 256];
	const char *base = options.paths[number % options.path_count];
	int length = options.distinct ? snprintf(path, sizeof path, "%s%llu", base, (unsigned long long)number) : snprintf(path, sizeof path, "%s", base);
	uint32_t slot;

	number++;
	if (options.http2) {
		uint8_t *block = (uint8_t *)head;
		size_t size = 0;

		block[size++] = 0x82; // :method GET
		block[size++] = 0x86; // :scheme http
		size += put_literal(block + size, 0x04, path, (size_t)length);
		size += put_literal(block + size, 0x01, "localhost", 9);
		slot = (c->next_stream >> 1) % MAX_DEPTH;
		put_frame(c, FRAME_HEADERS, FLAG_END_STREAM | FLAG_END_HEADERS, c->next_stream, block, size);
		c->next_stream += 2;
	} else {
		int size = snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);

		slot = (c->first + c->waiting) % MAX_DEPTH;
		put(c, head, (size_t)size);
	}
	c->begun_us[slot] = now_us();
	c->waiting++;
	counts.sent++;
}

// The length of an answer's head, 0: there is more to come. *body: of its body, -1: it is chunked (and small: its end is looked for).
static size_t head_of(const char *text, size_t size, int64_t *body, bool *refused)
{
	const char *end = memmem(text, size, "\r\n\r\n", 4), *length;

	if (!end)
		return 0;
	*refused = text[9] >= '4';
	*body = -1;
	length = memmem(text, (size_t)(end - text) + 2, "Content-Length: ", 16);
	if (length)
		*body = atoll(length + 16);
	return (size_t)(end - text) + 4;
}

static void end_http1(struct connection *c)
{
	count_answer(c->begun_us[c->first % MAX_DEPTH], c->refused);
	c->first = (c->first + 1) % MAX_DEPTH;
	c->waiting--;
}

// One step of reading HTTP/1.1; how many bytes it took.
static size_t take_http1(struct connection *c, const uint8_t *bytes, size_t size)
{
	const uint8_t *end;
	int64_t body = 0;
	size_t head;

	if (c->body_left) {
		size_t part = size < c->body_left ? size : (size_t)c->body_left;

		c->body_left -= part;
		if (!c->body_left)
			end_http1(c);
		return part;
	}
	head = head_of((const char *)bytes, size, &body, &c->refused);
	if (!head)
		return 0;
	if (body > 0) {
		c->body_left = (uint64_t)body;
		return head;
	}
	if (body < 0) {
		end = memmem(bytes + head - 2, size - head + 2, "\r\n0\r\n\r\n", 7);
		if (!end)
			return 0;
		head = (size_t)(end - bytes) + 7;
	}
	end_http1(c);
	return head;
}

static bool known_refusal(uint8_t first)
{
	return first != 0x88 && first != 0x89 && first != 0x8a && first != 0x8b; // 200, 204, 206, 304
}

static size_t take_http2(struct connection *c, const uint8_t *bytes, size_t size)
{
	uint32_t stream, length;
	size_t slot;

	if (size < FRAME_HEAD)
		return 0;
	length = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
	if (size < FRAME_HEAD + length)
		return 0;
	stream = ((uint32_t)bytes[5] << 24 | (uint32_t)bytes[6] << 16 | (uint32_t)bytes[7] << 8 | bytes[8]) & 0x7fffffff;
	slot = (stream >> 1) % MAX_DEPTH;
	switch (bytes[3]) {
	case FRAME_SETTINGS:
		if (!(bytes[4] & FLAG_ACK))
			put_frame(c, FRAME_SETTINGS, FLAG_ACK, 0, "", 0);
		break;
	case FRAME_PING:
		if (!(bytes[4] & FLAG_ACK))
			put_frame(c, FRAME_PING, FLAG_ACK, 0, bytes + FRAME_HEAD, length);
		break;
	case FRAME_HEADERS:
		// the first field may follow a new size of the table (001xxxxx)
		c->refusals[slot] = length && known_refusal((bytes[FRAME_HEAD] & 0xe0) == 0x20 && length > 1 ? bytes[FRAME_HEAD + 1] : bytes[FRAME_HEAD]);
		break;
	case FRAME_DATA:
		c->unreturned += length;
		if (c->unreturned > WINDOW / 2) {
			put_window(c, 0, (uint32_t)c->unreturned);
			c->unreturned = 0;
		}
		break;
	case FRAME_RST:
		counts.broken++;
		c->waiting--;
		break;
	case FRAME_GOAWAY:
		exit((fprintf(stderr, "http-load: the server ends the connection\n"), 1));
	}
	if ((bytes[3] == FRAME_HEADERS || bytes[3] == FRAME_DATA) && (bytes[4] & FLAG_END_STREAM)) {
		count_answer(c->begun_us[slot], c->refusals[slot]);
		c->waiting--;
	}
	return FRAME_HEAD + length;
}

static void read_answers(struct connection *c)
{
	for (;;) {
		size_t at = 0, taken;
		ssize_t n = recv(c->fd, c->in + c->in_filled, IN_BYTES - c->in_filled, 0);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) { // a server may close a connection with an answer that it refuses
			counts.broken += c->waiting;
			c->waiting = UINT32_MAX / 2;
			epoll_ctl(poller, EPOLL_CTL_DEL, c->fd, NULL);
			return;
		}
		c->in_filled += (size_t)n;
		while (at < c->in_filled && (taken = (options.http2 ? take_http2 : take_http1)(c, c->in + at, c->in_filled - at)))
			at += taken;
		memmove(c->in, c->in + at, c->in_filled - at);
		c->in_filled -= at;
		if (c->in_filled == IN_BYTES)
			exit((fprintf(stderr, "http-load: an answer's head is too long\n"), 1));
	}
}

static void open_connection(struct connection *c)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(options.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
	int on = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) < 0)
		die("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event) < 0)
		die("epoll_ctl");
	c->in = malloc(IN_BYTES);  // touched as far as it is used
	c->out = malloc(OUT_BYTES);
	if (!c->in || !c->out)
		die("malloc");
	if (options.http2) {
		static const uint8_t settings[] = {0, 4, 0x3f, 0xff, 0xff, 0xff}; // a window of a GB for each stream

		put(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
		put_frame(c, FRAME_SETTINGS, 0, 0, settings, sizeof settings);
		put_window(c, 0, WINDOW);
		c->next_stream = 1;
		flush_out(c);
	}
}

static uint64_t due(uint64_t begun_us)
{
	double most = options.requests ? (double)options.requests : 1e18, seconds = (double)(now_us() - begun_us) / 1e6;
	double now = options.rate > 0 ? seconds * options.rate : most;

	if (seconds >= options.seconds)
		return counts.sent;
	return (uint64_t)(now < most ? now : most);
}

// Begins what is due, on the connections by turns.
static void send_due(uint64_t begun_us)
{
	static uint32_t turn;
	uint32_t full = 0;
	uint64_t wanted = due(begun_us);

	while (counts.sent < wanted && full < options.connections) {
		struct connection *c = &connections[turn++ % options.connections];

		for (full++; c->waiting < options.depth && counts.sent < wanted; full = 0) {
			send_request(c);
			if (options.rate > 0)
				break;
		}
	}
	for (uint32_t i = 0; i < options.connections; i++)
		if (connections[i].filled && !connections[i].writable)
			flush_out(&connections[i]);
}

static bool is_done(uint64_t begun_us)
{
	uint64_t end_us = begun_us + (uint64_t)(options.seconds * 1e6);

	uint64_t ended = counts.answered + counts.broken;

	return now_us() >= end_us + PATIENCE_US || (ended == counts.sent && (now_us() >= end_us || (options.requests && ended >= options.requests)));
}

static void run(void)
{
	struct epoll_event events[256];
	uint64_t begun_us = now_us(), ended_us;

	while (!is_done(begun_us)) {
		int n;

		send_due(begun_us);
		n = epoll_wait(poller, events, 256, 1);
		for (int i = 0; i < n; i++) {
			struct connection *c = events[i].data.ptr;

			if (events[i].events & EPOLLOUT)
				flush_out(c);
			if (events[i].events & ~(uint32_t)EPOLLOUT)
				read_answers(c);
		}
	}
	ended_us = now_us();
	printf("{\"sent\":%llu,\"answered\":%llu,\"refused\":%llu,\"broken\":%llu,\"seconds\":%.3f,\"per_second\":%.1f,\"mean_us\":%.1f,\"p50_us\":%llu,"
		"\"p95_us\":%llu,\"p99_us\":%llu,\"max_us\":%llu}\n", (unsigned long long)counts.sent, (unsigned long long)counts.answered,
		(unsigned long long)counts.refused, (unsigned long long)counts.broken, (double)(ended_us - begun_us) / 1e6,
		(double)counts.answered * 1e6 / (double)(ended_us - begun_us), counts.answered ? (double)counts.sum_us / (double)counts.answered : 0.0,
		(unsigned long long)percentile(50), (unsigned long long)percentile(95), (unsigned long long)percentile(99), (unsigned long long)counts.max_us);
}

static void read_options(int argc, char **argv)
{
	static const struct option known[] = {{"http2", 0, 0, '2'}, {"rate", 1, 0, 'r'}, {"connections", 1, 0, 'c'}, {"depth", 1, 0, 'd'},
		{"seconds", 1, 0, 's'}, {"requests", 1, 0, 'n'}, {"distinct", 0, 0, 'u'}, {0}};

	for (int o; (o = getopt_long(argc, argv, "", known, NULL)) >= 0;) {
		switch (o) {
		case '2': options.http2 = true; break;
		case 'r': options.rate = atof(optarg); break;
		case 'c': options.connections = (uint32_t)atoi(optarg); break;
		case 'd': options.depth = (uint32_t)atoi(optarg); break;
		case 's': options.seconds = atof(optarg); break;
		case 'n': options.requests = (uint64_t)atoll(optarg); break;
		case 'u': options.distinct = true; break;
		default: exit(2);
		}
	}
	if (optind < argc)
		options.port = (uint16_t)atoi(argv[optind++]);
	for (; optind < argc && options.path_count < MAX_PATHS; optind++)
		options.paths[options.path_count++] = argv[optind];
	if (!options.port || !options.path_count || !options.connections || !options.depth || options.depth > MAX_DEPTH)
		exit((fprintf(stderr, "usage: http-load PORT [--http2] [--distinct] [--rate N] [--connections N] [--depth 1..%d] [--seconds N] [--requests N] "
			"PATH...\n", MAX_DEPTH), 2));
}

int main(int argc, char **argv)
{
	struct rlimit files;

	read_options(argc, argv);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	poller = epoll_create1(EPOLL_CLOEXEC);
	connections = calloc(options.connections, sizeof *connections);
	if (poller < 0 || !connections)
		die("epoll_create1");
	for (uint32_t i = 0; i < options.connections; i++)
		open_connection(&connections[i]);
	run();
	return 0;
}
