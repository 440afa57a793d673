#include "agent/link/link_ca.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(link_ca, asks_less_often_by_and_by)
{
	static const struct {
		int asked;
		int64_t most;
	} rows[] = {{1, 1000}, {2, 2000}, {3, 4000}, {4, 6000}, {5, 6000}, {1000000, 6000}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int64_t half = rows[i].most / 2;
		cr_expect_eq(link_ca_wait_ms(rows[i].asked, 0), half);
		cr_expect_eq(link_ca_wait_ms(rows[i].asked, (uint32_t)half), rows[i].most);
		cr_expect_eq(link_ca_wait_ms(rows[i].asked, (uint32_t)half + 1), half);
	}
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
}

Test(link_ca, the_file_of_the_kubelet_counts_first)
{
	char folder[] = "/tmp/drdotnet-link-ca-XXXXXX", file[64], copy[64];
	cr_assert_not_null(mkdtemp(folder));
	snprintf(file, sizeof file, "%s/ca.crt", folder);
	snprintf(copy, sizeof copy, "%s/copy.crt", folder);
	write_text(copy, "of an earlier run");
	struct link_ca *c = link_ca_new(&(struct link_ca_config){.file = file, .access = folder, .copy = copy}, NULL);
	cr_assert_not_null(c);
	cr_expect_eq(access(copy, F_OK), -1);
	cr_expect_str_eq(link_ca_file(c), file); /* neither is there: that is the one to complain of */
	write_text(copy, "read from the API server");
	cr_expect_str_eq(link_ca_file(c), copy);
	write_text(file, "");
	cr_expect_str_eq(link_ca_file(c), copy);
	write_text(file, "brought by the kubelet");
	cr_expect_str_eq(link_ca_file(c), file);
	link_ca_free(c);
	cr_expect_null(link_ca_file(NULL));
	unlink(file);
	unlink(copy);
	rmdir(folder);
}
