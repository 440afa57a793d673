/* An executable of a pod. */
#include "agent/host/elf_probe.h"
#include "agent/target/runtime_build.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"g_dacTable", "DotNetRuntimeDebugHeader"};
	static int fd = -1;
	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	if (elf_probe_exports(fd, names, 2) > 3)
		abort();
	char build[RUNTIME_BUILD_BYTES];
	elf_probe_section(fd, "__managedcode");
	if (runtime_build_parse((const char *)data, size, build) && strnlen(build, sizeof build) == sizeof build)
		abort();
	return 0;
}
