#include "agent/target/runtime_build.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

Test(runtime_build, is_what_the_build_wrote)
{
	static const struct {
		const char *text, *version; /* NULL: none */
	} rows[] = {
		{"@(#)Version 10.0.1226.42308 @Commit: 95017c71", "10.0"},
		{"..@(#)Version 11.0.26.53018", "11.0"},
		{"@(#)Version 12.1.0", "12.1"},
		{"@(#)Version 12", NULL},
		{"@(#)Version ", NULL},
		{"@(#)Version x.y.z", NULL},
		{"@(#)Version -1.0.0", NULL},
		{"Version 10.0.1", NULL},
		{"@(#)Version \n@(#)Version 9.0.2026", "9.0"},
		{"", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char out[RUNTIME_BUILD_BYTES] = "";
		bool told = runtime_build_parse(rows[i].text, strlen(rows[i].text), out);
		cr_expect(told == (rows[i].version != NULL) && (!told || strcmp(out, rows[i].version) == 0), "%zu: %s", i, out);
	}
}

/* This program has the mark, and no runtime's library: as a single-file application. */
Test(runtime_build, is_looked_for_in_the_executable_too)
{
	char out[RUNTIME_BUILD_BYTES] = "";
	int proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(runtime_build_of(proc_fd, out));
	cr_expect(strcmp(out, "10.0") == 0 || strcmp(out, "11.0") == 0 || strcmp(out, "12.1") == 0, "%s", out);
	cr_assert_not(runtime_build_of_musl(proc_fd));
	close(proc_fd);
	cr_assert_not(runtime_build_of(-1, out));
}
