#include "agent/waits/wait_limits.h"

#include "agent/locks/thread_wait.h"
#include "common/base/size_text.h"

void wait_limits_note(const struct wait_capture *c, struct limits *l)
{
	if (!c->log)
		return;
	limits_note_stall(l, c->stalled_before_looks_ns + c->stalled_ns);
	if (c->lost)
		limits_note(l, "records", -1, (int64_t)c->lost, "%llu %s of context switches %s lost: waits next to them are missing.",
			    (unsigned long long)c->lost, size_text_plural((double)c->lost, "record", "records"),
			    size_text_plural((double)c->lost, "was", "were"));
	if (c->dropped)
		limits_note(l, "stacks", -1, (int64_t)c->dropped,
			    size_text_plural((double)c->dropped,
					     "The stack of %llu context switch was lost: what this wait was for is estimated from others, or not told.",
					     "The stacks of %llu context switches were lost: what these waits were for is estimated from others, or not told."),
			    (unsigned long long)c->dropped);
	if (c->refused.reason)
		limits_note(l, "switches", -1, -1,
			    "Context switches could not be recorded; %zu looks at the threads tell the shares of time. How often threads wait, and how long, "
			    "is known only of waits that several looks met. %s",
			    c->looks, c->refused.message);
	if (c->left_group)
		limits_note(l, "group", -1, -1,
			    "The process was moved to another control group during the session: what it did afterwards is not in this report.");
	if (c->more_threads || c->log->thread_count == WAIT_LOG_THREADS)
		limits_note(l, "threads", THREAD_WAITS_MAX, -1, "The process has more threads than are looked at: how the others wait is not in this report.");
	if (c->log->kept_none)
		limits_note(l, "waits", WAIT_LOG_WAITS, -1, "More waits were sampled than there is room for: the later ones are counted without their stacks.");
}
