#include "agent/profilers/threads/thread_kind.h"

#include "agent/stacks/cpu_category.h"

#include <string.h>

#define KERNEL_NAME 15 /* bytes of a name; the runtime may know a longer one */

#define WORDS(id, word, one, many) {word, one, many},
const struct thread_words thread_kind_words[THREAD_KIND_COUNT] = {THREAD_KINDS(WORDS)};
const struct thread_words thread_wait_words[THREAD_WAIT_COUNT] = {THREAD_WAITS(WORDS)};

/* Which functions tell: a type, or its beginning where it ends in '*'; NULL: any method. */
struct told_by {
	const char *type, *method;
	int what;
};

/* By one of its first functions. */
static const struct told_by kinds_by_entry[] = {
	{"System.Threading.PortableThreadPool+WorkerThread", NULL, THREAD_KIND_WORKER},
	{"System.Threading.PortableThreadPool+*", NULL, THREAD_KIND_POOL},
	{"System.Threading.TimerQueue", "TimerThread", THREAD_KIND_TIMER},
	{"System.Net.Sockets.SocketAsyncEngine", NULL, THREAD_KIND_SOCKETS},
};

/* By the kernel's name, of threads that run no managed code or whose stack is not known. */
static const struct {
	const char *name;
	enum thread_kind kind;
} kinds_by_name[] = {
	{".NET Finalizer", THREAD_KIND_FINALIZER}, {".NET TP Worker", THREAD_KIND_WORKER},       {".NET TP Gate", THREAD_KIND_POOL},
	{".NET TP Wait", THREAD_KIND_POOL},        {".NET Timer", THREAD_KIND_TIMER},            {".NET Sockets", THREAD_KIND_SOCKETS},
	{".NET BGC", THREAD_KIND_GC},              {".NET Server GC", THREAD_KIND_GC},           {".NET SGC", THREAD_KIND_GC},
	{".NET Background", THREAD_KIND_GC},       {".NET Tiered Com", THREAD_KIND_TIERING},     {".NET SigHandler", THREAD_KIND_SIGNALS},
	{".NET EventPipe", THREAD_KIND_DIAGNOSTICS}, {".NET DebugPipe", THREAD_KIND_DEBUGGER},   {".NET Debugger", THREAD_KIND_DEBUGGER},
	{".NET SynchManag", THREAD_KIND_RUNTIME},  {"drdotnet", THREAD_KIND_PROFILER},
};

