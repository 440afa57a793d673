/* Context: CLR callback (attach, attach_complete, detached) and own thread (session_main and below). */
#include "profiler/session.h"

#include "common/proto/channel_code.h"
#include "profiler/base/channel_io.h"
#include "profiler/stacks/code_learn.h"
#include "profiler/clr/dynamic_starts.h"
#include "profiler/clr/event_mask.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/feeds.h"
#include "profiler/gc/gc_cost.h"
#include "profiler/gc/gc_watch.h"
#include "profiler/heap/heap_walk.h"
#include "profiler/base/lease.h"
#include "profiler/clr/module_guard.h"
#include "profiler/base/now.h"
#include "profiler/base/own_file.h"
#include "profiler/base/own_statics.h"
#include "profiler/base/own_thread.h"
#include "profiler/base/pause_watch.h"
#include "profiler/names/resolver.h"
#include "profiler/stacks/sampler.h"
#include "profiler/gc/stop_log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK_BYTES (128 * 1024) /* of our thread: musl's default would be 128 KiB, glibc's 8 MiB */
/* The runtime waits this long before it looks whether our code is still in use: shorter hints risk its 5 s back-off. */
#define DETACH_HINT_MS 300
#define DETACH_RETRY_MS 500
#define COMPLETE_TRIES 8 /* of that length, for an attach that is under way */
#define BUSY_MS 2000
#define TICK_MS 50
#define STOPS_TICK_MS 200

enum session_state { IDLE, ACTIVE, LEAVING };

static _Atomic int state OWN_KEPT = IDLE;
static _Atomic bool complete;
static bool beside; /* another profiler: for notifications only */
static void *info;
static pthread_t thread;
static int wake_fd = -1;
static struct channel_io io;
static uint64_t memory_bytes;
static uint32_t left; /* enum channel_left */
static struct lease lease;
/* The linker's: */
extern char __ehdr_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));

static struct channel_account account(void)
{
	struct resolver_counts r = resolver_counts();
	struct channel_sampling s = sampler_counts();
	struct pause_counts p = pause_watch_counts();
	struct gc_cost gc = gc_cost_counts();

	return (struct channel_account){
		.cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID),
		.taken = s.taken,
		.dropped = s.dropped,
		.resolved = r.resolved,
		.unresolved = r.unresolved,
		.functions = r.functions,
		.max_pause_ns = p.max_pause_ns, .max_wait_ns = p.max_wait_ns,
		.memory_bytes = memory_bytes,
		.pauses = p.count,
		.paused_ns = p.total_ns,
		.left = left | feeds_left(),
		.collections = gc.count,
		.collections_ns = gc.total_ns,
	};
}

static void send_account(uint16_t type)
{
	struct channel_account a = account();
	channel_put_account(channel_io_begin(&io, type), &a);
	channel_io_end(&io);
}

static void send_collections(void)
{
	struct channel_collection list[64];
	size_t count;

	while ((count = gc_watch_take(list, sizeof list / sizeof *list))) {
		struct wire_writer *w = channel_io_begin(&io, CHANNEL_COLLECTIONS);
		for (size_t i = 0; i < count; i++)
			channel_put_collection(w, &list[i]);
		channel_io_end(&io);
	}
}

static void send_pause(const struct channel_pause *p)
{
	channel_put_pause(channel_io_begin(&io, CHANNEL_PAUSE), p);
	channel_io_end(&io);
}

static void send_sampling(void)
{
	struct channel_sampling s = sampler_counts();
	channel_put_sampling(channel_io_begin(&io, CHANNEL_SAMPLING), &s);
	channel_io_end(&io);
}

static void answer_sample_start(const struct channel_frame *f)
{
	struct wire_reader r;
	const char *message = "malformed request";

	wire_reader_init(&r, f->payload, f->len);
	uint32_t hertz = wire_u32(&r);
	int error = r.bad ? EINVAL : sampler_start(info, hertz, &message);
	if (error)
		channel_io_refuse(&io, f->type, (uint32_t)error, message);
	else
		send_sampling();
}

enum served { SERVED_ON, SERVED_DETACH, SERVED_BAD };

