#include "controller/sessions/session_counts.h"

#include "common/base/cleanup.h"
#include "controller/base/metrics.h"

#include <criterion/criterion.h>
#include <string.h>

Test(session_counts, ends_are_counted_by_reason_and_whose_fault_it_is)
{
	AUTO_BUF struct buf out;
	buf_init(&out, 65536);
	session_counts_begin();
	session_counts_ended("Completed", "Completed");
	session_counts_ended("NoDotnetProcess", "NoDotnetProcess");
	session_counts_ended("DeadlineExceeded", "PodNotFound");
	session_counts_ended("DeadlineExceeded", "DeadlineExceeded");
	session_counts_ended("DeadlineExceeded", "NodeWithoutAgent");
	cr_assert_eq(metrics_render(&out), 0);
	static const char *const lines[] = {"{reason=\"Completed\",fault=\"none\"} 1\n", "{reason=\"NoDotnetProcess\",fault=\"other\"} 1\n",
					    "{reason=\"DeadlineExceeded\",fault=\"other\"} 1\n",
					    "{reason=\"DeadlineExceeded\",fault=\"installation\"} 2\n",
					    "{reason=\"UploadFailed\",fault=\"installation\"} 0\n"};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		cr_expect(strstr(buf_str(&out), lines[i]), "%s in\n%s", lines[i], buf_str(&out));
	cr_expect_null(strstr(buf_str(&out), "Profiling"), "no end");
}
