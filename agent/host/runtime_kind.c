#include "agent/host/runtime_kind.h"

#include "agent/host/elf_probe.h"
#include "agent/host/proc.h"
#include "common/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>

static enum runtime_kind kind_by_maps(int proc_fd)
{
	struct proc_lines lines;
	if (proc_lines_open(&lines, proc_fd, "maps") < 0)
		return errno == EACCES || errno == EPERM ? RUNTIME_UNREADABLE : RUNTIME_NONE;
	enum runtime_kind kind = RUNTIME_NONE;
	const char *line;
	size_t len;
	while (kind == RUNTIME_NONE && proc_lines_next(&lines, &line, &len)) {
		struct proc_map map;
		if (proc_parse_map_line(line, len, &map) < 0)
			continue;
		if (proc_map_is(&map, "libcoreclr.so"))
			kind = RUNTIME_CORECLR;
		else if (proc_map_is(&map, "libmonosgen-2.0.so"))
			kind = RUNTIME_MONO;
	}
	proc_lines_close(&lines);
	return kind;
}

static enum runtime_kind kind_by_exports(int proc_fd)
{
	static const char *const names[] = {"g_dacTable", "DotNetRuntimeDebugHeader"};
	AUTO_FD int exe = openat(proc_fd, "exe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (exe < 0)
		return RUNTIME_NONE;
	uint32_t found = elf_probe_exports(exe, names, 2);
	bool compiled = found & 2 || (!(found & 1) && elf_probe_section(exe, "__managedcode"));
	return found & 1 ? RUNTIME_CORECLR : compiled ? RUNTIME_NATIVE_AOT : RUNTIME_NONE;
}

enum runtime_kind runtime_kind_of(int proc_fd)
{
	enum runtime_kind kind = kind_by_maps(proc_fd);
	return kind == RUNTIME_NONE ? kind_by_exports(proc_fd) : kind;
}
