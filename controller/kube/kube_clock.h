/* The API server's clock, as far as the Date of its answers tells it. Deadlines, times to live and tokens count from times
 * that this clock has written, so they are judged by it: a controller on a node whose clock is wrong, or is set under way, ends
 * no session early and keeps none for ever. Between answers it goes on with our monotonic clock. Any thread. */
#ifndef DRDOTNET_KUBE_CLOCK_H
#define DRDOTNET_KUBE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* What is known: wall time = monotonic time + offset_ms. */
struct kube_clock {
	bool known;
	int64_t offset_ms;
};

/* One answer: its Date (cut to seconds), and when its request was begun and it came by the monotonic clock. The offset moves no
 * further than the answer demands; our own clock is kept where it agrees. An answer that took long tells little and is left out. Pure. */
void kube_clock_step(struct kube_clock *c, int64_t date_wall_ms, int64_t begun_mono_ms, int64_t now_mono_ms, int64_t now_wall_ms);

/* The same for this process's one clock. */
void kube_clock_note(int64_t date_wall_ms, int64_t begun_mono_ms);

/* Milliseconds since 1970; our own clock's until the first answer. */
int64_t kube_clock_wall_ms(void);

#endif
