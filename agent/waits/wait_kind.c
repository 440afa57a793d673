#include "agent/waits/wait_kind.h"

#include "agent/stacks/cpu_category.h"

#include <string.h>

static const struct {
	const char *name, *title;
} kinds[WAIT_KIND_COUNT] = {
	[WAIT_KIND_LOCK] = {"lock", "locks"},
	[WAIT_KIND_TASK] = {"task", "blocking on tasks"},
	[WAIT_KIND_SOCKET] = {"socket", "synchronous network I/O"},
	[WAIT_KIND_FILE] = {"file", "files, pipes and processes"},
	[WAIT_KIND_CONSOLE] = {"console", "console output"},
	[WAIT_KIND_SLEEP] = {"sleep", "sleep"},
	[WAIT_KIND_EVENT] = {"event", "events and mutexes"},
	[WAIT_KIND_RUNTIME] = {"runtime", "the runtime"},
	[WAIT_KIND_FAULT] = {"fault", "page faults and disk"},
	[WAIT_KIND_CPU] = {"cpu", "waiting for a CPU"},
	[WAIT_KIND_NATIVE] = {"native", "native code"},
	[WAIT_KIND_UNKNOWN] = {"unknown", "unknown"},
};

const char *wait_kind_name(enum wait_kind k)
{
	return kinds[k].name;
}

const char *wait_kind_title(enum wait_kind k)
{
	return kinds[k].title;
}