static enum served serve_frame(const struct channel_frame *f)
{
	switch (f->type) {
	case CHANNEL_RESOLVE:
		return resolver_answer(info, f, &io) ? SERVED_ON : SERVED_BAD;
	case CHANNEL_CODE_ASK:
		return resolver_answer_code(info, f, &io) ? SERVED_ON : SERVED_BAD;
	case CHANNEL_IL_ASK:
		return resolver_answer_il(info, f, &io) ? SERVED_ON : SERVED_BAD;
	case CHANNEL_SAMPLE_START:
		answer_sample_start(f);
		return SERVED_ON;
	case CHANNEL_SAMPLE_STOP:
		sampler_stop();
		sampler_drain(&io);
		send_sampling();
		return SERVED_ON;
	case CHANNEL_STATS_REQUEST:
		send_collections();
		send_account(CHANNEL_STATS);
		return SERVED_ON;
	case CHANNEL_RENEW:
		return SERVED_ON;
	case CHANNEL_DETACH:
		return SERVED_DETACH;
	default:
		if (stop_log_answer(f, &io))
			return SERVED_ON;
		if (feeds_answers(f->type))
			return feeds_answer(info, f, &io) ? SERVED_ON : SERVED_BAD;
		if (heap_walk_answers(f->type))
			return heap_walk_answer(info, f, &io) ? SERVED_ON : SERVED_BAD;
		channel_io_refuse(&io, f->type, ENOSYS, "unknown request");
		return SERVED_ON;
	}
}

static enum served serve_all(void)
{
	struct channel_frame f;
	enum channel_next next;

	while ((next = channel_io_next(&io, &f)) == CHANNEL_FRAME) {
		enum served s = serve_frame(&f);
		if (s != SERVED_ON)
			return s;
	}
	return next == CHANNEL_BAD ? SERVED_BAD : SERVED_ON;
}

/* true: the session is over, whatever the agent wants, or whether it is still there. */
static bool session_over_budget(void)
{
	struct channel_pause p;

	if (!pause_watch_exceeded(&p))
		return false;
	send_pause(&p);
	return true;
}

static void forget_wake(void)
{
	uint64_t count;

	while (read(wake_fd, &count, sizeof count) < 0 && errno == EINTR)
		;
}

