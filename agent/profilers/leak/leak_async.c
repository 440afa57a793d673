#include "agent/profilers/leak/leak_async.h"

#include "agent/symbols/type_pattern.h"
#include "agent/profilers/leak/leak_pattern.h"
#include "agent/symbols/method_name.h"

#include <string.h>

#define STATE "StateMachineBox<"
#define SHARED "StateMachineBox<_>"  /* its state machine is an object of its own, as in debug builds */
#define STATE_FIELD "StateMachine"
#define CLOSURE ".(closure)"
#define NAME_BYTES 300
#define BELOW_MAX 16

static bool is_state(const struct leak_model *m, uint32_t step)
{
	return m->steps[step].parent != LEAK_NONE && strstr(leak_model_text(m, m->steps[step].name), STATE);
}

/* The child of which there is most more. */
static uint32_t child_that_grew(const struct leak_model *m, uint32_t step)
{
	uint32_t found = LEAK_NONE;
	for (uint32_t i = step + 1; i < m->step_count; i++) {
		if (m->steps[i].parent == step && (found == LEAK_NONE || leak_model_more(m, i) > leak_model_more(m, found)))
			found = i;
	}
	return found;
}

uint32_t leak_async_state(const struct leak_model *m, uint32_t payload)
{
	for (uint32_t s = payload; s != LEAK_NONE; s = m->steps[s].parent) {
		if (is_state(m, s))
			return s;
	}
	uint32_t s = payload;
	for (int i = 0; i < BELOW_MAX && (s = child_that_grew(m, s)) != LEAK_NONE; i++) {
		if (leak_model_more(m, s) * 2 < leak_model_more(m, payload) || !type_pattern_is_framework(leak_model_text(m, m->steps[s].name)))
			return LEAK_NONE;
		if (is_state(m, s))
			return s;
	}
	return LEAK_NONE;
}

/* "AsyncTaskMethodBuilder<int>.AsyncStateMachineBox<Feed.Listen>" */
static bool put_argument(struct buf *out, const char *shown)
{
	const char *from = strstr(shown, STATE), *end = from ? strrchr(from, '>') : NULL;
	if (!end)
		return false;
	from += sizeof STATE - 1;
	AUTO_BUF struct buf name;
	buf_init(&name, 4096);
	buf_append(&name, from, (size_t)(end - from));
	method_name_printable(buf_str(&name), NAME_BYTES, out);
	return true;
}

bool leak_async_method(struct buf *out, const struct leak_model *m, uint32_t state)
{
	const char *shown = leak_model_text(m, m->steps[state].shown);
	if (!strstr(shown, SHARED))
		return put_argument(out, shown);
	for (uint32_t i = state + 1; i < m->step_count; i++) {
		if (m->steps[i].parent != state || strcmp(leak_model_text(m, m->steps[i].field), STATE_FIELD) != 0)
			continue;
		method_name_printable(leak_model_text(m, m->steps[i].shown), NAME_BYTES, out);
		return true;
	}
	return false;
}

/* What lies between a task and the state of the method that awaits it. */
static bool is_between(const char *type)
{
	static const char *const kinds[] = {"object[]", "System.Collections.Generic.List<object>", "System.Action", "ContinuationWrapper",
					    "TaskContinuation", "TaskSchedulerAwait", "(closure)"};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strstr(type, kinds[i]))
			return true;
	}
	return false;
}

static const char *awaited_words(const char *type)
{
	static const struct {
		const char *type, *words;
	} known[] = {
		{"System.Threading.Tasks.Task.Delay", "Task.Delay"},
		{"System.Threading.Tasks.Task.CancellationPromise", "Task.WaitAsync"},
		{"System.Threading.Tasks.Task.WhenAll", "Task.WhenAll"},
		{"System.Threading.Tasks.TaskFactory.CompleteOnInvokePromise", "Task.WhenAny"},
		{"System.Threading.SemaphoreSlim", "SemaphoreSlim.WaitAsync"},
		{"System.Threading.PeriodicTimer", "PeriodicTimer.WaitForNextTickAsync"},
		{"System.Threading.Channels.", "a channel"},
		{"System.Net.Sockets.", "a socket"},
		{"System.IO.Pipelines.", "a pipe"},
		{"System.Threading.Tasks.Task", "a task that nobody completes"},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (strncmp(type, known[i].type, strlen(known[i].type)) == 0)
			return known[i].words;
	}
	return NULL;
}

bool leak_async_awaits(struct buf *out, const struct leak_model *m, uint32_t state)
{
	for (uint32_t s = m->steps[state].parent; s != LEAK_NONE && m->steps[s].parent != LEAK_NONE; s = m->steps[s].parent) {
		const char *type = leak_model_text(m, m->steps[s].name), *words = awaited_words(type);
		if (is_between(type))
			continue;
		if (is_state(m, s))
			return leak_async_method(out, m, s);
		if (words)
			buf_puts(out, words);
		else
			method_name_printable(leak_model_text(m, m->steps[s].shown), NAME_BYTES, out);
		return true;
	}
	return false;
}

bool leak_async_closure(struct buf *out, const struct leak_model *m, uint32_t payload)
{
	for (uint32_t s = payload; m->steps[s].parent != LEAK_NONE; s = m->steps[s].parent) {
		const char *shown = leak_model_text(m, m->steps[s].shown);
		size_t n = strlen(shown), tail = sizeof CLOSURE - 1;
		if (n <= tail || strcmp(shown + n - tail, CLOSURE) != 0)
			continue;
		AUTO_BUF struct buf name;
		buf_init(&name, 4096);
		buf_append(&name, shown, n - tail);
		method_name_printable(buf_str(&name), NAME_BYTES, out);
		return true;
	}
	return false;
}
