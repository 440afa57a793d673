#include "agent/waits/wait_kind.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define DEPTH 8

/* "Type::method" of .NET's own, "app:Type::method", "coreclr", "libc", "lib:name", "lib:name!function". Leaf first. */
static struct frame frame_of(char *text)
{
	static char core[] = "System.Private.CoreLib.dll", shop[] = "Shop.dll", coreclr[] = "libcoreclr.so", libc[] = "libc.so.6", none[] = "";
	if (strcmp(text, "coreclr") == 0)
		return (struct frame){.kind = FRAME_NATIVE, .module = coreclr, .method = none};
	if (strcmp(text, "libc") == 0)
		return (struct frame){.kind = FRAME_NATIVE, .module = libc, .method = none};
	if (strncmp(text, "lib:", 4) == 0) {
		char *function = strchr(text, '!');
		if (function)
			*function++ = '\0';
		return (struct frame){.kind = FRAME_NATIVE, .module = text + 4, .method = function ? function : none};
	}
	bool app = strncmp(text, "app:", 4) == 0;
	char *type = app ? text + 4 : text, *at = strstr(type, "::");
	*at = '\0';
	return (struct frame){.kind = FRAME_MANAGED, .module = app ? shop : core, .type = type, .method = at + 2};
}

struct made {
	char texts[DEPTH][120];
	struct frame frames[DEPTH];
	uint32_t stack[DEPTH];
	size_t depth;
};

static void make(const char *const *texts, struct made *m)
{
	for (m->depth = 0; m->depth < DEPTH && texts[m->depth]; m->depth++) {
		snprintf(m->texts[m->depth], sizeof m->texts[0], "%s", texts[m->depth]);
		m->frames[m->depth] = frame_of(m->texts[m->depth]);
		m->stack[m->depth] = (uint32_t)m->depth;
	}
}

#define MONITOR_WAIT "libc", "coreclr", "System.Threading.Monitor::Wait"
#define SLIM_WAIT MONITOR_WAIT, "System.Threading.ManualResetEventSlim::Wait"
#define APP "app:Shop.Cart::Pay"

