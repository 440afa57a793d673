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
		{"", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char out[RUNTIME_BUILD_BYTES] = "";
		bool told = runtime_build_parse(rows[i].text, strlen(rows[i].text), out);
		cr_expect(told == (rows[i].version != NULL) && (!told || strcmp(out, rows[i].version) == 0), "%zu: %s", i, out);
	}
}

Test(runtime_build, of_a_process_without_a_runtime_is_none)
{
	char out[RUNTIME_BUILD_BYTES];
	int proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_not(runtime_build_of(proc_fd, out));
	close(proc_fd);
}
