#include "controller/base/time_wheel.h"

#include <string.h>
#include <utlist.h>

void time_wheel_init(struct time_wheel *w, int64_t tick_ms, int64_t now_ms)
{
	*w = (struct time_wheel){.tick_ms = tick_ms, .tick = now_ms / tick_ms};
}

static void append_to_slot(struct time_wheel_entry **slot, struct time_wheel_entry *e)
{
	e->slot = slot;
	DL_APPEND(*slot, e);
}

void time_wheel_add(struct time_wheel *w, struct time_wheel_entry *e, int64_t at_ms)
{
	int64_t ticks = (at_ms + w->tick_ms - 1) / w->tick_ms - w->tick;
	if (ticks < 1)
		ticks = 1;
	if (ticks >= TIME_WHEEL_SLOTS)
		ticks = TIME_WHEEL_SLOTS - 1;
	append_to_slot(&w->slots[(w->tick + ticks) % TIME_WHEEL_SLOTS], e);
}

int64_t time_wheel_next_ms(const struct time_wheel *w)
{
	if (w->due)
		return w->tick * w->tick_ms;
	for (int64_t tick = w->tick + 1; tick <= w->tick + TIME_WHEEL_SLOTS; tick++) {
		if (w->slots[tick % TIME_WHEEL_SLOTS])
			return tick * w->tick_ms;
	}
	return INT64_MAX;
}

void time_wheel_remove(struct time_wheel_entry *e)
{
	if (!e->slot)
		return;
	DL_DELETE(*e->slot, e);
	e->slot = NULL;
}

static void turn_wheel(struct time_wheel *w, int64_t now_ms)
{
	int64_t to = now_ms / w->tick_ms;
	if (to - w->tick > TIME_WHEEL_SLOTS) /* the machine slept: everything is due after one round */
		w->tick = to - TIME_WHEEL_SLOTS;
	while (w->tick < to) {
		struct time_wheel_entry **slot = &w->slots[++w->tick % TIME_WHEEL_SLOTS], *e, *next;
		DL_FOREACH_SAFE(*slot, e, next) {
			time_wheel_remove(e);
			append_to_slot(&w->due, e);
		}
	}
}

struct time_wheel_entry *time_wheel_take(struct time_wheel *w, int64_t now_ms)
{
	turn_wheel(w, now_ms);
	struct time_wheel_entry *e = w->due;
	if (e)
		time_wheel_remove(e);
	return e;
}
