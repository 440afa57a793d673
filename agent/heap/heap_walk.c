#include "agent/heap/heap_walk.h"

#include "agent/attached_session.h"
#include "agent/heap/heap_budget.h"
#include "agent/heap/heap_client.h"
#include "agent/heap/heap_drain.h"
#include "agent/heap/heap_label.h"
#include "agent/heap/heap_snapshot_private.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/step.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define TRIES 6
#define EXACT_TRIES 2                 /* each is a full collection: where another way is open it is taken then */
#define STREAM_MAX ((size_t)64 << 30) /* of a walk; the disk is the smaller bound */
#define BYTES_PER_STREAM_BYTE 4       /* of the heap; small objects are told in some 8 bytes each */
#define ANSWER_MS 20000               /* beyond the budget: a loaded machine, a suspension that waits */

/* The way ------------------------------------------------------------------------------------------------------------------------ */
static int too_large(int64_t us, int64_t budget_ms, uint64_t heap_bytes, struct err *e)
{
	return err_set_reason(e, ERR_INVALID, REASON_HeapTooLarge,
			      "a walk through this heap (%llu MB) would stop the application for about %lld ms, and the pause budget is %lld ms: "
			      "a pauseBudgetMilliseconds of %lld would do",
			      (unsigned long long)(heap_bytes >> 20), (long long)(us / 1000), (long long)budget_ms,
			      (long long)(us / 1000 * 5 / 4 + 1));
}

static int choose(struct heap_choice *out, enum heap_way way, int64_t us, const char *why)
{
	*out = (struct heap_choice){way, why, us};
	return 0;
}

int heap_walk_choose(const struct heap_prediction *p, enum heap_roots roots, int64_t budget_ms, struct heap_choice *out, struct err *e)
{
	bool can_collect = p->flags & HEAP_CAN_COLLECT, can_walk = p->flags & HEAP_CAN_WALK;
	int64_t walk_us = (int64_t)p->walk_us, collection_us = (int64_t)(p->collection_us > p->walk_us ? p->collection_us : p->walk_us);
	int64_t budget_us = budget_ms ? budget_ms * 1000 : INT64_MAX;

	if (!can_collect) /* a collection comes first all the same, see profiler/heap_walk.c */
		walk_us = collection_us;
	if (!can_collect && (roots == HEAP_ROOTS_EXACT || !can_walk))
		return err_set_reason(e, ERR_INVALID, REASON_ProfilerAlreadyActive,
				      can_walk ? "another profiler has the process's main slot: beside it roots can only be known without a collection"
					       : "another profiler has the process's main slot: beside it the heap of .NET 8 cannot be walked");
	if (can_collect && (roots != HEAP_ROOTS_NO_COLLECTION || !can_walk) && collection_us <= budget_us)
		return choose(out, HEAP_WAY_EXACT, collection_us,
			      roots == HEAP_ROOTS_EXACT ? "asked for"
			      : can_walk		? "its predicted stop fits the pause budget"
							: "the heap of .NET 8 can only be walked in a collection");
	if (can_walk && roots != HEAP_ROOTS_EXACT && walk_us <= budget_us)
		return choose(out, HEAP_WAY_NO_COLLECTION, walk_us,
			      roots == HEAP_ROOTS_NO_COLLECTION ? "asked for"
			      : can_collect			? "a forced collection would stop for longer than the pause budget"
								: "another profiler has the process's main slot");
	return too_large(can_walk && roots != HEAP_ROOTS_EXACT ? walk_us : collection_us, budget_ms, p->heap_bytes, e);
}

bool heap_walk_give_way(const struct heap_prediction *p, enum heap_roots roots, int64_t budget_ms, unsigned tries, bool late,
			struct heap_choice *choice)
{
	bool fits = !budget_ms || (int64_t)p->walk_us <= budget_ms * 1000;

	if (roots != HEAP_ROOTS_AUTO || choice->way != HEAP_WAY_EXACT || !(p->flags & HEAP_CAN_WALK) || !fits)
		return false;
	if (!late && tries < EXACT_TRIES)
		return false;
	choose(choice, HEAP_WAY_NO_COLLECTION, (int64_t)p->walk_us,
	       late ? "the forced collection took longer than predicted" : "the application's own collections came between each time");
	return true;
}

/* The walk ----------------------------------------------------------------------------------------------------------------------- */
struct walk {
	const struct heap_walk_options *o;
	struct heap_client client;
	struct heap_drain *drain;
	struct heap_prediction prediction;
	struct heap_choice choice;
	struct heap_walk_request request;
	struct heap_walked walked;
	unsigned tries;
};

static int64_t until_ms(const struct walk *k, int64_t patience_ms)
{
	int64_t until = clock_mono_ms() + patience_ms;

	return k->o->deadline_ms && k->o->deadline_ms < until ? k->o->deadline_ms : until;
}

