#include "agent/heap/heap_walk.h"

#include "agent/attached_session.h"
#include "agent/cgroup.h"
#include "agent/heap/heap_budget.h"
#include "agent/heap/heap_client.h"
#include "agent/heap/heap_counts.h"
#include "agent/heap/heap_drain.h"
#include "agent/heap/heap_label.h"
#include "agent/heap/heap_share.h"
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
static int64_t budget_for(int64_t us)
{
	return us / 1000 * 5 / 4 + 1;
}

static int too_large(int64_t us, int64_t budget_ms, uint64_t heap_bytes, struct err *e)
{
	return err_set_reason(e, ERR_INVALID, REASON_HeapTooLarge,
			      "a walk through this heap (%llu MB) would stop the application for about %lld ms, and the pause budget is %lld ms: "
			      "a pauseBudgetMilliseconds of %lld would do",
			      (unsigned long long)(heap_bytes >> 20), (long long)(us / 1000), (long long)budget_ms,
			      (long long)budget_for(us));
}

static int too_large_here(uint64_t objects, const struct heap_lack *lack, struct err *e)
{
	if (lack->limit_bytes)
		return err_set_reason(e, ERR_INVALID, REASON_HeapTooLargeForAgent,
				      "the graph of a heap of %llu objects does not fit what the agent's memory limit leaves: a limit of %lld Mi would do",
				      (unsigned long long)objects, (long long)(lack->limit_bytes >> 20) + 1);
	return err_set_reason(e, ERR_INVALID, REASON_HeapTooLargeForAgent,
			      "the graph of a heap of %llu objects needs %lld MB for files beside the reports, more than the disk and the agent's quota leave",
			      (unsigned long long)objects, (long long)(lack->file_bytes / 1000000) + 1);
}

static int choose(struct heap_choice *out, enum heap_way way, int64_t us, const char *why)
{
	*out = (struct heap_choice){.way = way, .why = why, .predicted_us = us};
	return 0;
}

/* Where objects may be counted alone: not on .NET 8, whose heap can only be walked in a collection, and not beside another profiler, where a
 * collection must come first. */
static bool may_count(const struct heap_prediction *p, const struct heap_walk_options *o)
{
	return o->types && o->roots == HEAP_ROOTS_AUTO && p->flags & HEAP_CAN_COLLECT && p->flags & HEAP_CAN_WALK;
}

/* `us`: the stop of the walk that shows holders; 0: it fits. */
static int choose_types(const struct heap_prediction *p, const struct heap_walk_options *o, int64_t us, const struct heap_lack *lack,
			struct heap_choice *out)
{
	int64_t types_us = (int64_t)p->types_us, budget_us = o->budget_ms * 1000;

	choose(out, HEAP_WAY_TYPES, o->budget_ms && types_us > budget_us ? budget_us : types_us,
	       o->types_only ? "asked for"
	       : us	     ? "the walk that shows holders would stop for longer than the pause budget"
			     : "the graph of the heap finds no room at the agent");
	out->needs = (struct heap_needs){
		.budget_ms = us ? budget_for(us) : 0,
		.limit_bytes = lack->limit_bytes,
		.file_bytes = lack->file_bytes,
	};
	return 0;
}

static struct heap_lack predicted_lack(const struct heap_prediction *p, const struct heap_walk_options *o, const struct heap_room *room)
{
	return heap_room_lack(room, heap_room_stream(p->objects), o->graph ? heap_room_graph(p->objects, 0) : 0);
}

/* The graph's ways. 1: none fits; *us: what the cheapest would stop for. */
static int choose_graph(const struct heap_prediction *p, enum heap_roots roots, int64_t budget_ms, int64_t *us, struct heap_choice *out)
{
	bool can_collect = p->flags & HEAP_CAN_COLLECT, can_walk = p->flags & HEAP_CAN_WALK;
	int64_t walk_us = (int64_t)p->walk_us, collection_us = (int64_t)(p->collection_us > p->walk_us ? p->collection_us : p->walk_us);
	int64_t budget_us = budget_ms ? budget_ms * 1000 : INT64_MAX;

	if (!can_collect && !(p->flags & HEAP_QUIET)) /* a collection comes first all the same, see profiler/heap_walk.c */
		walk_us = collection_us;
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
	*us = can_walk && roots != HEAP_ROOTS_EXACT ? walk_us : collection_us;
	return 1;
}

