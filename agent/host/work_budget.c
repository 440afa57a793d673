#include "agent/host/work_budget.h"

#include <stdio.h>
#include <time.h>

#define CLOCK_STEPS 4096 /* between looks at the clock and the flag: a fraction of a millisecond */

static _Thread_local const atomic_bool *stop_flag;
static _Thread_local unsigned passed;

static int64_t thread_cpu_ns(void)
{
	struct timespec t = {0};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void work_budget_init(struct work_budget *b, enum work_kind kind)
{
	*b = (struct work_budget){.kind = kind};
}

void work_budget_begin(struct work_budget *b)
{
	b->begun = true;
	b->from_ns = thread_cpu_ns();
	b->clock_at = b->steps;
}

void work_budget_begin_anew(struct work_budget *b, enum work_kind kind)
{
	work_budget_init(b, kind);
	work_budget_begin(b);
}

void work_budget_end(struct work_budget *b)
{
	if (b->begun)
		b->cpu_ns += thread_cpu_ns() - b->from_ns;
	b->begun = false;
}

static bool is_told_to_stop(void)
{
	return stop_flag && atomic_load_explicit(stop_flag, memory_order_relaxed);
}

static bool pass(struct work_budget *b)
{
	b->over = true;
	passed |= 1u << b->kind;
	return false;
}

static bool clock_allows(struct work_budget *b)
{
	b->clock_at = b->steps + CLOCK_STEPS;
	b->over = is_told_to_stop();
	return !b->over && (b->cpu_ns + thread_cpu_ns() - b->from_ns <= WORK_CPU_NS || pass(b));
}

bool work_budget_spend(struct work_budget *b, uint64_t steps)
{
	if (!b || !b->begun)
		return true;
	if (b->over)
		return false;
	if (steps > WORK_STEPS - b->steps)
		return pass(b);
	b->steps += steps;
	return b->steps < b->clock_at || clock_allows(b);
}

bool work_budget_over(const struct work_budget *b)
{
	return b && b->over;
}

void work_budget_leave_out(struct work_budget *b)
{
	if (b && b->begun)
		passed |= 1u << b->kind;
}

void work_thread_begin(const atomic_bool *stop)
{
	stop_flag = stop;
	passed = 0;
}

unsigned work_thread_passed(void)
{
	return passed;
}

const char *work_words(unsigned kinds, char out[WORK_WORDS_BYTES])
{
	static const char *const words[WORK_KINDS] = {"locks and queues", "method names", "source lines", "native symbols"};
	size_t used = 0, left = (size_t)__builtin_popcount(kinds & ((1u << WORK_KINDS) - 1));
	out[0] = '\0';
	for (size_t i = 0; i < WORK_KINDS; i++) {
		if (!(kinds >> i & 1))
			continue;
		used += (size_t)snprintf(out + used, WORK_WORDS_BYTES - used, "%s%s", words[i], left > 2 ? ", " : left == 2 ? " and " : "");
		left--;
	}
	return out;
}
