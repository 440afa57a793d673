/* Context: CLR callback (put) and own thread. */
#include "profiler/requests/await_events.h"

#include "common/proto/channel_requests.h"
#include "profiler/clr/event_pipe.h"

#include <stdatomic.h>
#include <string.h>

#define SLOTS 16u /* threads hand over a buffer when it is full, or about once a second */
#define LEVEL_CRITICAL 1
#define COUNT_AT 17u /* of records, in a buffer's head */

enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_FULL };

static struct slot {
	_Atomic uint32_t state;
	uint32_t len;
	uint8_t data[CHANNEL_AWAITS_MOST];
} slots[SLOTS];
static _Atomic uint64_t dropped;
static _Atomic bool any;

/* At a level of which it has no events. */
static const wchar16 name[] = AWAIT_EVENTS_NAME;
static const struct cor_event_provider nothing = {name, AWAIT_EVENTS_KEYWORDS, LEVEL_CRITICAL, NULL};

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

static struct slot *take_slot(void)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		uint32_t expected = SLOT_FREE;
		if (atomic_compare_exchange_strong_explicit(&slots[i].state, &expected, SLOT_TAKEN, memory_order_acquire, memory_order_relaxed))
			return &slots[i];
	}
	return NULL;
}

uint32_t await_events_put(const uint8_t *data, size_t len)
{
	uint32_t bytes = 0, records;

	if (len >= sizeof bytes)
		memcpy(&bytes, data, sizeof bytes);
	if (bytes < COUNT_AT + sizeof records || bytes > len - sizeof bytes)
		return 0;
	struct slot *s = bytes <= CHANNEL_AWAITS_MOST ? take_slot() : NULL;
	if (s) {
		memcpy(s->data, data + sizeof bytes, bytes);
		s->len = bytes;
		atomic_store_explicit(&s->state, SLOT_FULL, memory_order_release);
	} else {
		atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
	}
	atomic_store_explicit(&any, true, memory_order_relaxed);
	memcpy(&records, data + sizeof bytes + COUNT_AT, sizeof records);
	return (records < bytes ? records : bytes) / AWAIT_EVENTS_RECORDS_PER_SWITCH;
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */

void await_events_reset(void)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		uint32_t expected = SLOT_FULL;
		atomic_compare_exchange_strong(&slots[i].state, &expected, SLOT_FREE);
	}
	atomic_store(&dropped, 0);
	atomic_store(&any, false);
}

void await_events_nudge(void *info)
{
	if (atomic_load(&any) && event_pipe_hold(info, &nothing, 1) >= 0)
		event_pipe_release(info);
}

void await_events_send(struct channel_io *io)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		if (atomic_load_explicit(&slots[i].state, memory_order_acquire) != SLOT_FULL)
			continue;
		wire_put_bytes(channel_io_begin(io, CHANNEL_REQUESTS_AWAITS), slots[i].data, slots[i].len);
		channel_io_end(io);
		atomic_store_explicit(&slots[i].state, SLOT_FREE, memory_order_release);
	}
}

uint64_t await_events_dropped(void)
{
	return atomic_load(&dropped);
}
