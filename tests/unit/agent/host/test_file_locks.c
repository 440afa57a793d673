#include "agent/host/file_locks.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

Test(file_locks, what_a_writer_of_sqlite_has_locked)
{
	static const struct {
		const char *line;
		bool database;
	} rows[] = {
		{"lock:\t1: POSIX  ADVISORY  WRITE 4711 fe:00:11665551 1073741825 1073741825", true},
		{"lock:\t3: POSIX  ADVISORY  WRITE 4711 fe:00:11665551 1073741824 1073742335", true},
		{"lock:\t3: POSIX  ADVISORY  WRITE 4711 fe:00:11665551 120 120", true},
		{"lock:\t1: POSIX  ADVISORY  READ 4711 fe:00:11665551 1073741826 1073742335", false},
		{"lock:\t1: POSIX  ADVISORY  WRITE 4711 fe:00:11665551 0 EOF", false},
		{"lock:\t1: FLOCK  ADVISORY  WRITE 4711 fe:00:11665551 1073741825 1073741825", false},
		{"1: POSIX  ADVISORY  WRITE 4711 fe:00:11665551 1073741825 1073741825", false},
		{"lock:\t1: POSIX  ADVISORY  WRITE 4711", false},
		{"flags:\t0100002", false},
		{"", false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(file_locks_parse_line(rows[i].line, strlen(rows[i].line)), rows[i].database, "%s", rows[i].line);
	char text[4096];
	memset(text, ' ', sizeof text);
	cr_expect_not(file_locks_parse_line(text, sizeof text));
}

Test(file_locks, of_a_process)
{
	char name[] = "/tmp/drdotnet-locks-XXXXXX";
	int fd = mkstemp(name), self = open("/proc/self", O_RDONLY | O_DIRECTORY);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000001, .l_len = 1};
	cr_assert(fd >= 0 && self >= 0);
	unlink(name);
	cr_expect_not(file_locks_database(self));
	cr_assert_eq(fcntl(fd, F_SETLK, &lock), 0);
	cr_expect(file_locks_database(self));
	close(fd);
	cr_expect_not(file_locks_database(self));
	cr_expect_not(file_locks_database(-1));
	close(self);
}
