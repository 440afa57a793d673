/* Where collections came too often for all of them to be asked why and for whom, those that were stand for the others of their like: of the
 * same generation, in the background or not, asked for by code or not, which is known of all. Pure; one thread. */
#ifndef DRDOTNET_PAUSE_SAMPLE_H
#define DRDOTNET_PAUSE_SAMPLE_H

#include "agent/profilers/pauses/pause_capture.h"

struct pause_weight { /* of one that was looked at: as one, by how many pauses and how many times its length it counts; 0: none of its like was */
	double count, time;
};

struct pause_sample {
	size_t collections, looked; /* pauses for collections; of these, those that are not brief */
	struct pause_weight weight[3][2][2]; /* by generation; [1]: background; [1]: induced */
};

/* What the estimates add up to: by cause, or by who asked. */
struct pause_tally {
	double count, time_ns, by_generation[3];
	size_t looked; /* pauses that it is made of */
	int64_t longest_ns;
};

void pause_sample_make(const struct pause_capture *c, struct pause_sample *out);
/* Adds a pause, for all that it stands for. A brief one stands for none, unless none of its like was looked at: then for itself. */
void pause_sample_add(const struct pause_sample *s, const struct pause *p, const struct pause_kind *k, struct pause_tally *t);

#endif
