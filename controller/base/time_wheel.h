/* What is due when, for thousands of entries of which each is put off again and again: a wheel of slots (Varghese and Lauck, "Hashed and
 * Hierarchical Timing Wheels", 1987), so that a tick costs what is due in it, not what there is. One thread. */
#ifndef DRDOTNET_TIME_WHEEL_H
#define DRDOTNET_TIME_WHEEL_H

#include <stdint.h>

#define TIME_WHEEL_SLOTS 128

/* Embedded in what waits; zeroed before its first use. */
struct time_wheel_entry {
	struct time_wheel_entry *prev, *next;
	struct time_wheel_entry **slot; /* NULL: in no wheel */
};

struct time_wheel {
	int64_t tick_ms, tick; /* length of one; the last that has been turned to */
	struct time_wheel_entry *slots[TIME_WHEEL_SLOTS], *due;
};

/* Clock: any that only goes on, in milliseconds. */
void time_wheel_init(struct time_wheel *w, int64_t tick_ms, int64_t now_ms);

/* Due at that time, rounded up to a tick: at the next one at the earliest, after TIME_WHEEL_SLOTS - 1 ticks at the latest (then look again).
 * The wheel borrows the entry, which must be in none. */
void time_wheel_add(struct time_wheel *w, struct time_wheel_entry *e, int64_t at_ms);

/* When the first of its entries is due, as far as they were added; INT64_MAX: it has none. */
int64_t time_wheel_next_ms(const struct time_wheel *w);

/* Does nothing with an entry that is in no wheel. */
void time_wheel_remove(struct time_wheel_entry *e);

/* Turns the wheel, and takes out one entry that is due; NULL: none is. */
struct time_wheel_entry *time_wheel_take(struct time_wheel *w, int64_t now_ms);

#endif
