#include "agent/profilers/stucktasks/task_type.h"

#include "agent/symbols/method_name.h"
#include "agent/symbols/span.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <string.h>

#define BOX "StateMachineBox"
#define NAME_BYTES 300
#define NEXT_AT 8 /* of a Continuation, whose classes have no names: its only reference, and those come first */

static bool task_name_begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* fields ------------------------------------------------------------------------------------------------------------- */

/* Of the object's own, or of a struct in it. */
static uint32_t field_called(const struct heap_type *t, const char *name)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < t->field_count; i++) {
		const char *field = t->fields[i].name;
		size_t n = strlen(field);
		if (n >= len && strcmp(field + n - len, name) == 0 && (n == len || field[n - len - 1] == '.'))
			return t->fields[i].offset;
	}
	return TASK_NO_FIELD;
}

static uint32_t first_field(const struct heap_type *t, const char *const *names)
{
	for (; *names; names++) {
		uint32_t at = field_called(t, *names);
		if (at != TASK_NO_FIELD)
			return at;
	}
	return TASK_NO_FIELD;
}

static void find_awaiters(const struct heap_type *t, struct task_type *out)
{
	for (size_t i = 0; i < t->field_count && out->awaited_count < sizeof out->awaited / sizeof *out->awaited; i++)
		if (strstr(t->fields[i].name, "<>u__"))
			out->awaited[out->awaited_count++] = t->fields[i].offset;
}

/* names -------------------------------------------------------------------------------------------------------------- */

static size_t without_arguments(struct span type)
{
	size_t end = 0;
	while (end < type.n && (type.s[end] != '<' || end == 0 || type.s[end - 1] == '+' || type.s[end - 1] == '.'))
		end = type.s[end] == '<' ? span_after_angle(type, end) : end + 1;
	return end;
}

/* "...+AsyncStateMachineBox`1<System.Int32,Shop.Orders+<LoadAsync>d__0>": the last one. */
void task_type_machine(const struct heap_type *t, struct buf *out)
{
	const char *raw = t->raw ? t->raw : "", *box = strstr(raw, BOX), *open = box ? strchr(box, '<') : NULL;
	struct span items[SPAN_MAX_ITEMS];
	if (!open)
		return;
	struct span list = span_of(open + 1);
	if (list.n && list.s[list.n - 1] == '>')
		list.n--;
	size_t count = span_split(list, items);
	if (count && count <= SPAN_MAX_ITEMS && memchr(items[count - 1].s, '<', items[count - 1].n))
		span_put(out, items[count - 1]);
}

void task_type_method(const char *machine, struct buf *out)
{
	struct method_name name;
	struct span whole = span_of(machine), type = span_sub(whole, 0, without_arguments(whole));
	AUTO_FREE char *text = mem_strndup(type.s ? type.s : "", type.n);
	struct frame f = {.kind = FRAME_MANAGED, .module = (char[]){""}, .type = text, .method = (char[]){"MoveNext"}};
	method_name_make(&f, &name);
	method_name_printable(name.text, NAME_BYTES, out);
}

bool task_type_counts_awaits(const char *machine)
{
	return strstr(machine, "+<") && (strstr(machine, ">d__") || strstr(machine, ">d") || strstr(machine, "VB$StateMachine"));
}

bool task_type_is_framework(const char *machine)
{
	static const char *const spaces[] = {"System.", "Microsoft.", "Npgsql.", "MySqlConnector.", "Grpc.", "StackExchange.Redis.", "RabbitMQ.", "Interop"};
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (task_name_begins(machine, spaces[i]))
			return true;
	return machine[0] == '\0';
}

/* roles -------------------------------------------------------------------------------------------------------------- */

