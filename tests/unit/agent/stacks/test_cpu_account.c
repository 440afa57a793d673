#include "agent/stacks/cpu_account.h"

#include <criterion/criterion.h>

Test(cpu_account, a_deleted_pods_limit_is_still_its_limit)
{
	static const struct {
		int64_t begin_limit, usage_ns, limit;
		bool same;
	} rows[] = {
		{500, 7, 500, true},  {500, 7, 1000, true}, /* resized in place */
		{500, 7, 0, false},   /* its last process is in the root's group */
		{500, -1, -1, false}, {0, 7, 0, true},      {0, 7, 500, true}, {0, -1, -1, false}, {-1, 7, 0, true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct cgroup_cpu begin = {.limit_millicores = rows[i].begin_limit}, now = {.usage_ns = rows[i].usage_ns, .limit_millicores = rows[i].limit};
		cr_expect_eq(cpu_account_same_group(&begin, &now), rows[i].same, "row %zu", i);
	}
}
