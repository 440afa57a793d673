#include "common/base/fsio.h"

#include "common/base/cleanup.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[64];
static int folder_fd;

static void set_up(void)
{
	strcpy(folder, "/tmp/fsio-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
}

static void tear_down(void)
{
	char command[100];
	close(folder_fd);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	cr_expect_eq(system(command), 0);
}

TestSuite(fsio, .init = set_up, .fini = tear_down);

static void make(const char *name, const char *content, size_t len)
{
	AUTO_FD int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	cr_assert_eq(fsio_write_all(fd, content, len), 0);
}

Test(fsio, reads_up_to_the_maximum)
{
	static char content[50000];
	for (size_t i = 0; i < sizeof content; i++)
		content[i] = (char)(i * 7);
	make("f", content, sizeof content);
	make("empty", "", 0);
	for (size_t max = sizeof content - 1; max <= sizeof content + 1; max++) {
		AUTO_BUF struct buf out;
		struct err e = ERR_INIT;
		int rc = fsio_read(folder_fd, "f", max, &out, &e);
		cr_expect_eq(rc, max >= sizeof content ? 0 : -1);
		cr_expect_eq(e.kind, max >= sizeof content ? ERR_NONE : ERR_INVALID);
		if (rc == 0)
			cr_expect(out.len == sizeof content && memcmp(out.data, content, out.len) == 0);
	}
	AUTO_BUF struct buf out;
	struct err e = ERR_INIT;
	cr_expect_eq(fsio_read(folder_fd, "empty", 0, &out, &e), 0);
	cr_expect_eq(out.len, 0);
	cr_expect_str_eq(buf_str(&out), "");
}

Test(fsio, errors_say_what_and_why)
{
	AUTO_BUF struct buf out, out2;
	struct err e = ERR_INIT;
	cr_expect_eq(fsio_read(folder_fd, "absent", 10, &out, &e), -1);
	cr_expect_eq(e.kind, ERR_NOT_FOUND);
	cr_expect_not_null(strstr(e.message, "absent"));
	struct err of_folder = ERR_INIT;
	cr_expect_eq(fsio_read(AT_FDCWD, folder, 10, &out2, &of_folder), -1);
	cr_expect_not_null(strstr(of_folder.message, "Is a directory"), "%s", of_folder.message);
}

Test(fsio, small_reads_are_cut_and_lose_one_newline)
{
	static const struct {
		const char *content, *got;
		size_t size;
	} rows[] = {{"abc\n", "abc", 10}, {"abc", "abc", 10}, {"abc\n\n", "abc\n", 10}, {"", "", 10}, {"\n", "", 10},
		    {"abcdef", "abc", 4}, {"abcdef", "abcdef", 7}, {"abcdef", "abcde", 6}, {"abcdef", "", 1}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char out[10];
		memset(out, '#', sizeof out);
		out[sizeof out - 1] = '\0';
		make("f", rows[i].content, strlen(rows[i].content));
		cr_expect_eq(fsio_read_small(folder_fd, "f", out, rows[i].size), (ssize_t)strlen(rows[i].got), "row %zu", i);
		cr_expect_str_eq(out, rows[i].got, "row %zu", i);
	}
	char out[10];
	errno = 0;
	cr_expect_eq(fsio_read_small(folder_fd, "absent", out, sizeof out), -1);
	cr_expect_eq(errno, ENOENT);
}

Test(fsio, atomic_writes_replace_and_leave_no_other_file)
{
	char path[100], got[20];
	struct err e = ERR_INIT;
	struct stat st;
	snprintf(path, sizeof path, "%s/state", folder);
	cr_expect_eq(fsio_write_atomic(path, "one", 3, 0600, &e), 0, "%s", e.message);
	cr_expect_eq(fsio_write_atomic(path, "second", 6, 0644, &e), 0, "%s", e.message);
	cr_expect_eq(fsio_read_small(AT_FDCWD, path, got, sizeof got), 6);
	cr_expect_str_eq(got, "second");
	cr_expect_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0644);
	char busy[120];
	snprintf(busy, sizeof busy, "%s/folder", folder);
	cr_expect_eq(mkdir(busy, 0700), 0);
	cr_expect_eq(fsio_write_atomic(busy, "x", 1, 0600, &e), -1);
	cr_expect_not_null(strstr(e.message, "cannot write"));
	struct err absent = ERR_INIT;
	snprintf(busy, sizeof busy, "%s/no/such", folder);
	cr_expect_eq(fsio_write_atomic(busy, "x", 1, 0600, &absent), -1);
	cr_expect_eq(absent.kind, ERR_NOT_FOUND);
	AUTO_DIR DIR *dir = opendir(folder);
	int entries = 0;
	while (readdir(dir))
		entries++;
	cr_expect_eq(entries, 4, "., .., state, folder; found %d", entries);
}

Test(fsio, makes_folders_on_the_way)
{
	char path[200];
	struct err e = ERR_INIT;
	snprintf(path, sizeof path, "%s/a//b/c/", folder);
	cr_expect_eq(fsio_mkdir_p(path, 0700, &e), 0, "%s", e.message);
	cr_expect_eq(fsio_mkdir_p(path, 0700, &e), 0, "again");
	cr_expect_eq(faccessat(folder_fd, "a/b/c", F_OK, 0), 0);
	make("file", "", 0);
	snprintf(path, sizeof path, "%s/file/below", folder);
	cr_expect_eq(fsio_mkdir_p(path, 0700, &e), -1);
	cr_expect_not_null(strstr(e.message, "file/below"), "%s", e.message);
	cr_expect_eq(fsio_mkdir_p("", 0700, &e), -1);
	static char endless[5000];
	memset(endless, 'a', sizeof endless - 1);
	struct err too_long = ERR_INIT;
	cr_expect_eq(fsio_mkdir_p(endless, 0700, &too_long), -1);
	cr_expect_eq(too_long.kind, ERR_INVALID);
}

Test(fsio, write_all_reports_a_full_disk)
{
	AUTO_FD int full = open("/dev/full", O_WRONLY);
	errno = 0;
	cr_expect_eq(fsio_write_all(full, "x", 1), -1);
	cr_expect_eq(errno, ENOSPC);
	cr_expect_eq(fsio_write_all(full, "", 0), 0);
}