static enum task_wait wait_of(const char *name)
{
	static const struct {
		const char *begins;
		enum task_wait wait;
	} known[] = {
		{"System.Threading.SemaphoreSlim", TASK_WAIT_SEMAPHORE},
		{"System.Threading.Tasks.Task.Delay", TASK_WAIT_TIMER},
		{"System.Threading.Tasks.Task.CancellationPromise", TASK_WAIT_TIMER}, /* WaitAsync, with a time or a token */
		{"System.Threading.PeriodicTimer", TASK_WAIT_TIMER},
		{"System.Threading.Channels.", TASK_WAIT_CHANNEL},
		{"System.Net.Sockets.", TASK_WAIT_SOCKET},
		{"System.IO.Pipelines.", TASK_WAIT_PIPE},
		{"System.Net.Http.", TASK_WAIT_HTTP},
		{"Microsoft.AspNetCore.", TASK_WAIT_SERVER},
		{"Npgsql.", TASK_WAIT_DATABASE},
		{"MySqlConnector.", TASK_WAIT_DATABASE},
		{"Microsoft.Data.SqlClient.", TASK_WAIT_DATABASE},
		{"System.Data.", TASK_WAIT_DATABASE},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (task_name_begins(name, known[i].begins))
			return known[i].wait;
	if (strcmp(name, "System.Threading.Tasks.Task") == 0 || task_name_begins(name, "System.Threading.Tasks.Task<"))
		return TASK_WAIT_COMPLETION;
	return TASK_WAIT_OTHER;
}

static void set_task(const struct heap_type *t, struct task_type *out)
{
	bool box = t->values & HEAP_VALUE_STATE;
	out->role = box ? TASK_ROLE_BOX : TASK_ROLE_PROMISE;
	out->next = field_called(t, t->values & HEAP_VALUE_TASK ? "m_continuationObject" : "_continuationState");
	out->action = field_called(t, "m_action");
	if (!box) {
		out->second = out->runtime_async		   ? field_called(t, "m_stateObject")
			      : strstr(t->name, "SemaphoreSlim") ? field_called(t, "Next")
								   : TASK_NO_FIELD;
		return;
	}
	out->second = field_called(t, "StateMachine");
}

static void set_suspended(const struct heap_type *t, struct task_type *out)
{
	static const char *const awaited[] = {"Task", "Source", NULL};
	out->role = TASK_ROLE_SUSPENDED;
	out->next = field_called(t, "Next");
	if (out->next == TASK_NO_FIELD)
		out->next = NEXT_AT;
	out->second = first_field(t, awaited);
}

static void set_link(const struct heap_type *t, struct task_type *out)
{
	static const char *const leads[] = {"m_action", "m_task", "_action", "_continuation", "_items", "_target", "m_continuationAction", NULL};
	out->next = first_field(t, leads);
	out->role = out->next == TASK_NO_FIELD ? TASK_ROLE_NONE : TASK_ROLE_LINK;
}

static bool is_link(const struct heap_type *t)
{
	static const char *const kinds[] = {"TaskContinuation", "ContinuationWrapper", "TaskSchedulerAwait", "SynchronizationContextAwait"};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strstr(t->name, kinds[i]))
			return true;
	return task_name_begins(t->name, "System.Collections.Generic.List<object>") || field_called(t, "_methodPtrAux") != TASK_NO_FIELD ||
	       (task_name_begins(t->name, "System.Action") && field_called(t, "_target") != TASK_NO_FIELD);
}

void task_type_of(const struct heap_type *t, struct task_type *out)
{
	*out = (struct task_type){.next = TASK_NO_FIELD, .second = TASK_NO_FIELD, .action = TASK_NO_FIELD};
	out->wait = wait_of(t->name);
	out->runtime_async = task_name_begins(t->name, "System.Runtime.CompilerServices.AsyncHelpers.RuntimeAsyncTask");
	out->feeds = task_name_begins(t->name, "System.Threading.Tasks.Dataflow.");
	if (t->raw && task_type_counts_awaits(t->raw))
		find_awaiters(t, out);
	if (t->values & HEAP_VALUE_METHOD) {
		set_suspended(t, out);
	} else if (t->values & (HEAP_VALUE_TASK | HEAP_VALUE_STATE)) {
		set_task(t, out);
	} else if (t->values & HEAP_VALUE_COUNT) {
		out->role = TASK_ROLE_SEMAPHORE;
		out->next = field_called(t, "m_asyncHead");
	} else if (t->values & HEAP_VALUE_HANDLED) {
		out->role = TASK_ROLE_FAULT;
		out->next = field_called(t, "m_task");
	} else if (t->values & HEAP_VALUE_OPEN) {
		out->role = TASK_ROLE_POOL;
	} else if (strcmp(t->name, "object[]") == 0) {
		out->role = TASK_ROLE_LINKS;
	} else if (strstr(t->name, "SetOnInvokeMres") || strstr(t->name, "SetOnCountdownMres")) {
		out->role = TASK_ROLE_BLOCKER;
	} else if (strstr(t->name, "TaskCompletionSource")) {
		out->role = TASK_ROLE_COMPLETER;
		out->second = field_called(t, "_task");
	} else if (is_link(t)) {
		set_link(t, out);
	} else {
		static const char *const states[] = {"_continuationState", "_completionState", "_completion", NULL};
		out->next = t->flags & HEAP_TYPE_ARRAY ? TASK_NO_FIELD : first_field(t, states);
		out->role = out->next == TASK_NO_FIELD ? TASK_ROLE_NONE : TASK_ROLE_SOURCE;
	}
}

/* words -------------------------------------------------------------------------------------------------------------- */
static const struct {
	const char *key, *words;
} waits[TASK_WAITS] = {
	[TASK_WAIT_UNKNOWN] = {"unknown", "something that is not known"},
	[TASK_WAIT_NOTHING] = {"nothing", "nothing: it runs, or is about to"},
	[TASK_WAIT_COMPLETION] = {"completion", "a TaskCompletionSource"},
	[TASK_WAIT_WORK] = {"work", "work on the thread pool"},
	[TASK_WAIT_SEMAPHORE] = {"semaphore", "a SemaphoreSlim"},
	[TASK_WAIT_TIMER] = {"timer", "a timer"},
	[TASK_WAIT_SOCKET] = {"socket", "a socket"},
	[TASK_WAIT_CHANNEL] = {"channel", "a channel"},
	[TASK_WAIT_PIPE] = {"pipe", "a pipe"},
	[TASK_WAIT_HTTP] = {"http", "an HTTP response or connection"},
	[TASK_WAIT_DATABASE] = {"database", "a database"},
	[TASK_WAIT_SERVER] = {"server", "a client of the web server"},
	[TASK_WAIT_OTHER] = {"other", "something else"},
};

const char *task_wait_key(enum task_wait w)
{
	return w < TASK_WAITS ? waits[w].key : "unknown";
}

const char *task_wait_words(enum task_wait w)
{
	return w < TASK_WAITS ? waits[w].words : "something";
}