/* By what stands between the application's code and the kernel: the outermost that is known tells, a queue waits by means of a semaphore. */
static const struct told_by waits[] = {
	{"System.Collections.Concurrent.BlockingCollection`1*", NULL, THREAD_WAIT_QUEUE},
	{"System.Threading.Channels.*", NULL, THREAD_WAIT_QUEUE},
	{"System.Threading.Monitor", "Wait", THREAD_WAIT_QUEUE},
	{"System.Threading.Condition", "Wait", THREAD_WAIT_QUEUE}, /* of a monitor: .NET 11 inlines the former */
	{"System.Threading.SemaphoreSlim", NULL, THREAD_WAIT_QUEUE},
	{"System.Threading.Monitor", "Enter*", THREAD_WAIT_LOCK},
	{"System.Threading.Monitor", "TryEnter*", THREAD_WAIT_LOCK},
	{"System.Threading.Monitor", "ReliableEnter*", THREAD_WAIT_LOCK},
	{"System.Threading.Lock", NULL, THREAD_WAIT_LOCK},
	{"System.Threading.ReaderWriterLock*", NULL, THREAD_WAIT_LOCK},
	{"System.Threading.SpinLock", NULL, THREAD_WAIT_LOCK},
	{"System.Threading.Tasks.Task*", NULL, THREAD_WAIT_TASK},
	{"System.Runtime.CompilerServices.TaskAwaiter*", NULL, THREAD_WAIT_TASK},
	{"System.Runtime.CompilerServices.ValueTaskAwaiter*", NULL, THREAD_WAIT_TASK},
	{"System.Runtime.CompilerServices.ConfiguredTaskAwaitable*", NULL, THREAD_WAIT_TASK},
	{"System.Runtime.CompilerServices.ConfiguredValueTaskAwaitable*", NULL, THREAD_WAIT_TASK},
	{"System.Threading.Thread", "Join*", THREAD_WAIT_JOIN},
	{"System.Threading.Thread", "Sleep*", THREAD_WAIT_SLEEP},
	{"System.Threading.ManualResetEventSlim", NULL, THREAD_WAIT_EVENT},
	{"System.Threading.CountdownEvent", NULL, THREAD_WAIT_EVENT},
	{"System.Threading.Barrier", NULL, THREAD_WAIT_EVENT},
	{"System.Threading.WaitHandle", NULL, THREAD_WAIT_EVENT},
	{"System.GC", "WaitForPendingFinalizers*", THREAD_WAIT_FINALIZERS},
	{"System.GC", "_WaitForPendingFinalizers*", THREAD_WAIT_FINALIZERS},
	{"System.Diagnostics.Process*", "WaitForExit*", THREAD_WAIT_IO},
	{"System.Net.*", NULL, THREAD_WAIT_IO},
	{"System.IO.*", NULL, THREAD_WAIT_IO},
	{"System.Console*", NULL, THREAD_WAIT_IO},
	{"Microsoft.Win32.SafeHandles.*", NULL, THREAD_WAIT_IO},
	{"Interop+Sys", NULL, THREAD_WAIT_IO},
	{"System.Threading.LowLevelLifoSemaphore", NULL, THREAD_WAIT_IDLE},
};

static bool word_matches(const char *word, const char *pattern)
{
	size_t n = strlen(pattern);
	if (n && pattern[n - 1] == '*')
		return word && strncmp(word, pattern, n - 1) == 0;
	return word && strcmp(word, pattern) == 0;
}

static bool frame_told_by(const struct frame *f, const struct told_by *t)
{
	return f->kind == FRAME_MANAGED && word_matches(f->type, t->type) && (!t->method || word_matches(f->method, t->method));
}

static int find_told(const struct frame *f, const struct told_by *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (frame_told_by(f, &list[i]))
			return list[i].what;
	return -1;
}

static const struct frame *clue(const struct thread_clues *c, uint32_t i)
{
	return &c->frames[c->stack[i]];
}

static int kind_by_entry(const struct thread_clues *c)
{
	for (uint32_t i = c->depth; i-- > 0;) {
		int kind = find_told(clue(c, i), kinds_by_entry, sizeof kinds_by_entry / sizeof *kinds_by_entry);
		if (kind >= 0)
			return kind;
		if (cpu_layer_of(clue(c, i)) == LAYER_APPLICATION)
			return -1;
	}
	return -1;
}

static int kind_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof kinds_by_name / sizeof *kinds_by_name; i++)
		if (strncmp(name, kinds_by_name[i].name, KERNEL_NAME) == 0)
			return kinds_by_name[i].kind;
	return -1;
}

/* What its stack has. */
struct stack_traits {
	bool managed;   /* any managed code */
	bool started;   /* by Thread.Start */
	bool ours;      /* the profiler's library */
};

static struct stack_traits traits_of(const struct thread_clues *c)
{
	static const struct told_by start = {"System.Threading.Thread", "StartCallback", 0}, helper = {"System.Threading.Thread+StartHelper", NULL, 0};
	struct stack_traits t = {0};
	for (uint32_t i = 0; i < c->depth; i++) {
		const struct frame *f = clue(c, i);
		t.managed |= f->kind == FRAME_MANAGED;
		t.started |= frame_told_by(f, &start) || frame_told_by(f, &helper);
		t.ours |= f->kind == FRAME_NATIVE && f->module && strncmp(f->module, "libdrdotnet", 11) == 0;
	}
	return t;
}