int heap_walk_choose(const struct heap_prediction *p, const struct heap_walk_options *o, const struct heap_room *room, struct heap_choice *out,
		     struct err *e)
{
	bool can_collect = p->flags & HEAP_CAN_COLLECT, can_walk = p->flags & HEAP_CAN_WALK;
	struct heap_lack lack = predicted_lack(p, o, room);
	int64_t us = 0;

	if (!can_collect && (o->roots == HEAP_ROOTS_EXACT || !can_walk))
		return err_set_reason(e, ERR_INVALID, REASON_ProfilerAlreadyActive,
				      can_walk ? "another profiler has the process's main slot: beside it roots can only be known without a collection"
					       : "another profiler has the process's main slot: beside it the heap of .NET 8 cannot be walked");
	int late = choose_graph(p, o->roots, o->budget_ms, &us, out);
	bool lacks = lack.limit_bytes || lack.file_bytes;
	if (!late && !lacks && !o->types_only)
		return 0;
	if (may_count(p, o))
		return choose_types(p, o, us, &lack, out);
	return late ? too_large(us, o->budget_ms, p->heap_bytes, e) : too_large_here(p->objects, &lack, e);
}

void heap_walk_revise(struct heap_prediction *p, uint64_t objects)
{
	if (!p->objects)
		return;
	double of_before = (double)objects / (double)p->objects;

	p->walk_us = (uint64_t)((double)p->walk_us * of_before);
	p->collection_us = (uint64_t)((double)p->collection_us * of_before);
	p->types_us = (uint64_t)((double)p->types_us * of_before);
	p->objects = objects;
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
	struct heap_room room;
	struct heap_choice choice;
	bool may_count; /* where the graph's ways come to nothing */
	struct heap_walk_request request;
	struct heap_walked walked;
	unsigned tries;
};

static int64_t until_ms(const struct walk *k, int64_t patience_ms)
{
	int64_t until = clock_mono_ms() + patience_ms;

	return k->o->deadline_ms && k->o->deadline_ms < until ? k->o->deadline_ms : until;
}

