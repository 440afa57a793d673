/* For the profilers while a session collects: what they may ask of the library, and when. The session's thread. */
#ifndef DRDOTNET_ATTACHED_COLLECT_H
#define DRDOTNET_ATTACHED_COLLECT_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attached_session;

/* All is collected before its time. */
void attached_session_done(struct attached_session *s);

/* Whether the library can be asked something: one that cannot run is asked nothing, it would cost the answer's time limit. */
bool attached_session_may_ask(const struct attached_session *s);
int64_t attached_session_answer_until_ms(const struct attached_session *s); /* monotonic */

/* A request failed: said in the log, and the session ends where the channel is broken. */
void attached_session_no_answer(struct attached_session *s, const char *what, const struct err *e);

/* Takes what the library has said, also one that has ended meanwhile or that cannot run now, by the profiler's serve(). -1: the channel is broken. */
int attached_session_take_rest(struct attached_session *s, struct err *e);

/* So many samples have come so far, for the progress. */
void attached_session_count(struct attached_session *s, uint64_t samples);

/* A frame_resolve_fn: names for instruction pointers; -1: none to be had now. `ctx` is the session. */
struct resolved_function;
int attached_session_resolve(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out);

/* A code_bodies_ask_fn: where the code begins that the pointers lie in; -1: not to be had now. `ctx` is the session. */
struct channel_code_body;
int attached_session_ask_code(void *ctx, const uint64_t *ips, size_t count, struct channel_code_body *out);

/* A frame_il_fn: which IL the pointers' code was made from; -1: not to be had now. `ctx` is the session. */
int attached_session_ask_il(void *ctx, const uint64_t *ips, size_t count, uint32_t *out);

/* Asks for the garbage collections so far, as profiler_channel_collections() gives them; -1: not to be had now. */
struct channel_collection;
int attached_session_collections(struct attached_session *s, const struct channel_collection **out, size_t *count);

#endif