static void wake_session(void)
{
	uint64_t one = 1;

	while (write(wake_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

/* true: the agent lives or not, but it does not run: the session is over. What it has said while the process was stopped was not read yet. */
static bool agent_is_silent(void)
{
	struct pollfd said = {.fd = io.fd, .events = POLLIN};

	if (lease_left_ms(&lease, now_ns()) != 0)
		return false;
	lease_renew(&lease, now_ns());
	if (poll(&said, 1, 0) != 0)
		return false;
	channel_put_lapsed(channel_io_begin(&io, CHANNEL_LAPSED), lease.length_ms);
	channel_io_end(&io);
	wake_session(); /* what is still to be said waits for nobody */
	return true;
}

static int tick_ms(void)
{
	return sampler_running() ? TICK_MS : stop_log_running() ? STOPS_TICK_MS : feeds_tick_ms();
}

/* Until the next tick, or the lease's end. */
static int session_wait_ms(void)
{
	int tick = tick_ms(), lease_ms = lease_left_ms(&lease, now_ns());

	return lease_ms >= 0 && (tick < 0 || lease_ms < tick) ? lease_ms : tick;
}

/* Serves until the agent asks for the end, or is gone or silent, or a stop was too long. Requests wait until the runtime has finished the attach. */
static void serve_until_end(void)
{
	bool ready = false;

	for (;;) {
		struct pollfd p[] = {{.fd = io.fd, .events = ready ? POLLIN : 0}, {.fd = wake_fd, .events = POLLIN}};
		if (poll(p, 2, session_wait_ms()) < 0 && errno != EINTR)
			return;
		if (p[1].revents)
			forget_wake();
		if (session_over_budget() || agent_is_silent())
			return;
		if (!ready && atomic_load(&complete)) {
			ready = true;
			channel_io_begin(&io, CHANNEL_READY);
			channel_io_end(&io);
		} else if (p[0].revents & POLLIN) {
			if (!channel_io_fill(&io) || serve_all() != SERVED_ON || !channel_io_flush(&io)) /* answers do not wait for ticks */
				return;
			lease_renew(&lease, now_ns()); /* it may have waited for an answer that took long */
		} else if (p[0].revents) {
			return;
		}
		if (sampler_running()) {
			sampler_tick();
			sampler_drain(&io);
		}
		if (stop_log_running())
			stop_log_tick(&io);
		feeds_tick(&io);
		if (!channel_io_flush(&io))
			return;
	}
}

/* Where a main profiler has come and gone, the runtime counts one profiler for notifications less than it has: it does not find this one,
 * tells it of nothing, not even that its attach is complete, and would end the process when it is asked to detach it. */
static bool runtime_knows_us(void)
{
	for (int i = 0; beside && !atomic_load(&complete) && i < COMPLETE_TRIES; i++)
		poll(NULL, 0, DETACH_RETRY_MS);
	return !beside || atomic_load(&complete);
}

/* When the runtime has forgotten it. */
static bool stay_mapped(void)
{
	if (!(left & CHANNEL_LEFT_MAPPED) && own_file_keep())
		left |= CHANNEL_LEFT_MAPPED;
	return left & CHANNEL_LEFT_MAPPED;
}

/* Still mapped, and nothing else: no thread, no descriptor. */
static void stay_behind(const char *why)
{
	int fd = wake_fd;

	channel_io_refuse(&io, 0, (uint32_t)COR_E_FAIL, why);
	channel_io_flush(&io);
	channel_io_close(&io);
	pause_watch_reset(0, -1);
	own_file_unlock();
	wake_fd = -1;
	close(fd);
}

/* Nothing else can end a session, so this tries until the runtime agrees (it refuses while the attach is not complete). */
static void leave_runtime(void)
{
	hresult hr;

	sampler_stop();
	code_learn_end();
	bool may_go = sampler_settle() || stay_mapped();
	feeds_stop(info, &io);
	stop_log_end();
	if (!event_pipe_end(info))
		left |= CHANNEL_LEFT_EVENTS;
	if (!may_go || !runtime_knows_us()) {
		stay_behind(may_go ? "the runtime does not finish the attach, nor could it detach this library: it stays, without a thread"
				   : "a signal handler of others may call this library, which cannot be kept mapped otherwise: it stays, without a thread");
		return;
	}
	while ((hr = info_request_profiler_detach(info, DETACH_HINT_MS)) < 0) {
		channel_io_refuse(&io, CHANNEL_DETACH, (uint32_t)hr, "RequestProfilerDetach was refused");
		channel_io_flush(&io);
		poll(NULL, 0, DETACH_RETRY_MS);
	}
	atomic_store(&state, LEAVING);
	sampler_drain(&io);
	send_account(CHANNEL_DETACHING);
	channel_io_flush(&io);
}

static void *session_main(void *unused)
{
	(void)unused;
	own_thread_name();
	serve_until_end();
	leave_runtime();
	return NULL;
}

static bool say_hello(const struct channel_client_data *d, bool notification_only)
{
	struct channel_hello h = {
		.version = CHANNEL_VERSION,
		.flags = notification_only ? CHANNEL_NOTIFICATION_ONLY : 0,
		.inner_pid = (uint32_t)getpid(),
		.library_version = {DRDOTNET_VERSION, sizeof DRDOTNET_VERSION - 1},
	};

	memcpy(h.nonce, d->nonce, sizeof h.nonce);
	info_get_runtime_information(info, &h.runtime_major, &h.runtime_minor, &h.runtime_build);
	channel_put_hello(channel_io_begin(&io, CHANNEL_HELLO), &h);
	return channel_io_end(&io) && channel_io_flush(&io);
}

static hresult hr_of_errno(int error)
{
	return COR_HR(0x80070000u | (uint32_t)(error & 0xffff)); /* FACILITY_WIN32: the agent reads the errno back */
}

static uint16_t runtime_major(void)
{
	uint16_t major = 0, minor, build;

	info_get_runtime_information(info, &major, &minor, &build);
	return major;
}

static uint32_t event_mask(uint32_t features, bool notification_only)
{
	uint32_t mask = COR_MONITOR_JIT_COMPILATION | COR_MONITOR_MODULE_LOADS;

	/* what collections tell can be had later only when it was asked for now */
	if (features & (CHANNEL_WANT_GC_ROOTS | CHANNEL_WANT_HEAP))
		mask |= COR_ENABLE_STACK_SNAPSHOT;
	if (!notification_only && (features & CHANNEL_WANT_GC_ROOTS || (features & CHANNEL_WANT_HEAP && heap_walk_wants_gc(info))))
		mask |= COR_MONITOR_GC;
	if (features & CHANNEL_WANT_SUSPENDS)
		mask |= COR_MONITOR_SUSPENDS | COR_ENABLE_STACK_SNAPSHOT;
	return mask;
}

/* Own thread, which waits for the agent. */
static void hold_events(void)
{
	feeds_hold();
	stop_log_hold();
}

static hresult open_session(const struct channel_client_data *d, bool notification_only)
{
	int error = channel_io_connect(&io, d->path);

	if (error)
		return hr_of_errno(error);
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake_fd < 0)
		return hr_of_errno(errno);
	io.give_up_fd = wake_fd;
	io.stalled = hold_events;
	pause_watch_reset((uint64_t)d->pause_budget_us * 1000, wake_fd);
	lease_begin(&lease, d->lease_ms, now_ns());
	uint32_t mask = event_mask(d->features, notification_only);
	hresult hr = event_mask_reset(info, mask, COR_HIGH_BASIC_GC);
	if (hr < 0)
		return hr;
	heap_walk_reset(info, mask & COR_MONITOR_GC, !notification_only);
	if (!say_hello(d, notification_only))
		return hr_of_errno(EPIPE);
	error = own_thread_start(&thread, STACK_BYTES, session_main, NULL);
	return error ? hr_of_errno(error) : COR_S_OK;
}

static void close_session(void)
{
	pause_watch_reset(0, -1);
	channel_io_close(&io);
	heap_walk_close();
	if (wake_fd >= 0)
		close(wake_fd);
	wake_fd = -1;
	cor_release(info);
	info = NULL;
	gc_watch_reset();
	own_statics_release();
	atomic_store(&state, IDLE);
	own_file_unlock();
}

hresult session_attach(void *unknown, const void *client_data, uint32_t len, bool notification_only)
{
	struct channel_client_data d;
	int idle = IDLE;

	if (!client_data || !channel_get_client_data(client_data, len, &d))
		return COR_E_INVALIDARG;
	if (!atomic_compare_exchange_strong(&state, &idle, ACTIVE))
		return COR_PROF_E_PROFILER_ALREADY_ACTIVE;
	own_statics_renew();
	atomic_store(&complete, false);
	own_file_lock(d.path.data, d.path.len);
	beside = notification_only;
	io.fd = io.give_up_fd = io.passed_fd = -1;
	resolver_reset();
	code_learn_reset();
	dynamic_starts_reset();
	sampler_reset();
	feeds_reset();
	left = 0;
	memory_bytes = (uint64_t)(_end - __ehdr_start) + STACK_BYTES;
	hresult hr = cor_query(unknown, &cor_iid_info12, &info);
	stop_log_reset(info);
	module_guard_reset(hr >= 0 && runtime_major() == 8);
	if (hr >= 0)
		hr = open_session(&d, notification_only);
	if (hr < 0)
		close_session();
	return hr;
}

void session_attach_complete(void)
{
	atomic_store(&complete, true);
	wake_session();
}

void session_detached(void)
{
	if (atomic_load(&state) == IDLE)
		return;
	pthread_join(thread, NULL);
	/* A thread may be held in our code by the kernel: one whose stack has to be read from a disk that does not answer. */
	for (int ms = 0; pause_watch_busy() && (ms < BUSY_MS || !stay_mapped()); ms++)
		poll(NULL, 0, 1);
	wire_put_u32(channel_io_begin(&io, CHANNEL_DETACHED), left | feeds_left());
	channel_io_end(&io);
	channel_io_flush(&io);
	close_session();
}

bool session_idle(void)
{
	return atomic_load(&state) == IDLE;
}
