/* walk_tool PID SOCKET_FOLDER DIAGNOSTICS_SOCKET LIBRARY ROOTS BUDGET_MS [strings] [main|beside] [types|types-only] [whole] [TIMES]: walks the heap of
 * a real process through the agent's own end of the channel, and prints what came of it as one line of JSON for each walk:
 *   facts, types {name: [count, bytes, module]}, roots {label: count}, edges {"Type.field -> Type": count} of the application's own types,
 *   dangling (references to no object), reachable objects, limits {name: [limit, seen, meaning]}, how long the library's stops and the agent's part were. */
#include "agent/attach/stage_sweep.h"
#include "agent/diag/diag_ipc.h"
#include "agent/diag/diag_socket.h"
#include "agent/heap/heap_counts.h"
#include "agent/heap/heap_walk.h"
#include "agent/report/limits.h"
#include "agent/attach/profiler_channel.h"
#include "agent/attach/stage.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/proto/channel.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 60000
#define OWN "Shop"

struct objects { /* by address */
	uint64_t *address, *end, *at; /* at: its place in the stream */
	uint32_t *type;
	bool *reached;
	size_t count;
};

static int64_t soon(void)
{
	return clock_mono_ms() + WAIT_MS;
}

static size_t find(const struct objects *o, uint64_t address)
{
	size_t low = 0, high = o->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (o->address[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < o->end[low - 1] ? low - 1 : SIZE_MAX;
}

struct object_key {
	uint64_t address, end;
	uint32_t type;
};

static int by_address(const void *a, const void *b)
{
	const struct object_key *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static void read_objects(const struct heap_snapshot *s, struct objects *o)
{
	struct object_key *keys = mem_calloc(s->facts.objects + 1, sizeof *keys);
	struct heap_cursor c;

	heap_snapshot_cursor(s, &c);
	for (; heap_snapshot_object(&c); o->count++)
		keys[o->count] = (struct object_key){c.object.address, c.object.address + c.object.size, c.object.type};
	qsort(keys, o->count, sizeof *keys, by_address);
	o->address = mem_calloc(o->count + 1, sizeof *o->address);
	o->end = mem_calloc(o->count + 1, sizeof *o->end);
	o->type = mem_calloc(o->count + 1, sizeof *o->type);
	o->reached = mem_calloc(o->count + 1, sizeof *o->reached);
	for (size_t i = 0; i < o->count; i++) {
		o->address[i] = keys[i].address;
		o->end[i] = keys[i].end;
		o->type[i] = keys[i].type;
	}
	free(keys);
}

static void count_up(json_t *o, const char *key, json_int_t n)
{
	json_object_set_new(o, key, json_integer(json_integer_value(json_object_get(o, key)) + n));
}

static bool own(const struct heap_type *t)
{
	return strncmp(t->name, OWN, strlen(OWN)) == 0;
}

/* Dense edges, for the reachability below. */
struct edges {
	uint32_t *from, *to;
	size_t count;
};

static json_t *read_edges(const struct heap_snapshot *s, const struct objects *o, struct edges *all, size_t *dangling)
{
	json_t *edges = json_object();
	struct heap_cursor c;
	uint64_t offset, target;

	all->from = mem_calloc(s->facts.edges + 1, sizeof *all->from);
	all->to = mem_calloc(s->facts.edges + 1, sizeof *all->to);
	heap_snapshot_cursor(s, &c);
	while (heap_snapshot_object(&c)) {
		const struct heap_type *from = &s->types[c.object.type];
		size_t at = find(o, c.object.address);
		while (heap_cursor_edge(&c, &offset, &target)) {
			size_t i = find(o, target);
			if (i == SIZE_MAX || o->address[i] != target) {
				++*dangling;
				continue;
			}
			all->from[all->count] = (uint32_t)at;
			all->to[all->count++] = (uint32_t)i;
			const struct heap_type *to = &s->types[o->type[i]];
			if (!own(from) && !own(to))
				continue;
			AUTO_FREE char *key = mem_printf("%s.%s -> %s", from->name, heap_type_field(from, offset), to->name);
			count_up(edges, key, 1);
		}
	}
	return edges;
}

static void reach(struct objects *o, uint64_t address)
{
	size_t i = find(o, address);

	if (i != SIZE_MAX)
		o->reached[i] = true;
}

/* By rounds over all edges, until nothing changes: slow and simple. */
static size_t reachable(const struct heap_snapshot *s, struct objects *o, const struct edges *all)
{
	size_t *first = mem_calloc(o->count + 2, sizeof *first), count = 0, top = 0;
	uint32_t *to = mem_calloc(all->count + 1, sizeof *to), *stack = mem_calloc(o->count + 1, sizeof *stack);
	bool *pushed = mem_calloc(o->count + 1, sizeof *pushed), more = true;

	for (size_t i = 0; i < all->count; i++)
		first[all->from[i] + 2]++;
	for (size_t i = 2; i < o->count + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < all->count; i++)
		to[first[all->from[i] + 1]++] = all->to[i];
	for (size_t i = 0; i < s->root_count; i++)
		if (s->roots[i].kind != HEAP_ROOT_DEPENDENT && !(s->roots[i].flags & HEAP_ROOT_WEAK))
			reach(o, s->roots[i].object);
	while (more) {
		more = false;
		for (size_t i = 0; i < o->count; i++)
			if (o->reached[i] && !pushed[i]) {
				pushed[i] = true;
				stack[top++] = (uint32_t)i;
			}
		while (top) {
			uint32_t x = stack[--top];
			count++;
			for (size_t k = first[x]; k < first[x + 1]; k++)
				if (!pushed[to[k]]) {
					pushed[to[k]] = o->reached[to[k]] = true;
					stack[top++] = to[k];
				}
		}
		for (size_t i = 0; i < s->root_count; i++) {
			const struct heap_root *r = &s->roots[i];
			size_t key = r->kind == HEAP_ROOT_DEPENDENT ? find(o, r->object) : SIZE_MAX, value = find(o, r->second);
			if (key != SIZE_MAX && value != SIZE_MAX && o->reached[key] && !o->reached[value])
				o->reached[value] = more = true;
		}
	}
	free(first);
	free(to);
	free(stack);
	free(pushed);
	return count;
}

static json_t *types_json(const struct heap_snapshot *s, const struct objects *o)
{
	uint64_t *count = mem_calloc(s->type_count + 1, sizeof *count), *bytes = mem_calloc(s->type_count + 1, sizeof *bytes);
	uint64_t *held = mem_calloc(s->type_count + 1, sizeof *held);
	json_t *types = json_object();

	for (size_t i = 0; i < o->count; i++) {
		count[o->type[i]]++;
		bytes[o->type[i]] += (o->end[i] - o->address[i] + 7) / 8 * 8;
		held[o->type[i]] += o->reached[i];
	}
	for (uint32_t i = 0; i < s->type_count; i++) {
		json_t *before = json_object_get(types, s->types[i].name);
		json_object_set_new(types, s->types[i].name,
				    json_pack("[I,I,I,s]", (json_int_t)count[i] + json_integer_value(json_array_get(before, 0)),
					      (json_int_t)bytes[i] + json_integer_value(json_array_get(before, 1)),
					      (json_int_t)held[i] + json_integer_value(json_array_get(before, 2)), s->types[i].module));
	}
	free(count);
	free(bytes);
	free(held);
	return types;
}

static json_t *roots_json(const struct heap_snapshot *s, const struct objects *o)
{
	json_t *roots = json_object();

	for (size_t i = 0; i < s->root_count; i++) {
		size_t at = find(o, s->roots[i].object);
		if (at == SIZE_MAX)
			continue;
		AUTO_FREE char *key = mem_printf("%s: %s", s->roots[i].label, s->types[o->type[at]].name);
		count_up(roots, key, 1);
	}
	return roots;
}

static json_t *generations_json(const struct heap_snapshot *s, const struct objects *o)
{
	json_t *generations = json_object();

	for (size_t i = 0; i < o->count; i++)
		count_up(generations, heap_generation_name(heap_snapshot_generation(s, o->address[i])), (json_int_t)(o->end[i] - o->address[i]));
	return generations;
}

static json_t *facts_json(const struct heap_snapshot *s)
{
	const struct heap_facts *f = &s->facts;

	return json_pack("{ss ss sI sI sI sI sI si sI sI sI sI sb sI}", "way",
			 f->way == HEAP_WAY_EXACT   ? "exact"
			 : f->way == HEAP_WAY_TYPES ? "types"
						    : "no-collection",
			 "why", f->why,
			 "predicted_us", (json_int_t)f->predicted_stop_us, "collection_us", (json_int_t)f->collection_stop_us, "walk_us",
			 (json_int_t)f->walk_stop_us,
			 "walk_cpu_us", (json_int_t)f->walk_cpu_us, "paused_us", (json_int_t)f->paused_us, "tries", (int)f->tries,
			 "objects", (json_int_t)f->objects, "edges", (json_int_t)f->edges,
			 "bytes", (json_int_t)f->bytes, "heap_bytes", (json_int_t)f->heap_bytes, "part", f->part,
			 "holders_budget_ms", (json_int_t)f->needs.budget_ms);
}

static json_t *counts_json(const struct heap_snapshot *s)
{
	json_t *types = json_object();

	for (uint32_t i = 0; i < s->type_count; i++) {
		const struct heap_count *c = s->counts->of[i];
		json_t *before = json_object_get(types, s->types[i].name);
		json_int_t objects = json_integer_value(json_array_get(before, 0)), bytes = json_integer_value(json_array_get(before, 1));
		for (int g = 0; g < HEAP_GENERATIONS; g++) {
			objects += (json_int_t)c[g].objects;
			bytes += (json_int_t)c[g].bytes;
		}
		json_object_set_new(types, s->types[i].name, json_pack("[I,I,i,s]", objects, bytes, 0, s->types[i].module));
	}
	return types;
}

static json_t *counted_generations_json(const struct heap_snapshot *s)
{
	struct heap_space spaces[HEAP_GENERATIONS];
	json_t *generations = json_object();

	heap_counts_spaces(s, spaces);
	for (int g = 0; g < HEAP_GENERATIONS; g++)
		if (spaces[g].count)
			json_object_set_new(generations, heap_generation_name(g), json_integer((json_int_t)spaces[g].bytes));
	return generations;
}

static void print(json_t *o)
{
	char *s = json_dumps(o, JSON_COMPACT);
	puts(s);
	fflush(stdout);
	free(s);
	json_decref(o);
}

static json_t *limits_json(const struct limits *l)
{
	json_t *limits = json_object();

	for (size_t i = 0; i < l->count; i++)
		json_object_set_new(limits, l->list[i].name,
				    json_pack("[I,I,s]", (json_int_t)l->list[i].limit, (json_int_t)l->list[i].seen, l->list[i].meaning));
	return limits;
}

static void describe(const struct heap_snapshot *s, const struct limits *l, double ms, bool brief)
{
	struct objects o = {0};
	struct edges all = {0};
	size_t dangling = 0;

	if (brief) {
		print(json_pack("{sb sf sI so so}", "ok", 1, "ms", ms, "stream_bytes", (json_int_t)s->stream_bytes, "facts", facts_json(s), "limits",
				limits_json(l)));
		return;
	}
	if (s->counts) {
		print(json_pack("{sb sf so so so}", "ok", 1, "ms", ms, "facts", facts_json(s), "types", counts_json(s), "generations",
				counted_generations_json(s)));
		return;
	}
	read_objects(s, &o);
	json_t *edges = read_edges(s, &o, &all, &dangling);
	size_t reached = reachable(s, &o, &all);
	print(json_pack("{sb sf sI so so so so so sI sI so ss}", "ok", 1, "ms", ms, "stream_bytes", (json_int_t)s->stream_bytes, "facts",
			facts_json(s), "types", types_json(s, &o), "roots", roots_json(s, &o), "generations", generations_json(s, &o), "edges",
			edges, "dangling", (json_int_t)dangling, "reachable", (json_int_t)reached, "limits", limits_json(l), "unheld",
			heap_facts_unheld(&s->facts)));
	free(o.address);
	free(o.end);
	free(o.type);
	free(o.reached);
	free(all.from);
	free(all.to);
}

static void fail(const struct err *e)
{
	print(json_pack("{sb ss ss}", "ok", 0, "reason", e->reason ? e->reason : "", "message", e->message));
}

struct tool {
	struct target target;
	const char *folder, *library;
	struct heap_walk_options options;
	bool beside, brief, left; /* left: by itself, after a stop that was too long */
	int times;
	struct profiler_channel *channel;
};

static struct profiler_channel *attach(const struct tool *t, uint32_t features, struct err *e)
{
	uint8_t data[256];
	AUTO_FD int dir = open(t->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE char *name = mem_printf("w%d", (int)getpid()), *path = mem_printf("%s/%s", t->folder, name);

	struct profiler_channel *ch = profiler_channel_listen(dir, name, e);
	if (!ch)
		return NULL;
	profiler_channel_set_notification_only(ch, t->beside);
	profiler_channel_set_features(ch, features);
	profiler_channel_set_pause_budget(ch, (uint32_t)t->options.budget_ms * 1000);
	ssize_t n = profiler_channel_client_data(ch, path, data, sizeof data, e);
	int fd = n < 0 ? -1 : diag_ipc_connect(&t->target, soon(), e);
	int r = fd < 0 ? -1 : diag_ipc_attach(fd, profiler_channel_clsid(ch), t->library, data, (size_t)n, 5000, soon(), e);
	if (fd >= 0)
		close(fd);
	if (r >= 0)
		r = profiler_channel_accept(ch, t->target.pid, soon(), e);
	unlinkat(dir, name, 0);
	if (r >= 0)
		return ch;
	profiler_channel_free(ch);
	return NULL;
}

/* The runtime takes no other profiler until then. */
static void await_unmapped(const struct tool *t)
{
	if (target_has_musl(&t->target)) { /* it unmaps nothing: as long as the runtime takes at most from the library's last word on */
		clock_sleep_until_ms(clock_mono_ms() + 100);
		return;
	}
	const char *base = strrchr(t->library, '/') + 1;

	for (int64_t until = soon(); clock_mono_ms() < until && stage_library_mapped(&t->target, base);)
		clock_sleep_until_ms(clock_mono_ms() + 3);
}

static int enter(void *ctx, uint32_t features, struct profiler_channel **ch, struct err *e)
{
	struct tool *t = ctx;

	*ch = t->channel = attach(t, features, e);
	return t->channel ? 0 : -1;
}

/* Where the library was kept from running in the middle of a stop, for longer than the budget, it has left: no answer to what it was asked. */
static void leave(void *ctx)
{
	struct tool *t = ctx;
	struct channel_pause pause;
	struct channel_stats stats;
	struct err e = ERR_INIT;

	t->left = profiler_channel_pause(t->channel, &pause);
	if (!t->left && profiler_channel_detach(t->channel, &stats, soon(), &e) < 0)
		fail(&e);
	profiler_channel_free(t->channel);
	t->channel = NULL;
	await_unmapped(t);
}

static int run(struct tool *t)
{
	struct err e = ERR_INIT;
	const struct heap_walk_host host = {enter, leave, t};
	struct limits limits = {0};
	bool ok = true;

	t->options.limits = &limits;

	for (int i = 0; ok && i < t->times; i++) {
		struct heap_snapshot *s;
		int64_t begin = clock_mono_ns();
		ok = heap_walk_on(&host, &t->options, &s, &e) == 0;
		if (ok)
			describe(s, &limits, (double)(clock_mono_ns() - begin) / 1e6, t->brief);
		if (ok)
			heap_snapshot_free(s);
	}
	if (!ok && t->left)
		e.reason = REASON_PauseBudgetExceeded;
	if (!ok)
		fail(&e);
	return !ok;
}

/* The agent asks the runtime. */
static char *rid_of(pid_t pid)
{
	char path[64], line[4096];
	bool musl = false;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "r");
	while (maps && fgets(line, sizeof line, maps))
		musl |= strstr(line, "/ld-musl-") || strstr(line, "-linux-musl/libc.so"); /* Debian: the loader is a link */
	if (maps)
		fclose(maps);
	return musl ? (char *)"linux-musl-x64" : NULL;
}

int main(int argc, char **argv)
{
	struct diag_socket_name name;
	struct tool t = {.times = 1, .options = {.dirfd = -1}};

	if (argc < 7) {
		fprintf(stderr, "usage: walk_tool PID SOCKET_FOLDER DIAGNOSTICS_SOCKET LIBRARY ROOTS BUDGET_MS [strings] [reveal] [beside] [brief] "
				"[types] [types-only] [whole] [TIMES]\n");
		return 2;
	}
	t.target = (struct target){.pid = atoi(argv[1]), .uid = (uid_t)-1, .socket_path = argv[3], .tmp_inner = argv[2], .tmp_outer = argv[2]};
	t.target.rid = rid_of(t.target.pid);
	t.options.pid = t.target.pid;
	t.folder = argv[2];
	t.library = argv[4];
	const char *base = strrchr(argv[3], '/');
	if (!base || !diag_socket_parse_name(base + 1, &name) || heap_roots_parse(argv[5], &t.options.roots) < 0)
		return 2;
	t.target.start_time = name.key;
	t.options.budget_ms = atoi(argv[6]);
	for (int i = 7; i < argc; i++) {
		t.options.strings |= strcmp(argv[i], "strings") == 0 || strcmp(argv[i], "reveal") == 0;
		t.options.reveal |= strcmp(argv[i], "reveal") == 0;
		t.beside |= strcmp(argv[i], "beside") == 0;
		t.brief |= strcmp(argv[i], "brief") == 0;
		t.options.types_only |= strcmp(argv[i], "types-only") == 0;
		t.options.types |= strncmp(argv[i], "types", 5) == 0;
		t.options.types_whole |= strcmp(argv[i], "whole") == 0;
		t.times = atoi(argv[i]) ? atoi(argv[i]) : t.times;
	}
	return run(&t);
}
