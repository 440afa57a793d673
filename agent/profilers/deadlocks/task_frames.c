#include "agent/profilers/deadlocks/task_frames.h"

#include <string.h>

#define STATE_MACHINE_SPAN 512 /* of a task, from its address: a state machine's first byte lies within */

#define TASKS "System.Threading.Tasks."
#define BUILDERS "System.Runtime.CompilerServices."

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool runs_delegate(const char *type, const char *method)
{
	static const char *const methods[] = {"InnerInvoke", "ExecuteWithThreadLocal", "ExecuteEntryUnsafe", "ExecuteEntry", "ExecuteFromThreadPool"};
	bool task = strcmp(type, TASKS "Task") == 0 || strcmp(type, TASKS "Task`1") == 0 || begins_with(type, TASKS "Continuation");
	for (size_t i = 0; task && i < sizeof methods / sizeof *methods; i++)
		if (strcmp(method, methods[i]) == 0)
			return true;
	return false;
}

enum task_role task_frames_role(const char *type, const char *method)
{
	if (!type || !method)
		return TASK_ROLE_NONE;
	if (runs_delegate(type, method))
		return TASK_ROLE_DELEGATE;
	if (strcmp(type, "System.Threading.ExecutionContext") == 0 && begins_with(method, "Run"))
		return TASK_ROLE_CONTEXT;
	size_t n = strlen(method);
	if (n >= 11 && strcmp(method + n - 11, "OnCompleted") == 0)
		return TASK_ROLE_HOOK;
	bool box = begins_with(type, BUILDERS "AsyncTaskMethodBuilder`1+") && strstr(type, "AsyncStateMachineBox`1");
	return box && (strcmp(method, "MoveNext") == 0 || strcmp(method, "ExecuteFromThreadPool") == 0) ? TASK_ROLE_ASYNC : TASK_ROLE_NONE;
}

/* Of the frame that the pair `i` returns to: that frame's own pair is the one to which this one leads. Where pairs lie above what else their frames hold,
 * it has the words between the two; else, those behind its own. */
static void give_words(const struct arch *arch, struct task_frames *f, size_t i, size_t count)
{
	bool own = i + 1 < f->count;
	uint32_t next = own ? f->leads[i + 1] : (uint32_t)count;
	if (!arch->pair_below) {
		f->first[i] = f->pairs[i] + 2;
		f->end[i] = f->leads[i];
	} else {
		f->first[i] = f->leads[i] + 2 < next ? f->leads[i] + 2 : next;
		f->end[i] = next;
	}
}

void task_frames_find(const struct arch *arch, uint64_t sp, const uint64_t *words, size_t count, sleeping_stack_code_fn *is_code, void *ctx,
		      struct task_frames *out)
{
	uint64_t at = sleeping_stack_frame_pointer(sp, (const uint8_t *)words, count * sizeof *words, is_code, ctx);
	bool inside = true;
	out->count = 0;
	while (inside && out->count < TASK_FRAMES_MAX && at >= sp && (at - sp) / 8 + 1 < count && (at & 7) == (sp & 7)) {
		size_t i = (size_t)((at - sp) / 8);
		uint64_t next = words[i], address = words[i + 1] & arch->code->address_bits;
		if (address <= 0x10000 || !is_code(ctx, address - 1))
			break;
		inside = next > at + 8 && next < sp + 8 * count;
		out->returns[out->count] = address;
		out->roles[out->count] = TASK_ROLE_NONE;
		out->pairs[out->count] = (uint32_t)i;
		out->leads[out->count++] = (uint32_t)(inside ? (next - sp) / 8 : count);
		at = next;
	}
	for (size_t i = 0; i < out->count; i++)
		give_words(arch, out, i, count);
}

static enum task_role role_behind(const struct task_frames *f, size_t frame)
{
	return frame + 1 < f->count ? f->roles[frame + 1] : TASK_ROLE_NONE;
}

/* `this` is kept in a frame, or in that of the function called next, which may have saved it. A step of an async method has its state machine's address,
 * which lies in the task. */
static bool is_run_in(const struct task_frames *f, size_t frame, enum task_role wanted, uint64_t word, uint64_t task)
{
	enum task_role role = f->roles[frame], behind = role_behind(f, frame);
	if (role == TASK_ROLE_CONTEXT)
		role = behind;
	if (role == wanted)
		return word == task;
	if (behind == TASK_ROLE_CONTEXT)
		behind = role_behind(f, frame + 1);
	return wanted == TASK_ROLE_ASYNC && behind == TASK_ROLE_ASYNC && word > task && word - task < STATE_MACHINE_SPAN;
}

bool task_frames_run(const struct task_frames *f, const uint64_t *words, enum task_kind kind, uint64_t task)
{
	enum task_role wanted = kind == TASK_KIND_ASYNC ? TASK_ROLE_ASYNC : TASK_ROLE_DELEGATE;
	for (size_t i = 0; i < f->count; i++) {
		if (wanted == TASK_ROLE_ASYNC && f->roles[i] == TASK_ROLE_HOOK)
			return false;
		for (uint32_t k = f->first[i]; k < f->end[i]; k++)
			if (is_run_in(f, i, wanted, words[k], task))
				return true;
	}
	return false;
}
