/* The parsers of /proc files. The first byte chooses the parser. */
#include "agent/diag/diag_env.h"
#include "agent/host/file_locks.h"
#include "agent/host/listening.h"
#include "agent/host/proc.h"
#include "agent/host/process_exit.h"
#include "agent/target/gc_settings.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_lines(const char *text, size_t len)
{
	struct proc_map map;
	struct proc_mount mount;
	uint64_t inode = 0;
	int port = 0;
	if (listening_parse_line(text, len, &port, &inode) && (port < 1 || port > 65535 || !inode))
		abort();
	if (file_locks_parse_line(text, len) && (len < 5 || !memmem(text, len, "lock:", 5)))
		abort();
	if (proc_parse_map_line(text, len, &map) == 0) {
		if (map.path < text || map.path + map.path_len > text + len || map.end < map.start)
			abort();
		proc_map_is(&map, "libcoreclr.so");
	}
	if (proc_parse_mount_line(text, len, &mount) == 0 && (mount.point[0] != '/' || !mount.fs_type[0]))
		abort();
}

/* As a block of variables and as a runtimeconfig.json. */
static void parse_gc_settings(const char *text, size_t len)
{
	struct gc_settings s;
	gc_settings_init(&s);
	gc_settings_file(&s, text, len);
	gc_settings_environment(&s, text, len);
	for (size_t i = 0; i < GC_SETTING_COUNT; i++)
		if (s.of[i].value < -1 || (s.of[i].value >= 0) != (s.of[i].origin != GC_NOT_SET))
			abort();
}

static void parse_environment(const char *block, size_t len)
{
	char tmp[64];
	diag_env_disabled(block, len);
	diag_env_suspends(block, len);
	if (diag_env_tmpdir(block, len, tmp, sizeof tmp) == 0 && (tmp[0] != '/' || (tmp[1] && tmp[strlen(tmp) - 1] == '/')))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	char *text = text_of(data + 1, size - 1);
	struct proc_stat stat;
	struct proc_status status;
	switch (data[0] % 4) {
	case 0:
		if (proc_parse_stat(text, &stat) == 0 && strlen(stat.comm) >= sizeof stat.comm)
			abort();
		if (process_exit_parse_stat(text) < -1 || process_exit_parse_stat(text) > 0xffff)
			abort();
		if (proc_parse_schedstat(text) < -1 || proc_parse_pressure(text) < -1 || proc_parse_descriptor_limit(text) < -1)
			abort();
		break;
	case 1:
		if (proc_parse_status(text, &status) == 0 && status.inner_pid <= 0)
			abort();
		break;
	case 2: {
		char *exact = malloc(size - 1 ? size - 1 : 1); /* no NUL behind it */
		memcpy(exact, data + 1, size - 1);
		parse_lines(exact, size - 1);
		free(exact);
		break;
	}
	default: {
		char *exact = malloc(size - 1 ? size - 1 : 1);
		memcpy(exact, data + 1, size - 1);
		parse_environment(exact, size - 1);
		parse_gc_settings(exact, size - 1);
		free(exact);
	}
	}
	free(text);
	return 0;
}