/* Rows of one type stand together, those with a method first: the first one that fits counts. `type` and `method` are beginnings; NULL: any. */
static const struct wait_row {
	const char *type, *method;
	struct wait_meaning meaning;
} rows[] = {
	/* what idles */
	{"System.Threading.LowLevelLifoSemaphore", NULL, {WAIT_KIND_EVENT, true, "pool workers without work"}},
	{"System.Threading.PortableThreadPool+GateThread", NULL, {WAIT_KIND_EVENT, true, "the pool's gate thread"}},
	{"System.Threading.PortableThreadPool+WaitThread", NULL, {WAIT_KIND_EVENT, true, "the pool's wait threads"}},
	{"System.Threading.TimerQueue", "TimerThread", {WAIT_KIND_EVENT, true, "the timer thread"}},
	{"System.Net.Sockets.SocketAsyncEngine", "EventLoop", {WAIT_KIND_SOCKET, true, "the socket engine"}},
	{"System.Net.Sockets.Socket", "Accept", {WAIT_KIND_SOCKET, true, "accept loops"}},
	{"System.Net.Sockets.TcpListener", "Accept", {WAIT_KIND_SOCKET, true, "accept loops"}},
	{"System.Net.HttpListener", "GetContext", {WAIT_KIND_SOCKET, true, "accept loops"}},
	{"System.Collections.Concurrent.BlockingCollection", "TryAdd", {WAIT_KIND_EVENT, false, "BlockingCollection.Add"}},
	{"System.Collections.Concurrent.BlockingCollection", "Add", {WAIT_KIND_EVENT, false, "BlockingCollection.Add"}},
	{"System.Collections.Concurrent.BlockingCollection", NULL, {WAIT_KIND_EVENT, true, "consumers of a queue"}},
	{"System.IO.FileSystemWatcher", NULL, {WAIT_KIND_FILE, true, "watchers of files"}},
	{"System.IO.StdInReader", NULL, {WAIT_KIND_CONSOLE, true, "standard input"}},
	{"System.IO.SyncTextReader", NULL, {WAIT_KIND_CONSOLE, true, "standard input"}},
	{"System.Console", "Read", {WAIT_KIND_CONSOLE, true, "standard input"}},
	{"Microsoft.Extensions.Hosting.", "Run", {WAIT_KIND_TASK, true, "the host's main thread"}},
	{"Microsoft.Extensions.Hosting.", "WaitForShutdown", {WAIT_KIND_TASK, true, "the host's main thread"}},
	{"Microsoft.AspNetCore.Builder.WebApplication", "Run", {WAIT_KIND_TASK, true, "the host's main thread"}},
	{"Microsoft.AspNetCore.Hosting.WebHostExtensions", NULL, {WAIT_KIND_TASK, true, "the host's main thread"}},
	{"Microsoft.Extensions.Logging.Console.ConsoleLoggerProcessor", "TryDequeue", {WAIT_KIND_EVENT, true, "the console logger's thread"}},
	/* what blocks */
	{"Microsoft.Extensions.Logging.Console.ConsoleLoggerProcessor", "Enqueue", {WAIT_KIND_CONSOLE, false, "the console logger's full queue"}},
	{"System.Console", NULL, {WAIT_KIND_CONSOLE, false, "the console"}},
	{"System.IO.ConsoleStream", NULL, {WAIT_KIND_CONSOLE, false, "the console"}},
	{"System.ConsolePal", NULL, {WAIT_KIND_CONSOLE, false, "the console"}},
	{"System.IO.TextWriter+SyncTextWriter", NULL, {WAIT_KIND_CONSOLE, false, "the console"}},
	{"System.Threading.Monitor", "Wait", {WAIT_KIND_EVENT, false, "Monitor.Wait"}},
	{"System.Threading.Condition", "Wait", {WAIT_KIND_EVENT, false, "Monitor.Wait"}}, /* .NET 11 inlines the former */
	{"System.Threading.Monitor", NULL, {WAIT_KIND_LOCK, false, "Monitor"}},
	{"System.Threading.Lock", NULL, {WAIT_KIND_LOCK, false, "Lock"}},
	{"System.Threading.SemaphoreSlim", "Wait", {WAIT_KIND_LOCK, false, "SemaphoreSlim"}},
	{"System.Threading.ReaderWriterLock", NULL, {WAIT_KIND_LOCK, false, "ReaderWriterLockSlim"}},
	{"System.Threading.SpinLock", NULL, {WAIT_KIND_LOCK, false, "SpinLock"}},
	{"System.Threading.Thread", "Sleep", {WAIT_KIND_SLEEP, false, "Thread.Sleep"}},
	{"System.Threading.Thread", "UninterruptibleSleep", {WAIT_KIND_SLEEP, false, "spinning"}},
	{"System.Threading.Thread", "Join", {WAIT_KIND_EVENT, false, "Thread.Join"}},
	{"System.Threading.ManualResetEventSlim", NULL, {WAIT_KIND_EVENT, false, "ManualResetEventSlim"}},
	{"System.Threading.CountdownEvent", NULL, {WAIT_KIND_EVENT, false, "CountdownEvent"}},
	{"System.Threading.Barrier", NULL, {WAIT_KIND_EVENT, false, "Barrier"}},
	{"System.Threading.WaitHandle", NULL, {WAIT_KIND_EVENT, false, "WaitOne (event or Mutex)"}},
	{"System.Threading.Tasks.Task", "Wait", {WAIT_KIND_TASK, false, "a task"}},
	{"System.Threading.Tasks.Task", "InternalWait", {WAIT_KIND_TASK, false, "a task"}},
	{"System.Threading.Tasks.Task", "SpinThenBlockingWait", {WAIT_KIND_TASK, false, "a task"}},
	{"System.Threading.Tasks.Task", "GetResultCore", {WAIT_KIND_TASK, false, "a task"}},
	{"System.Threading.Tasks.Task", "get_Result", {WAIT_KIND_TASK, false, "a task"}},
	{"System.Threading.Tasks.Parallel", NULL, {WAIT_KIND_TASK, false, "a Parallel loop"}},
	{"System.Runtime.CompilerServices.TaskAwaiter", NULL, {WAIT_KIND_TASK, false, "a task"}},
	{"System.Net.Dns", NULL, {WAIT_KIND_SOCKET, false, "name lookup"}},
	{"System.Net.NameResolutionPal", NULL, {WAIT_KIND_SOCKET, false, "name lookup"}},
	{"System.Net.Http.HttpClient", "Send", {WAIT_KIND_SOCKET, false, "HttpClient.Send"}},
	{"System.Net.Http.HttpMessageInvoker", "Send", {WAIT_KIND_SOCKET, false, "HttpClient.Send"}},
	{"System.Net.Sockets.", NULL, {WAIT_KIND_SOCKET, false, "a socket"}},
	{"System.Net.Security.SslStream", NULL, {WAIT_KIND_SOCKET, false, "SslStream"}},
	{"System.IO.Pipes.", NULL, {WAIT_KIND_FILE, false, "a pipe"}},
	{"System.IO.RandomAccess", NULL, {WAIT_KIND_FILE, false, "a file"}},
	{"System.IO.Strategies.", NULL, {WAIT_KIND_FILE, false, "a file"}},
	{"System.IO.FileStream", NULL, {WAIT_KIND_FILE, false, "a file"}},
	{"System.IO.File", NULL, {WAIT_KIND_FILE, false, "a file"}},
	{"Microsoft.Win32.SafeHandles.SafeFileHandle", NULL, {WAIT_KIND_FILE, false, "a file"}},
	{"System.Diagnostics.Process", NULL, {WAIT_KIND_FILE, false, "another process"}},
	{"System.GC", NULL, {WAIT_KIND_RUNTIME, false, "garbage collection"}},
};

static bool begins(const char *s, const char *with)
{
	return s && strncmp(s, with, strlen(with)) == 0;
}

static const struct wait_row *row_of(const struct frame *f)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (begins(f->type, rows[i].type) && (!rows[i].method || begins(f->method, rows[i].method)))
			return &rows[i];
	return NULL;
}

/* SQLite works on the thread that asks. Its client sleeps only to try again once the database is no longer locked, and SQLite itself, where it was told how
 * long to wait, in one function of its own; its others that wait do so for the disk. */
static const struct wait_meaning database_lock = {WAIT_KIND_LOCK, false, WAIT_WHAT_DATABASE},
				 database_file = {WAIT_KIND_FILE, false, "a SQLite database's file"};

static bool is_sqlite(const struct frame *f)
{
	return begins(f->module, "libe_sqlite3") || begins(f->module, "libsqlite3");
}