/* A part was counted within the budget: what all of it would take. */
static int64_t whole_budget_ms(const struct walk *k)
{
	int64_t predicted_ms = budget_for((int64_t)k->prediction.types_us), least_ms = k->o->budget_ms * 2;

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

/* Whatever was walked until then: the library leaves, and nobody will name it. */
static int whether_in_budget(const struct walk *k, struct err *e)
{
	struct channel_pause p;

	if (!profiler_channel_pause(k->client.channel, &p))
		return 0;
	return err_set_reason(e, ERR_GONE, REASON_PauseBudgetExceeded, "a stop took longer than the session allows: the library left");
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
			   (o->strings && o->reveal ? HEAP_WALK_REVEAL : 0u);
}

/* The graph's ways have come to nothing. */
static bool count_instead(struct walk *k, bool late)
{
	const struct heap_lack enough = {0};

	if (!k->may_count || k->choice.way == HEAP_WAY_TYPES)
		return false;
	choose_types(&k->prediction, k->o, 0, &enough, &k->choice);
	k->choice.why = late ? "the walk that shows holders took longer than predicted" : "the application's own collections came between each time";
	k->choice.needs.budget_ms = late ? k->o->budget_ms * 2 : 0;
	return true;
}

static bool try_again(struct walk *k)
{
	bool late = k->walked.status == HEAP_WALKED_LATE, moved = k->walked.status == HEAP_WALKED_MOVED;

	if (!late && !moved)
		return false;
	bool again = k->tries < TRIES && heap_walk_give_way(&k->prediction, k->o->roots, k->o->budget_ms, k->tries, late, &k->choice);
	if (!again && (late || k->tries >= TRIES))
		again = count_instead(k, late);
	else
		again = true;
	set_flags(k);
	return again;
}

static bool walked(const struct walk *k)
{
	return k->walked.status == HEAP_WALKED_WHOLE || (k->walked.status == HEAP_WALKED_PART && !k->o->types_whole);
}

static void begin_stream(const struct walk *k, struct heap_store *store)
{
	size_t memory = heap_budget(HEAP_SNAPSHOT_MEMORY, HEAP_BUDGET_STREAM);
	int64_t files = k->room.file_bytes;

	heap_store_fini(store);
	heap_store_init(store, k->o->dirfd, memory, files < (int64_t)STREAM_MAX ? memory + (size_t)files : STREAM_MAX);
	if (k->choice.way != HEAP_WAY_TYPES)
		heap_store_prefault(store, k->prediction.heap_bytes / BYTES_PER_STREAM_BYTE);
}

/* As often as a collection of somebody else comes between. */
static int try_all(struct walk *k, struct heap_store *store, struct err *e)
{
	k->tries = 0;
	do {
		begin_stream(k, store);
		if (one_try(k, store, e) < 0 || whether_in_budget(k, e) < 0)
			return -1;
	} while (try_again(k));
	return walked(k) ? heap_store_seal(store, e) : not_whole(k, e);
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
	f->part = k->walked.status == HEAP_WALKED_PART;
	f->whole_budget_ms = f->part ? whole_budget_ms(k) : 0;
	f->heap_most_bytes = f->part ? k->prediction.heap_bytes : 0;
	f->needs = k->choice.needs;
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
		return too_large_here(s->facts.objects, &lack, e);
	heap_counts_take(s);
	s->facts.why = "the graph of the heap finds no room at the agent";
	s->facts.needs = (struct heap_needs){.limit_bytes = lack.limit_bytes, .file_bytes = lack.file_bytes};
	return 0;
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
	if (r == 0)
		r = keep_what_fits(k, s, e);
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

/* A look at a part of a heap may take it for larger than it is: when all objects are counted, and are so few that the graph fits after all,
 * it is walked after all. What was counted stands where that comes to nothing. */
static void walk_after_all(struct walk *k, struct heap_snapshot **out)
{
	struct heap_snapshot *graph = NULL;
	struct err e = ERR_INIT;

	if (k->choice.way != HEAP_WAY_TYPES || !(*out)->counts || (*out)->facts.part || k->tries > 1)
		return;
	heap_walk_revise(&k->prediction, (*out)->facts.objects);
	if (heap_walk_choose(&k->prediction, k->o, &k->room, &k->choice, NULL) < 0 || k->choice.way == HEAP_WAY_TYPES)
		return;
	k->may_count = false;
	set_flags(k);
	if (walk(k, &graph, &e) < 0)
		return;
	heap_snapshot_free(*out);
	*out = graph;
}

static int64_t cpu_limit_of(pid_t pid)
{
	struct cgroup_cpu cpu = {.limit_millicores = -1};

	if (pid > 0)
		cgroup_read_cpu("/proc", &(struct cgroup_owner){.pid = pid}, &cpu);
	return cpu.limit_millicores;
}

int heap_walk_on(struct profiler_channel *ch, const struct heap_walk_options *o, struct heap_snapshot **out, struct err *e)
{
	struct walk k = {.o = o};

	*out = NULL;
	k.drain = heap_drain_new(e);
	if (!k.drain)
		return -1;
	heap_room_look(&k.room, o->dirfd, o->files_max);
	heap_client_init(&k.client, ch);
	int r = heap_client_pass_ring(&k.client, heap_drain_fd(k.drain), until_ms(&k, ANSWER_MS), e);
	if (r == 0)
		r = heap_client_predict(&k.client, (uint64_t)o->budget_ms * 1000, &k.prediction, until_ms(&k, ANSWER_MS), e);
	heap_share_predict(&k.prediction, cpu_limit_of(o->pid));
	k.may_count = r == 0 && may_count(&k.prediction, o);
	if (r == 0)
		r = heap_walk_choose(&k.prediction, o, &k.room, &k.choice, e);
	if (r == 0)
		r = make_request(&k, e);
	if (r == 0)
		r = walk(&k, out, e);
	if (r == 0)
		walk_after_all(&k, out);
	heap_client_fini(&k.client);
	heap_drain_free(k.drain);
	return r;
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
	};

	return heap_walk_on(s->attach.channel, &o, out, e);
}
