#include "agent/heap/heap_walk.h"

#include "agent/session/attached_session.h"
#include "agent/heap/heap_budget.h"
#include "agent/heap/heap_choice.h"
#include "agent/heap/heap_client.h"
#include "agent/heap/heap_counts.h"
#include "agent/heap/heap_drain.h"
#include "agent/heap/heap_forecast.h"
#include "agent/heap/heap_gaps.h"
#include "agent/heap/heap_label.h"
#include "agent/heap/heap_snapshot_private.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/step.h"
#include "common/proto/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define TRIES 6
#define QUIET_TRIES 2                 /* between collections in the background: then the runtime is asked to do without for a moment */
#define STREAM_MAX ((size_t)64 << 30) /* of a walk; the disk is the smaller bound */
#define BYTES_PER_STREAM_BYTE 4       /* of the heap; small objects are told in some 8 bytes each */
#define BYTES_PER_VALUES_BYTE 7       /* the same where tasks are many: they and their values take 13 */
#define ANSWER_MS 20000               /* beyond the budget: a loaded machine, a suspension that waits */

/* The walk ----------------------------------------------------------------------------------------------------------------------- */
struct walk {
	const struct heap_walk_options *o;
	const struct heap_walk_host *host;
	bool inside; /* the library is attached */
	struct heap_client client;
	struct heap_drain *drain;
	struct heap_prediction prediction;
	struct heap_surroundings around;
	struct heap_choice choice;
	bool may_count; /* where the graph's ways come to nothing */
	struct heap_walk_request request;
	struct heap_walked walked;
	unsigned tries;
	bool late_once; /* and tried again */
};

static int64_t until_ms(const struct walk *k, int64_t patience_ms)
{
	int64_t until = clock_mono_ms() + patience_ms;

	return k->o->deadline_ms && k->o->deadline_ms < until ? k->o->deadline_ms : until;
}

static void leave_process(struct walk *k)
{
	if (!k->inside)
		return;
	heap_client_fini(&k->client);
	k->host->leave(k->host->ctx);
	k->inside = false;
}

static int enter_process(struct walk *k, uint32_t features, struct err *e)
{
	struct profiler_channel *ch;

	leave_process(k);
	if (k->host->attach(k->host->ctx, features, &ch, e) < 0)
		return -1;
	k->inside = true;
	heap_client_init(&k->client, ch);
	return heap_client_pass_ring(&k->client, heap_drain_fd(k->drain), until_ms(k, ANSWER_MS), e);
}

/* From here until the library has left the runtime collects nothing in the background. */
static int enter_to_collect(struct walk *k, struct err *e)
{
	if (k->prediction.flags & HEAP_COLLECTS)
		return 0;
	k->prediction.flags |= HEAP_COLLECTS;
	return enter_process(k, CHANNEL_WANT_GC_ROOTS, e);
}

/* A part was counted within the budget: what all of it would take. */
static int64_t whole_budget_ms(const struct walk *k)
{
	int64_t predicted_ms = heap_choice_budget((int64_t)k->prediction.types_us), least_ms = k->o->budget_ms * 2;

	return predicted_ms > least_ms ? predicted_ms : least_ms;
}

static int only_a_part(const struct walk *k, struct err *e)
{
	return err_set_reason(e, ERR_INVALID, REASON_HeapTooLarge,
			      "not even the objects by type could be counted within the pause budget of %lld ms: a pauseBudgetMilliseconds of %lld may do",
			      (long long)k->o->budget_ms, (long long)whole_budget_ms(k));
}

static int not_whole(const struct walk *k, struct err *e)
{
	int64_t budget_ms = k->o->budget_ms;

	switch (k->walked.status) {
	case HEAP_WALKED_MOVED:
		return err_set_reason(e, ERR_RETRY, REASON_HeapWalkTorn, "a garbage collection came between in each of %u tries", k->tries);
	case HEAP_WALKED_PART:
		return only_a_part(k, e);
	case HEAP_WALKED_LATE:
		return err_set_reason(e, ERR_INVALID, REASON_HeapTooLarge,
				      "the walk was given up before its stop passed the pause budget of %lld ms: a pauseBudgetMilliseconds of %lld "
				      "may do",
				      (long long)budget_ms, (long long)budget_ms * 2);
	case HEAP_WALKED_REFUSED:
		return err_set_reason(e, ERR_INTERNAL, REASON_HeapWalkTorn, "the runtime refused the walk (0x%08x)", k->walked.code);
	default:
		return err_set_reason(e, ERR_PROTOCOL, REASON_HeapWalkTorn, "the walk was not written whole, or read too slowly (status %u)", k->walked.status);
	}
}