static enum thread_kind find_thread_kind(const struct thread_clues *c, const struct thread_nature *n)
{
	struct stack_traits t = traits_of(c);
	int by_entry = kind_by_entry(c), by_name = kind_by_name(c->name);
	bool finalizer = by_name == THREAD_KIND_FINALIZER && c->first_of_name;
	if (t.ours)
		return THREAD_KIND_PROFILER;
	if (c->main)
		return THREAD_KIND_MAIN;
	if (by_entry >= 0)
		return (enum thread_kind)by_entry;
	if (t.started)
		return n->place != UINT32_MAX ? THREAD_KIND_APPLICATION : THREAD_KIND_LIBRARY;
	if (t.managed)
		return finalizer ? THREAD_KIND_FINALIZER : n->place != UINT32_MAX ? THREAD_KIND_APPLICATION : THREAD_KIND_LIBRARY;
	if (finalizer || (by_name >= 0 && by_name != THREAD_KIND_FINALIZER))
		return (enum thread_kind)by_name;
	return c->depth && !c->cut ? THREAD_KIND_NATIVE : THREAD_KIND_UNKNOWN;
}

static void find_places(const struct thread_clues *c, struct thread_nature *out)
{
	for (uint32_t i = 0; i < c->depth; i++) {
		enum cpu_layer layer = cpu_layer_of(clue(c, i));
		if (layer == LAYER_APPLICATION && out->place == UINT32_MAX)
			out->place = i;
		if (layer == LAYER_APPLICATION)
			out->entry = i;
		if (layer == LAYER_LIBRARY && out->place == UINT32_MAX && !clue(c, i)->dynamic)
			out->call = i;
	}
	if (out->place == UINT32_MAX)
		out->call = UINT32_MAX;
}

static bool of_runtime(const struct thread_clues *c, uint32_t end)
{
	for (uint32_t i = 0; i < end; i++)
		if (cpu_layer_of(clue(c, i)) == LAYER_RUNTIME)
			return true;
	return false;
}

/* What the application's code, or else the thread itself, waits for. Where nothing of .NET's libraries lies between the application's code and the runtime,
 * in which the thread sleeps on a futex, it may be Monitor.Enter, which is no managed code before .NET 10, or Monitor.Wait, which was inlined: the
 * runtime's table of monitors tells the first. */
static enum thread_wait_kind find_thread_wait(const struct thread_clues *c, const struct thread_nature *n)
{
	int told = -1;
	if (!c->asleep)
		return THREAD_WAIT_RUNS;
	if (!c->depth)
		return THREAD_WAIT_OTHER;
	uint32_t end = n->place == UINT32_MAX ? c->depth : n->place;
	for (uint32_t i = 0; i < end; i++) {
		int wait = find_told(clue(c, i), waits, sizeof waits / sizeof *waits);
		/* Below the pool's own loop Task means: it runs one. */
		if (wait >= 0 && (n->place != UINT32_MAX || told < 0))
			told = wait;
	}
	if (told >= 0)
		return (enum thread_wait_kind)told;
	if (n->place == UINT32_MAX)
		return n->kind == THREAD_KIND_UNKNOWN ? THREAD_WAIT_OTHER : THREAD_WAIT_IDLE;
	if (n->call != UINT32_MAX)
		return THREAD_WAIT_OTHER;
	return c->monitor ? THREAD_WAIT_LOCK : c->futex && of_runtime(c, end) ? THREAD_WAIT_RUNTIME : THREAD_WAIT_NATIVE;
}

void thread_kind_of(const struct thread_clues *c, struct thread_nature *out)
{
	*out = (struct thread_nature){.place = UINT32_MAX, .call = UINT32_MAX, .entry = UINT32_MAX};
	find_places(c, out);
	out->kind = find_thread_kind(c, out);
	out->wait = find_thread_wait(c, out);
}
