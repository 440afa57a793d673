/* The text of /proc/PID/cgroup and of the groups' files. */
#include "agent/host/cgroup.h"
#include "agent/host/cgroup_dir.h"
#include "agent/host/cgroup_watch.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size), path[64], below[64];
	struct cgroup_identity id;
	cgroup_parse_identity(text, &id);
	size_t pod = strlen(id.pod_uid), container = strlen(id.container_id);
	if ((pod != 0 && pod != 32 && pod != 36) || (container != 0 && container != 64))
		abort();
	if (cgroup_parse_number(text) < -1 || cgroup_parse_keyed(text, "nr_periods") < -1 || cgroup_parse_cpu_max(text) < -1)
		abort();
	if (cgroup_parse_line_path(text, "cpu", path, sizeof path) && cgroup_below_root(path, "/docker", below, sizeof below) &&
	    strstr(below, "/.."))
		abort();
	if (cgroup_parse_line_path(text, NULL, path, sizeof path) && strlen(path) >= sizeof path)
		abort();
	if (cgroup_watch_place(text, &id) == CGROUP_PLACE_CONTAINER && (!id.pod_uid[0] || !id.container_id[0]))
		abort();
	free(text);
	return 0;
}