static const struct {
	const char *stack[DEPTH];
	enum wait_kind kind;
	bool idle;
} cases[] = {
	{{"libc", "coreclr"}, WAIT_KIND_RUNTIME, true},
	{{"libc"}, WAIT_KIND_UNKNOWN, false}, /* broken off: it may be anybody's */
	{{"libc", "lib:libgrpc_csharp_ext.so"}, WAIT_KIND_NATIVE, true},
	{{MONITOR_WAIT, "System.Threading.Condition::Wait", APP}, WAIT_KIND_EVENT, false},
	{{MONITOR_WAIT, APP}, WAIT_KIND_EVENT, false},
	{{SLIM_WAIT, "System.Threading.Tasks.Task::InternalWait", "app:Shop.Program::<Main>"}, WAIT_KIND_TASK, true},
	{{SLIM_WAIT, "System.Threading.Tasks.Task::InternalWait", "app:Shop.Program::<Main>$"}, WAIT_KIND_TASK, false},
	{{SLIM_WAIT, "System.Threading.Tasks.Task::InternalWait", APP, "app:Shop.Program::<Main>"}, WAIT_KIND_TASK, false},
	{{SLIM_WAIT, "System.Threading.Tasks.Task::InternalWait", "System.Net.Http.HttpClient::Send", APP}, WAIT_KIND_SOCKET, false},
	{{"libc", "coreclr", "System.Threading.Monitor::Enter_Slowpath", APP}, WAIT_KIND_LOCK, false},
	{{"libc", "coreclr", "System.Lazy`1::ExecutionAndPublication", "System.Lazy`1::CreateValue", APP}, WAIT_KIND_LOCK, false},
	{{"libc", "coreclr", "System.Threading.Thread::Sleep", "System.Lazy`1::ExecutionAndPublication", APP}, WAIT_KIND_SLEEP, false},
	{{"libc", "coreclr", "System.Func`1::Invoke", "System.Lazy`1::ExecutionAndPublication", APP}, WAIT_KIND_RUNTIME, false},
	{{MONITOR_WAIT, "System.Threading.SemaphoreSlim::WaitUntilCountOrTimeout", "System.Threading.SemaphoreSlim::Wait", APP}, WAIT_KIND_LOCK, false},
	{{"libc", "coreclr", "System.Threading.WaitHandle::WaitOneNoCheck", "System.Threading.Lock::TryEnterSlow", APP}, WAIT_KIND_LOCK, false},
	{{"libc", "coreclr", "System.Threading.WaitHandle::WaitOneNoCheck", "System.Threading.ReaderWriterLockSlim::WaitOnEvent", APP}, WAIT_KIND_LOCK, false},
	{{SLIM_WAIT, "System.Threading.Tasks.Task::SpinThenBlockingWait", "System.Threading.Tasks.Task`1::GetResultCore", APP}, WAIT_KIND_TASK, false},
	{{SLIM_WAIT, APP}, WAIT_KIND_EVENT, false},
	{{MONITOR_WAIT, "System.Threading.SemaphoreSlim::Wait", "System.Collections.Concurrent.BlockingCollection`1::TryTakeWithNoTimeValidation", APP},
	 WAIT_KIND_EVENT, true},
	{{MONITOR_WAIT, "System.Threading.SemaphoreSlim::Wait", "System.Collections.Concurrent.BlockingCollection`1::TryAddWithNoTimeValidation", APP},
	 WAIT_KIND_EVENT, false},
	{{"libc", "System.Net.Sockets.SocketPal::SysReceive", "System.Net.Sockets.Socket::Receive", "System.Net.Sockets.NetworkStream::Read", APP},
	 WAIT_KIND_SOCKET, false},
	{{"libc", "System.Net.Sockets.Socket::Accept", APP}, WAIT_KIND_SOCKET, true},
	{{"libc", "System.Net.Sockets.Socket::Accept", "System.Net.Sockets.TcpListener::AcceptTcpClient", APP}, WAIT_KIND_SOCKET, true},
	{{"libc", "System.IO.RandomAccess::ReadAtOffset", "System.IO.FileStream::Read", APP}, WAIT_KIND_FILE, false},
	{{"libc", "System.ConsolePal::Write", "System.IO.TextWriter+SyncTextWriter::WriteLine", "System.Console::WriteLine", APP}, WAIT_KIND_CONSOLE, false},
	{{"libc", "coreclr", "System.IO.TextWriter+SyncTextWriter::WriteLine", "System.Console::WriteLine", APP}, WAIT_KIND_CONSOLE, false},
	{{"libc", "System.ConsolePal::Read", "System.IO.StdInReader::ReadLine", "System.Console::ReadLine", APP}, WAIT_KIND_CONSOLE, true},
	{{"libc", "coreclr", "System.Threading.Thread::Sleep", APP}, WAIT_KIND_SLEEP, false},
	{{"libc", "coreclr", "System.Threading.LowLevelLifoSemaphore::WaitForSignal", "System.Threading.PortableThreadPool+WorkerThread::WorkerThreadStart"},
	 WAIT_KIND_EVENT, true},
	{{"libc", "coreclr", "System.Threading.WaitHandle::WaitOneNoCheck", "System.Threading.TimerQueue::TimerThread"}, WAIT_KIND_EVENT, true},
	{{SLIM_WAIT, "System.Threading.Tasks.Task::InternalWait", "Microsoft.Extensions.Hosting.HostingAbstractionsHostExtensions::Run", APP}, WAIT_KIND_TASK, true},
	/* what only stands above the application's method says nothing of its wait */
	{{"libc", "coreclr", "System.Threading.Thread::Sleep", APP, "System.Threading.Tasks.Task::InternalWait", "app:Shop.Program::Main"}, WAIT_KIND_SLEEP, false},
	{{"libc", "coreclr", APP}, WAIT_KIND_RUNTIME, false},
	{{"libc", "coreclr", "coreclr", "libc"}, WAIT_KIND_RUNTIME, true},
	{{"libc", "lib:libpq.so.5", APP}, WAIT_KIND_NATIVE, false},
	{{"libc", "lib:libc.so.6!pthread_cond_wait", APP}, WAIT_KIND_RUNTIME, false}, /* all that .NET 11 calls for an event is inlined */
	{{"libc", "lib:libc.so.6!pthread_cond_wait", "lib:libpq.so.5", APP}, WAIT_KIND_NATIVE, false},
	{{"libc", "lib:libc.so.6!poll", APP}, WAIT_KIND_NATIVE, false},
	{{"libc", "lib:librdkafka.so.1", "lib:librdkafka.so.1", "libc"}, WAIT_KIND_NATIVE, true},
	{{"libc", "lib:libdrdotnet.so", "libc"}, WAIT_KIND_NATIVE, true},
	{{NULL}, WAIT_KIND_UNKNOWN, false},
	/* SQLite in the process */
	{{"libc", "coreclr", "System.Threading.Thread::Sleep", "Microsoft.Data.Sqlite.SqliteDataReader::NextResult", APP}, WAIT_KIND_LOCK, false},
	{{"libc", "coreclr", "System.Threading.Thread::Sleep", APP, "Microsoft.Data.Sqlite.SqliteConnection::Invoke"}, WAIT_KIND_SLEEP, false},
	{{"libc", "lib:libe_sqlite3.so!unixSync", "lib:libe_sqlite3.so!sqlite3_step", "Microsoft.Data.Sqlite.SqliteDataReader::NextResult", APP}, WAIT_KIND_FILE, false},
	{{"libc", "lib:libe_sqlite3.so!unixSleep", "lib:libe_sqlite3.so!sqlite3_step", "Microsoft.Data.Sqlite.SqliteDataReader::NextResult", APP}, WAIT_KIND_LOCK, false},
	{{"libc", "lib:libe_sqlite3.so!sqlite3_step", "Microsoft.Data.Sqlite.SqliteDataReader::NextResult", APP}, WAIT_KIND_NATIVE, false},
	{{"libc", "lib:libother.so!unixSync", APP}, WAIT_KIND_NATIVE, false},
};

Test(wait_kind, is_told_by_what_the_application_called)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct made m;
		struct wait_meaning is;
		make(cases[i].stack, &m);
		wait_kind_of_stack(m.frames, m.stack, m.depth, &is);
		cr_assert_eq(is.kind, cases[i].kind, "%zu: %s", i, is.what);
		cr_assert_eq(is.idle, cases[i].idle, "%zu: %s", i, is.what);
	}
}

Test(wait_kind, a_worker_is_told_by_its_loop_and_not_by_who_asks_for_one)
{
	static const char *const worker[] = {"libc", APP, "System.Threading.PortableThreadPool+WorkerThread::WorkerThreadStart", NULL};
	static const char *const asks[] = {"libc", "System.Threading.PortableThreadPool+WorkerThread::MaybeAddWorkingWorker", APP, NULL};
	struct made m;
	make(worker, &m);
	cr_assert(wait_kind_is_pool_worker(m.frames, m.stack, m.depth));
	make(asks, &m);
	cr_assert_not(wait_kind_is_pool_worker(m.frames, m.stack, m.depth));
	cr_assert(wait_kind_is_pool_name(".NET TP Worker"));
	cr_assert_not(wait_kind_is_pool_name(".NET TP Gate"));
}