static const struct wait_meaning *sqlite_meaning(const struct frame *frames, const uint32_t *stack, size_t natives)
{
	for (size_t i = 0; i < natives; i++) {
		const char *function = is_sqlite(&frames[stack[i]]) ? frames[stack[i]].method : NULL;
		if (function && strcmp(function, "unixSleep") == 0)
			return &database_lock;
		if (function && begins(function, "unix"))
			return &database_file;
	}
	return NULL;
}

/* Before .NET 10 no managed code waits for a monitor. That of a Lazy is taken in a method that does little else: what makes the value has frames of its own. */
static const struct wait_meaning lazy_lock = {WAIT_KIND_LOCK, false, "Lazy"};

static bool waits_in_lazy(const struct frame *f, const struct frame *native)
{
	return f->kind == FRAME_MANAGED && begins(f->type, "System.Lazy") && begins(f->method, "ExecutionAndPublication") &&
	       cpu_layer_of(native) == LAYER_RUNTIME;
}

static bool is_of_libc(const struct frame *f)
{
	return begins(f->module, "libc.") || begins(f->module, "ld-");
}

/* .NET 11 waits for its events in managed code, which may be inlined down to the call, and the runtime's function there jumps to the C library's. */
static bool is_called_as_event(const struct frame *f)
{
	return is_of_libc(f) && begins(f->method, "pthread_cond_");
}

/* What is below all managed code, or all there is. */
static void native_meaning(const struct frame *frames, const uint32_t *stack, size_t natives, bool managed, struct wait_meaning *out)
{
	bool runtime = false, other = false, own = false;
	for (size_t i = 0; i < natives; i++) {
		enum cpu_layer layer = cpu_layer_of(&frames[stack[i]]);
		runtime |= layer == LAYER_RUNTIME;
		own |= begins(frames[stack[i]].module, "libdrdotnet");
		other |= layer == LAYER_NATIVE && !is_of_libc(&frames[stack[i]]);
	}
	runtime |= managed && natives && is_called_as_event(&frames[stack[natives - 1]]);
	if (own)
		*out = (struct wait_meaning){WAIT_KIND_NATIVE, true, "the profiler's own thread"};
	else if (!managed && runtime) /* as good as all threads of an application that has none of its own */
		*out = (struct wait_meaning){WAIT_KIND_RUNTIME, true, "threads of the runtime"};
	else if (!managed && !other) /* the C library's frames alone: the stack broke off there */
		*out = (struct wait_meaning){WAIT_KIND_UNKNOWN, false, "no stack"};
	else if (other && !runtime)
		*out = (struct wait_meaning){WAIT_KIND_NATIVE, !managed, managed ? "native code" : "threads of native libraries"};
	else
		*out = runtime ? (struct wait_meaning){WAIT_KIND_RUNTIME, false, "the runtime"} : (struct wait_meaning){WAIT_KIND_NATIVE, false, "native code"};
}

void wait_kind_of_stack(const struct frame *frames, const uint32_t *stack, size_t depth, struct wait_meaning *out)
{
	const struct wait_row *found = NULL;
	const struct wait_meaning *sqlite;
	size_t natives = 0;
	bool managed = false, is_async_main = false, in_client = false;
	*out = (struct wait_meaning){WAIT_KIND_UNKNOWN, false, "no stack"};
	if (!depth)
		return;
	while (natives < depth && frames[stack[natives]].kind != FRAME_MANAGED)
		natives++;
	for (size_t i = natives; i < depth; i++) {
		const struct frame *f = &frames[stack[i]];
		managed |= f->kind == FRAME_MANAGED;
		if (cpu_layer_of(f) == LAYER_APPLICATION) {
			is_async_main = f->method && strcmp(f->method, "<Main>") == 0; /* the compiler's, around an async Main */
			break;
		}
		const struct wait_row *row = f->kind == FRAME_MANAGED ? row_of(f) : NULL;
		if (row)
			found = row;
		in_client |= f->kind == FRAME_MANAGED && begins(f->type, "Microsoft.Data.Sqlite.");
	}
	if (found && found->meaning.kind == WAIT_KIND_TASK && is_async_main)
		*out = (struct wait_meaning){WAIT_KIND_TASK, true, "the program's main thread"};
	else if (found && found->meaning.kind == WAIT_KIND_SLEEP && in_client)
		*out = database_lock;
	else if (found)
		*out = found->meaning;
	else if (natives && natives < depth && waits_in_lazy(&frames[stack[natives]], &frames[stack[natives - 1]]))
		*out = lazy_lock;
	else if (managed && (sqlite = sqlite_meaning(frames, stack, natives)))
		*out = *sqlite;
	else
		native_meaning(frames, stack, natives, managed, out);
}

bool wait_kind_is_pool_worker(const struct frame *frames, const uint32_t *stack, size_t depth)
{
	for (size_t i = depth; i-- > 0;)
		if (frames[stack[i]].kind == FRAME_MANAGED && begins(frames[stack[i]].type, "System.Threading.PortableThreadPool+WorkerThread") &&
		    begins(frames[stack[i]].method, "WorkerThreadStart"))
			return true;
	return false;
}

bool wait_kind_is_pool_name(const char *name)
{
	return begins(name, ".NET TP Worker");
}
