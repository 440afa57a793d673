/* Compares finished sessions with their baselines (spec.baselineSession): reads both report.json files from their stores and says what changed
 * (common/report/report_diff.h). In a thread of its own, one after the other, because reading takes as long as the store does; whoever asks does
 * not wait. Reports beyond COMPARISONS_REPORT_MAX_BYTES are not compared: they would take the controller's memory.
 *
 * comparisons_get() may be called by any thread. */
#ifndef DRDOTNET_COMPARISONS_H
#define DRDOTNET_COMPARISONS_H

#include "controller/kube/kube_config.h"
#include "controller/store/object_store.h"
#include "controller/sessions/session_object.h"

#define COMPARISONS_REPORT_MAX_BYTES (8 << 20)
#define COMPARISONS_PATIENCE_MS 60000 /* how long a session's end waits for it */
#define COMPARISONS_MOST 64           /* asked for, or done a short while ago */

struct comparisons;

struct comparisons_options {
	const struct kube_config *kube;     /* outlives it, like the stores */
	const struct object_stores *stores; /* NULL: none */
	void (*done)(void *ctx, const char *key); /* a session's comparison can be had; called by its thread */
	void *done_ctx;
};
struct comparisons *comparisons_start(const struct comparisons_options *o, struct err *e);
/* What is under way ends soon; nothing is begun any more. free joins the thread. Both take NULL. */
void comparisons_stop(struct comparisons *c);
void comparisons_free(struct comparisons *c);

/* What changed since the baseline of `s`, which has ended, or why that cannot be said; the first line stands alone. A new string, the same for
 * some minutes; NULL: it is being made, `done` will tell. */
char *comparisons_get(struct comparisons *c, const struct profiling_session *s, int64_t now_mono_ms);

#endif
