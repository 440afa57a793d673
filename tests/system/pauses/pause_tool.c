/* pause_tool KIND DIR   writes the report of a made-up RuntimePauses session into the folder, which must be there. Kinds:
 *   none       no pause
 *   mixed      collections of all kinds, asked for and not, a thread that stops late, other suspensions
 *   unknown    collections whose causes the runtime did not tell
 *   hostile    names that do their worst
 *   many       more pauses than are listed one by one, and more collections than are looked at */
#include "agent/profilers/pauses/pause_collect.h"
#include "agent/profilers/pauses/pause_report.h"
#include "agent/report/report.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define US INT64_C(1000)
#define MS (1000 * US)
#define SECONDS 30
#define LONGEST 20000

static const char *const texts[] = {
	"</script><script>document.title='owned'</script>", "<img src=x onerror=document.title='owned'>", "\"]}],\"a\":[",
	"line\nbreak\r\ttab", "\x1b[31mred\x07", "\xe2\x80\xae" "right to left", "\xff\xfe bytes", "{{data}}", "`code` | *bold* [x](y)", "\\",
};
enum { TEXTS = sizeof texts / sizeof texts[0] };

struct making {
	struct pause_capture capture;
	struct pause_frames frames;
	uint64_t number;
	bool hostile;
	char longest[LONGEST + 1];
	struct resolved_function hostile_functions[TEXTS + 1];
};

static const struct resolved_function functions[] = {
	{.module = "System.Private.CoreLib.dll", .type = "System.GC", .method = "Collect"},
	{.module = "Shop.dll", .type = "Shop.Cache", .method = "Trim"},
	{.module = "Shop.dll", .type = "Shop.Native", .method = "Sit"},
};

/* An address is the function's number + 1; 0 and others have no name. */
static int resolve(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out)
{
	struct making *m = ctx;
	const struct resolved_function *known = m->hostile ? m->hostile_functions : functions;
	size_t most = m->hostile ? TEXTS + 1 : sizeof functions / sizeof *functions;
	for (size_t i = 0; i < count; i++)
		out[i] = ips[i] >= 1 && ips[i] <= most ? &known[ips[i] - 1] : NULL;
	return 0;
}

static void thread_name(void *ctx, uint32_t tid, char *out, size_t size)
{
	const struct making *m = ctx;
	snprintf(out, size, "%s", m->hostile ? texts[tid % TEXTS] : tid == 7 ? "stubborn" : "");
}

static struct channel_stop *add_stop(struct making *m, int64_t at_ns, int64_t suspend_ns, int64_t stopped_ns, uint16_t reason)
{
	struct pause_frames *f = &m->frames;
	uint64_t start_ns = (uint64_t)at_ns, stopped = start_ns + (uint64_t)suspend_ns, resume = stopped + (uint64_t)stopped_ns;
	GROW(f->stops, f->stop_count, f->stop_cap);
	f->stops[f->stop_count] = (struct channel_stop){.number = ++m->number, .start_ns = start_ns, .stopped_ns = stopped, .resume_ns = resume,
		.end_ns = resume + 5000, .tid = 1, .reason = reason};
	return &f->stops[f->stop_count++];
}

static void collect_in(struct channel_stop *s, uint8_t generation, uint8_t flags, uint8_t reason, uint8_t type)
{
	s->collections[s->collection_count++] = (struct channel_stop_collection){
		.start_ns = s->stopped_ns, .end_ns = flags & CHANNEL_GC_FINISHED ? s->resume_ns : 0, .generation = generation, .flags = flags,
		.reason = reason, .type = type};
}

static void add_stack(struct making *m, uint16_t kind, uint32_t tid, uint64_t leaf, uint64_t caller)
{
	struct pause_frames *f = &m->frames;
	GROW(f->stacks, f->stack_count, f->stack_cap);
	f->stacks[f->stack_count++] = (struct channel_stop_stack){.number = m->number, .kind = kind, .tid = tid, .depth = 3,
		.ips = {leaf, 0, caller}, .incomplete = m->number % 2};
}

static void add_late(struct making *m, struct channel_stop *s, uint32_t tid, uint64_t leaf)
{
	s->last_tid = tid;
	s->last_ns = s->stopped_ns;
	add_stack(m, CHANNEL_STACK_LATE, tid, leaf, 2);
}

/* The number goes from 1 on: a time that rises, lengths that differ. */
static struct channel_stop *add_nth(struct making *m, unsigned i, int64_t suspend_ns, int64_t stopped_ns, uint16_t reason)
{
	return add_stop(m, 70 * MS * i, suspend_ns + 7 * US * i, stopped_ns + 131 * US * i, reason);
}

static void make_none(struct making *m)
{
	m->frames.state.flags = CHANNEL_STOPS_EVENTS;
}