static int one_try(struct walk *k, struct heap_store *store, struct err *e)
{
	int64_t patience_ms = k->o->budget_ms * 2 + ANSWER_MS;
	struct err drained = ERR_INIT;

	k->tries++;
	if (heap_drain_start(k->drain, store, e) < 0)
		return -1;
	STEP("walk");
	int r = heap_client_walk(&k->client, &k->request, &k->walked, until_ms(k, patience_ms), e);
	STEP("walked");
	int d = heap_drain_finish(k->drain, &drained);
	if (r == 0 && d < 0) {
		err_set_reason(e, drained.kind, REASON_HeapWalkTorn, "%s", drained.message);
		return -1;
	}
	return r;
}

/* Whatever was walked until then: the library leaves, and nobody will name it. */
static int whether_in_budget(const struct walk *k, struct err *e)
{
	struct channel_pause p;

	if (!profiler_channel_pause(k->client.channel, &p))
		return 0;
	return err_set_reason(e, ERR_GONE, REASON_PauseBudgetExceeded, "a pause exceeded the pause budget: the profiler detached");
}

/* As the chosen way wants it. */
static void set_flags(struct walk *k)
{
	const struct heap_walk_options *o = k->o;

	if (k->choice.way == HEAP_WAY_TYPES) {
		k->request.flags = HEAP_WALK_TYPES;
		return;
	}
	k->request.flags = (k->choice.way == HEAP_WAY_EXACT ? HEAP_WALK_COLLECT : 0u) | (o->strings ? HEAP_WALK_STRINGS : 0u) |
			   (o->strings && o->reveal ? HEAP_WALK_REVEAL : 0u) | (o->values ? HEAP_WALK_VALUES : 0u);
}

/* The graph's ways have come to nothing. */
static bool count_instead(struct walk *k, bool late)
{
	const struct heap_lack enough = {0};

	if (!k->may_count || k->choice.way == HEAP_WAY_TYPES)
		return false;
	heap_choice_types(&k->prediction, k->o, 0, &enough, &k->choice);
	k->choice.why = late ? "the walk that shows holders took longer than predicted" : "the application's own collections came between each time";
	k->choice.needs.budget_ms = late ? k->o->budget_ms * 2 : 0;
	return true;
}

/* It was predicted to fit, and was not let run: the next time its CPU limit, or the machine, may let it. Not with a forced collection: its stop cannot be
 * given up. */
static bool once_more(struct walk *k)
{
	bool more = !k->late_once && k->tries < TRIES && k->prediction.flags & HEAP_CAN_WALK && k->choice.way != HEAP_WAY_EXACT;

	k->late_once = true;
	return more;
}

static bool try_again(struct walk *k)
{
	bool late = k->walked.status == HEAP_WALKED_LATE, moved = k->walked.status == HEAP_WALKED_MOVED;
	bool part = k->walked.status == HEAP_WALKED_PART && k->o->types_whole;

	if (!late && !moved && !part)
		return false;
	bool more = k->tries < TRIES;
	bool gives_way = more && heap_choice_give_way(&k->prediction, k->o->roots, k->o->budget_ms, k->tries, late, &k->choice);
	bool again = gives_way || (more && moved);
	if (!again)
		again = count_instead(k, late) || (!moved && once_more(k));
	set_flags(k);
	return again;
}

/* Where the application's own collections in the background leave no gap for a walk. */
static int find_quiet(struct walk *k, struct err *e)
{
	bool main = k->prediction.flags & HEAP_CAN_COLLECT;

	return main && k->choice.way != HEAP_WAY_EXACT && k->tries >= QUIET_TRIES ? enter_to_collect(k, e) : 0;
}

static bool walked(const struct walk *k)
{
	return k->walked.status == HEAP_WALKED_WHOLE || (k->walked.status == HEAP_WALKED_PART && !k->o->types_whole);
}

static void begin_stream(const struct walk *k, struct heap_store *store)
{
	size_t memory = heap_budget(HEAP_SNAPSHOT_MEMORY, HEAP_BUDGET_STREAM);
	int64_t files = k->around.room.file_bytes;

	heap_store_fini(store);
	heap_store_init(store, k->o->dirfd, memory, files < (int64_t)STREAM_MAX ? memory + (size_t)files : STREAM_MAX);
	if (k->choice.way != HEAP_WAY_TYPES)
		heap_store_prefault(store, k->prediction.heap_bytes / (k->o->values ? BYTES_PER_VALUES_BYTE : BYTES_PER_STREAM_BYTE));
}

