#include "agent/cli/cli_library.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <limits.h>
#include <string.h>

#define LIBRARY "libdrdotnet.so"

char *cli_library_find_from(const char *exe, const char *variable, struct err *e)
{
	const char *slash = strrchr(exe, '/');
	int folder = slash ? (int)(slash - exe) : 0;
	char *places[] = {
		mem_printf("%.*s/" LIBRARY, folder, exe),
		mem_strdup(variable && *variable ? variable : ""),
		mem_printf("%.*s/../lib/drdotnet/" LIBRARY, folder, exe),
	};
	char *found = NULL;
	for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++)
		if (places[i][0] && access(places[i], R_OK) == 0)
			found = mem_strdup(places[i]);
	if (!found)
		err_set(e, ERR_NOT_FOUND, 0, "%s was not found: tried %s, DRDOTNET_LIBRARY and %s", LIBRARY, places[0], places[2]);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		free(places[i]);
	return found;
}

char *cli_library_find(struct err *e)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = '\0';
	return cli_library_find_from(exe, getenv("DRDOTNET_LIBRARY"), e);
}
