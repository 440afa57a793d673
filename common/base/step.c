#include "common/base/step.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <errno.h>
#include <fcntl.h>

void step_come(const char *name)
{
	const char *folder = getenv("DRDOTNET_STEPS");
	if (!folder)
		return;
	AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC); /* waits for the other end */
	char byte;
	while (fd >= 0 && (read(fd, &byte, 1) > 0 || errno == EINTR))
		errno = 0;
}