/* As often as a collection of somebody else comes between. */
static int try_all(struct walk *k, struct heap_store *store, struct err *e)
{
	k->tries = 0;
	do {
		if (k->tries) /* what follows at once would be felt as one stop */
			heap_forecast_keep_apart();
		begin_stream(k, store);
		if (find_quiet(k, e) < 0 || one_try(k, store, e) < 0 || whether_in_budget(k, e) < 0)
			return -1;
	} while (try_again(k));
	if (!walked(k))
		return not_whole(k, e);
	if (k->o->settle)
		heap_store_settle(store, k->o->settle);
	return heap_store_seal(store, e);
}

static void fill_heap_facts(const struct walk *k, struct heap_snapshot *s, int64_t wall_ms)
{
	struct heap_facts *f = &s->facts;

	f->way = k->choice.way;
	f->why = k->choice.why;
	f->predicted_stop_us = k->choice.predicted_us;
	f->collection_stop_us = (int64_t)k->walked.collection_us;
	f->walk_stop_us = (int64_t)k->walked.walk_us;
	f->walk_cpu_us = (int64_t)k->walked.walk_cpu_us;
	f->paused_us = (int64_t)k->walked.felt_us;
	f->tries = k->tries;
	f->taken_wall_ms = wall_ms;
	f->part = k->walked.status == HEAP_WALKED_PART;
	f->whole_budget_ms = f->part ? whole_budget_ms(k) : 0;
	f->heap_most_bytes = f->part ? k->prediction.heap_bytes : 0;
	f->needs = k->choice.needs;
	f->roots_unread = heap_gaps_hide_roots(&k->walked, f->way);
	f->names_unread = heap_gaps_hide_names(&k->walked, f->way);
}

/* Now that the objects are counted: -1: their graph finds no room, and types alone will not do. */
static int keep_what_fits(struct walk *k, struct heap_snapshot *s, struct err *e)
{
	struct heap_room room;

	if (s->counts || !k->o->graph)
		return 0;
	heap_room_look(&room, k->o->dirfd, k->o->files_max);
	struct heap_lack lack = heap_room_lack(&room, 0, heap_room_graph(s->facts.objects, s->facts.edges));
	if (!lack.limit_bytes && !lack.file_bytes)
		return 0;
	if (!k->o->types || k->o->roots != HEAP_ROOTS_AUTO)
		return heap_choice_too_large_here(s->facts.objects, &lack, e);
	heap_counts_take(s);
	s->facts.why = "the heap graph does not fit into the agent's memory";
	s->facts.needs = (struct heap_needs){.limit_bytes = lack.limit_bytes, .file_bytes = lack.file_bytes};
	return 0;
}

static int walk_heap(struct walk *k, struct heap_snapshot **out, struct err *e)
{
	struct heap_store store;
	struct heap_scan scan = {0};

	heap_store_init(&store, -1, 0, 0);
	int64_t wall_ms = clock_wall_ms();
	int r = k->choice.way == HEAP_WAY_EXACT ? enter_to_collect(k, e) : 0;
	if (r == 0)
		r = try_all(k, &store, e);
	struct heap_snapshot *s = r < 0 ? NULL : heap_snapshot_scan_take(&store, k->o->strings, &scan, e);
	heap_store_fini(&store);
	if (!s)
		return -1;
	fill_heap_facts(k, s, wall_ms);
	r = heap_label_all(&k->client, s, &scan, until_ms(k, ANSWER_MS), e);
	heap_scan_fini(&scan);
	if (r == 0)
		r = keep_what_fits(k, s, e);
	if (r < 0) {
		heap_snapshot_free(s);
		return -1;
	}
	if (k->o->limits)
		heap_gaps_note(&k->walked, s->facts.way, k->o->limits);
	*out = s;
	return 0;
}

static int make_request(struct walk *k, struct err *e)
{
	const struct heap_walk_options *o = k->o;
	struct heap_walk_request *q = &k->request;

	set_flags(k);
	q->budget_us = (uint64_t)o->budget_ms * 1000 / 16 * 15; /* it ends its stop before the budget does */
	if (getrandom(q->seed, sizeof q->seed, 0) != (ssize_t)sizeof q->seed)
		return err_set_errno(e, errno, "cannot get random bytes");
	return 0;
}

