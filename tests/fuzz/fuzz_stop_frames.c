/* Frames about the runtime's stops, from a library that says anything. */
#include "agent/pauses/pause_frames.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right)
{
	if (!right)
		abort();
}

static void check_kept(const struct pause_frames *p)
{
	for (size_t i = 0; i < p->stop_count; i++) {
		const struct channel_stop *s = &p->stops[i];
		check(s->start_ns <= s->end_ns && s->end_ns <= INT64_MAX);
		check(!s->stopped_ns || (s->start_ns <= s->stopped_ns && s->stopped_ns <= s->end_ns));
		for (size_t k = 0; k < s->collection_count && k < CHANNEL_STOP_COLLECTIONS; k++)
			check(s->collections[k].generation <= 2);
	}
	for (size_t i = 0; i < p->stack_count; i++)
		check(p->stacks[i].depth <= CHANNEL_MAX_DEPTH);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pause_frames p = {0};
	struct channel_frame f;
	size_t used = 0;

	for (size_t at = 0; channel_next(data + at, size - at, &f, &used) == CHANNEL_FRAME; at += used) {
		struct err e = ERR_INIT;
		int r = pause_frames_add(&p, &f, &e);
		check((r < 0) == (e.kind == ERR_PROTOCOL));
	}
	check_kept(&p);
	pause_frames_fini(&p);
	return 0;
}