static void make_mixed(struct making *m)
{
	const uint8_t done = CHANNEL_GC_FINISHED | CHANNEL_GC_DETAILED;
	m->frames.state.flags = CHANNEL_STOPS_EVENTS;
	for (unsigned i = 1; i <= 400; i++) {
		struct channel_stop *s = add_nth(m, i, i % 40 ? 9 * US : 30 * MS, 300 * US, i % 10 == 9 ? 8 : i % 10 == 8 ? 7 : 1);
		if (s->reason != 8)
			collect_in(s, (uint8_t)(s->reason == 7 ? 2 : i % 3), (uint8_t)(i % 5 ? done : done | CHANNEL_GC_INDUCED), i % 5 ? 0 : 1, 0);
		if (i % 5 == 0)
			add_stack(m, CHANNEL_STACK_INDUCER, 1, 1, 1 + i % 2);
		if (i % 40 == 0)
			add_late(m, s, 7 + i / 200, 3);
	}
}

static void make_unknown(struct making *m)
{
	for (unsigned i = 1; i <= 9; i++)
		collect_in(add_nth(m, i, 2 * MS, 50 * MS, 1), (uint8_t)(i % 3), (uint8_t)(CHANNEL_GC_FINISHED | (i % 2 ? CHANNEL_GC_INDUCED : 0)), 0, 0);
}

static void make_hostile(struct making *m)
{
	m->hostile = true;
	memset(m->longest, 'x', LONGEST);
	for (size_t i = 0; i <= TEXTS; i++) {
		const char *name = i < TEXTS ? texts[i] : m->longest;
		m->hostile_functions[i] = (struct resolved_function){.module = "Shop.dll", .type = name, .method = name};
	}
	for (unsigned i = 1; i <= 2 * TEXTS; i++) {
		struct channel_stop *s = add_nth(m, i, 20 * MS, MS, 1);
		collect_in(s, 2, CHANNEL_GC_FINISHED | CHANNEL_GC_DETAILED | CHANNEL_GC_INDUCED, 1, 0);
		add_stack(m, CHANNEL_STACK_INDUCER, 1, i % (TEXTS + 1) + 1, i % TEXTS + 1);
		add_late(m, s, i, i % (TEXTS + 1) + 1);
	}
}

static void make_many(struct making *m)
{
	m->frames.state.flags = CHANNEL_STOPS_EVENTS;
	for (unsigned i = 1; i <= 50000; i++) {
		struct channel_stop *s = add_stop(m, 500 * US * i, US * (i % 50), 20 * US + US * (i * 7919 % 300), 1);
		collect_in(s, 0, (uint8_t)(CHANNEL_GC_FINISHED | (i % 10 ? 0 : CHANNEL_GC_DETAILED)), 0, 0);
		s->flags = i % 10 ? CHANNEL_STOP_BRIEF : 0;
	}
}

static int write_report(const struct making *m, const char *folder)
{
	struct report_context context = {"", "", "", "", "", "node-1", NULL};
	struct report_result out = {0};
	struct session_spec spec;
	struct err e = ERR_INIT;
	AUTO_FD int dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	session_spec_init(&spec, PROFILER_RUNTIME_PAUSES);
	int rc = pause_report_write(&m->capture, &spec, &context, dirfd, &out, &e);
	if (rc < 0)
		fprintf(stderr, "%s\n", e.message);
	else
		printf("%s\n", out.headline);
	report_result_fini(&out);
	session_spec_fini(&spec);
	return rc;
}

static int make(void (*kind)(struct making *m), const char *folder)
{
	static char entrypoint[] = "Shop", version[] = "10.0.1", arch[] = "x64";
	AUTO_FREE struct making *m = mem_calloc(1, sizeof *m);
	m->capture = (struct pause_capture){.throttled_periods = 3, .periods = 300, .throttled_ns = 41 * MS};
	struct pause_collect_options o = {.capture = &m->capture, .resolve = resolve, .thread_name = thread_name, .ctx = m};
	struct pause_collect *collect = pause_collect_new(&o);
	kind(m);
	struct pause_frames state = {.state = m->frames.state};
	pause_collect_take(collect, &m->frames);
	pause_collect_finish(collect, &state);
	pause_collect_free(collect);
	m->capture.facts = (struct session_facts){.target = {.entrypoint = entrypoint, .runtime_version = version, .arch = arch}, .pid = 42,
		.duration_ns = SECONDS * 1000 * MS};
	int rc = write_report(m, folder);
	m->capture.facts = (struct session_facts){0};
	pause_frames_fini(&m->frames);
	pause_capture_fini(&m->capture);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(struct making *m);
	} kinds[] = {{"none", make_none}, {"mixed", make_mixed}, {"unknown", make_unknown}, {"hostile", make_hostile}, {"many", make_many}};
	for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(argv[1], kinds[i].name) == 0)
			return make(kinds[i].make, argv[2]) < 0;
	fprintf(stderr, "usage: pause_tool none|mixed|unknown|hostile|many DIR\n");
	return 2;
}