static int not_whole(const struct walk *k, struct err *e)
{
	int64_t budget_ms = k->o->budget_ms;

	switch (k->walked.status) {
	case HEAP_WALKED_MOVED:
		return err_set_reason(e, ERR_RETRY, REASON_HeapWalkTorn, "a garbage collection came between in each of %u tries", k->tries);
	case HEAP_WALKED_LATE:
		return err_set_reason(e, ERR_INVALID, REASON_HeapTooLarge,
				      "the walk was given up before its stop passed the pause budget of %lld ms: a pauseBudgetMilliseconds of %lld "
				      "may do",
				      (long long)budget_ms, (long long)budget_ms * 2);
	case HEAP_WALKED_REFUSED:
		return err_set_reason(e, ERR_INTERNAL, REASON_HeapWalkTorn, "the runtime refused the walk (0x%08x)", k->walked.code);
	default:
		return err_set_reason(e, ERR_PROTOCOL, REASON_HeapWalkTorn, "the library could not write all of the walk (status %u)",
				      k->walked.status);
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

/* As the chosen way wants it. */
static void set_flags(struct walk *k)
{
	const struct heap_walk_options *o = k->o;

	k->request.flags = (k->choice.way == HEAP_WAY_EXACT ? HEAP_WALK_COLLECT : 0u) | (o->strings ? HEAP_WALK_STRINGS : 0u) |
			   (o->strings && o->reveal ? HEAP_WALK_REVEAL : 0u);
}

static bool try_again(struct walk *k)
{
	bool late = k->walked.status == HEAP_WALKED_LATE;

	if ((!late && k->walked.status != HEAP_WALKED_MOVED) || k->tries >= TRIES)
		return false;
	bool other_way = heap_walk_give_way(&k->prediction, k->o->roots, k->o->budget_ms, k->tries, late, &k->choice);
	set_flags(k);
	return other_way || !late;
}

/* As often as a collection of somebody else comes between. */
static int try_all(struct walk *k, struct heap_store *store, struct err *e)
{
	do {
		heap_store_fini(store);
		heap_store_init(store, k->o->dirfd, heap_budget(HEAP_SNAPSHOT_MEMORY, HEAP_BUDGET_STREAM), STREAM_MAX);
		heap_store_prefault(store, k->prediction.heap_bytes / BYTES_PER_STREAM_BYTE);
		if (one_try(k, store, e) < 0)
			return -1;
	} while (try_again(k));
	return k->walked.status == HEAP_WALKED_WHOLE ? heap_store_seal(store, e) : not_whole(k, e);
}

static void fill_facts(const struct walk *k, struct heap_snapshot *s, int64_t wall_ms)
{
	struct heap_facts *f = &s->facts;

	f->way = k->choice.way;
	f->why = k->choice.why;
	f->predicted_stop_us = k->choice.predicted_us;
	f->collection_stop_us = (int64_t)k->walked.collection_us;
	f->walk_stop_us = (int64_t)k->walked.walk_us;
	f->tries = k->tries;
	f->taken_wall_ms = wall_ms;
}

static int walk(struct walk *k, struct heap_snapshot **out, struct err *e)
{
	struct heap_store store;
	struct heap_scan scan = {0};

	heap_store_init(&store, -1, 0, 0);
	int64_t wall_ms = clock_wall_ms();
	int r = try_all(k, &store, e);
	struct heap_snapshot *s = r < 0 ? NULL : heap_snapshot_scan_take(&store, k->o->strings, &scan, e);
	heap_store_fini(&store);
	if (!s)
		return -1;
	fill_facts(k, s, wall_ms);
	r = heap_label_all(&k->client, s, &scan, until_ms(k, ANSWER_MS), e);
	heap_scan_fini(&scan);
	if (r < 0)
		heap_snapshot_free(s);
	else
		*out = s;
	return r;
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

int heap_walk_on(struct profiler_channel *ch, const struct heap_walk_options *o, struct heap_snapshot **out, struct err *e)
{
	struct walk k = {.o = o};

	*out = NULL;
	k.drain = heap_drain_new(e);
	if (!k.drain)
		return -1;
	heap_client_init(&k.client, ch);
	int r = heap_client_pass_ring(&k.client, heap_drain_fd(k.drain), until_ms(&k, ANSWER_MS), e);
	if (r == 0)
		r = heap_client_predict(&k.client, (uint64_t)o->budget_ms * 1000, &k.prediction, until_ms(&k, ANSWER_MS), e);
	if (r == 0)
		r = heap_walk_choose(&k.prediction, o->roots, o->budget_ms, &k.choice, e);
	if (r == 0)
		r = make_request(&k, e);
	if (r == 0)
		r = walk(&k, out, e);
	heap_client_fini(&k.client);
	heap_drain_free(k.drain);
	return r;
}

int heap_walk_run(struct attached_session *s, bool strings, struct heap_snapshot **out, struct err *e)
{
	const struct session_spec *spec = s->q->spec;
	const struct heap_walk_options o = {
		.roots = spec->roots,
		.strings = strings,
		.reveal = strings && spec->reveal,
		.budget_ms = spec->pause_budget_ms,
		.dirfd = s->q->out_dirfd,
		.deadline_ms = s->q->deadline_ms,
	};

	return heap_walk_on(s->attach.channel, &o, out, e);
}