/* A look at a part of a heap may take it for larger than it is: when all objects are counted, and are so few that the graph fits after all,
 * it is walked after all. What was counted stands where that comes to nothing. */
static void walk_after_all(struct walk *k, struct heap_snapshot **out)
{
	struct heap_snapshot *graph = NULL;
	struct err e = ERR_INIT;

	if (k->choice.way != HEAP_WAY_TYPES || !(*out)->counts || (*out)->facts.part || k->tries > 1)
		return;
	heap_choice_revise(&k->prediction, (*out)->facts.objects);
	if (heap_choice_make(&k->prediction, k->o, &k->around.room, &k->choice, NULL) < 0 || k->choice.way == HEAP_WAY_TYPES)
		return;
	k->may_count = false;
	set_flags(k);
	if (walk_heap(k, &graph, &e) < 0)
		return;
	heap_snapshot_free(*out);
	*out = graph;
}

static int forecast_walk(struct walk *k, struct err *e)
{
	return heap_forecast(&k->client, k->o, &k->around, until_ms(k, ANSWER_MS), &k->prediction, e);
}

/* Where a collection in the background went on and on, no look was possible: again, with the runtime doing without. */
static int predict(struct walk *k, struct err *e)
{
	const uint32_t could = HEAP_CAN_COLLECT | HEAP_CAN_WALK;

	if (enter_process(k, k->o->roots == HEAP_ROOTS_EXACT ? CHANNEL_WANT_GC_ROOTS : CHANNEL_WANT_HEAP, e) < 0 || forecast_walk(k, e) < 0)
		return -1;
	if ((k->prediction.flags & (could | HEAP_COLLECTS | HEAP_QUIET)) != could)
		return 0;
	return enter_to_collect(k, e) < 0 ? -1 : forecast_walk(k, e);
}

int heap_walk_on(const struct heap_walk_host *host, const struct heap_walk_options *o, struct heap_snapshot **out, struct err *e)
{
	struct walk k = {.o = o, .host = host};

	*out = NULL;
	k.drain = heap_drain_new(e);
	if (!k.drain)
		return -1;
	k.around.share = heap_forecast_share(o->pid);
	heap_room_look(&k.around.room, o->dirfd, o->files_max);
	int r = predict(&k, e);
	k.may_count = r == 0 && heap_choice_may_count(&k.prediction, o);
	if (r == 0)
		r = heap_choice_make(&k.prediction, o, &k.around.room, &k.choice, e);
	if (r == 0)
		r = make_request(&k, e);
	if (r == 0)
		r = walk_heap(&k, out, e);
	if (r == 0)
		walk_after_all(&k, out);
	leave_process(&k);
	heap_drain_free(k.drain);
	return r;
}

/* On a session's process ------------------------------------------------------------------------------------------------------------ */
static int visit(void *ctx, uint32_t features, struct profiler_channel **ch, struct err *e)
{
	struct attached_session *s = ctx;

	if (attached_session_attach(s, features, e) < 0)
		return -1;
	*ch = s->attach.channel;
	return 0;
}

static void end_visit(void *ctx)
{
	attached_session_detach(ctx);
}

/* Without a collection, handles and statics are read from the runtime's own tables. */
static void note_engines(const struct engine_support *engines, struct heap_facts *f)
{
	if (f->way != HEAP_WAY_NO_COLLECTION)
		return;
	f->engines = engines;
	f->roots_unread |= engine_lacks(engines, ENGINE_HANDLES) || engine_lacks(engines, ENGINE_STATICS);
}

int heap_walk_visit(struct attached_session *s, const struct heap_walk_options *o, struct heap_snapshot **out, struct err *e)
{
	const struct heap_walk_host host = {visit, end_visit, s};

	if (heap_walk_on(&host, o, out, e) < 0)
		return -1;
	note_engines(&s->facts.engines, &(*out)->facts);
	return 0;
}

int heap_walk_run(struct attached_session *s, bool types_whole, struct heap_snapshot **out, struct err *e)
{
	const struct session_spec *spec = s->q->spec;
	const struct heap_walk_options o = {
		.roots = spec->roots,
		.graph = true,
		.types = true,
		.types_whole = types_whole,
		.budget_ms = spec->pause_budget_ms,
		.dirfd = s->q->out_dirfd,
		.files_max = s->q->files_max,
		.deadline_ms = s->q->deadline_ms,
		.pid = s->q->target->pid,
		.limits = &s->facts.limits,
	};

	return heap_walk_visit(s, &o, out, e);
}
