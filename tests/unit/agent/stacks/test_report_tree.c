#include "agent/stacks/report_tree.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* What report_tree_times() makes of the list, in *out. */
static void times_of(struct report_tree_time *list, size_t count, struct buf *out)
{
	char folder[] = "/tmp/drdotnet-test-XXXXXX";
	struct report_file f;
	struct link_report described;
	struct err e = ERR_INIT;
	cr_assert(mkdtemp(folder));
	AUTO_FD int dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(report_file_begin(&f, dirfd, "report.json", &e), 0, "%s", e.message);
	jsonw_object(&f.json, NULL);
	report_tree_times(&f, list, count);
	jsonw_end(&f.json);
	cr_assert_eq(report_file_commit(&f, "application/json", &described, &e), 0, "%s", e.message);
	report_file_fini(&f);
	buf_init(out, 32u << 20);
	cr_assert_eq(fsio_read(dirfd, "report.json", 32u << 20, out, &e), 0, "%s", e.message);
	unlinkat(dirfd, "report.json", 0);
	rmdir(folder);
}

/* Of one node and time there is one entry, wherever its samples stood. */
Test(report_tree, times_of_a_node_are_joined)
{
	struct report_tree_time list[] = {{2, 5, 1}, {1, 7, 2}, {2, 5, 3}, {2, 1, 1}, {1, 7, 1}};
	AUTO_BUF struct buf text;
	times_of(list, 5, &text);
	cr_expect_str_eq(buf_str(&text), "{\n\"leavesOverTime\":{\"node\":[1,2,2],\n\"bucket\":[7,1,5],\n\"weight\":[3,1,4]}}");
}

Test(report_tree, times_are_bounded_and_their_absence_is_told)
{
	for (size_t over = 0; over < 2; over++) {
		size_t count = REPORT_TREE_TIMES_MAX + over;
		AUTO_FREE struct report_tree_time *list = mem_calloc(count, sizeof *list);
		AUTO_BUF struct buf text;
		for (size_t i = 0; i < count; i++)
			list[i] = (struct report_tree_time){(uint32_t)(i / 60), (uint32_t)(i % 60), 1};
		times_of(list, count, &text);
		cr_expect_eq(strcmp(buf_str(&text), "{\n\"leavesOverTime\":null}") == 0, over == 1);
	}
}
