#include "agent/profilers/leak/leak_plan.h"

int64_t leak_plan_next_ns(int64_t walked_ns, int64_t end_ns, size_t left)
{
	int64_t time_ns = end_ns - walked_ns;
	return left <= 1 || time_ns <= 0 ? end_ns : walked_ns + time_ns / (int64_t)left;
}
