#include "agent/observe/observe_group.h"

#include "agent/host/cgroup_dir.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/link/link_msg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void observe_group_fini(struct observe_group *g)
{
	if (!g)
		return;
	free(g->folder);
	*g = (struct observe_group){0};
}

/* Of the container's own group, else of its pod's (a limit of the whole pod); what is above those is the node's. */
static int64_t limit_of(const struct cgroup_dir *pod, const struct cgroup_dir *container, enum link_resource resource)
{
	int64_t (*read)(const struct cgroup_dir *) = resource == LINK_RESOURCE_CPU ? cgroup_dir_quota_millicores : cgroup_dir_memory_limit;
	int64_t limit = read(container);
	if (limit <= 0)
		limit = read(pod);
	return limit > 0 ? limit : 0;
}

/* One controller's walk; `use` is called for each container that was found. */
typedef void use_fn(struct observe_group *g, const struct link_observation *o, const struct cgroup_dir *pod, const struct cgroup_dir *container);

static void walk_pods(const char *proc_root, const char *controller, enum link_resource resource, const struct link_observation *const *items,
		      size_t count, struct observe_group *out, use_fn *use)
{
	AUTO_FREE struct link_pod_usage *pods = mem_calloc(count, sizeof *pods);
	AUTO_FREE struct cgroup_dir *dirs = mem_calloc(count, sizeof *dirs);
	bool any = false;
	for (size_t i = 0; i < count; i++) {
		if (items[i]->resource == resource)
			memcpy(pods[i].pod_uid, items[i]->pod_uid, sizeof pods[i].pod_uid);
		any |= items[i]->resource == resource;
	}
	if (!any)
		return;
	cgroup_dirs_of_pods(proc_root, controller, pods, count, dirs);
	for (size_t i = 0; i < count; i++) {
		struct cgroup_dir container = dirs[i];
		if (items[i]->resource == resource && cgroup_dir_enter_container(&container, items[i]->container_id))
			use(&out[i], items[i], &dirs[i], &container);
	}
}

static void use_folder(struct observe_group *g, const struct link_observation *o, const struct cgroup_dir *pod, const struct cgroup_dir *container)
{
	g->folder = mem_strdup(container->path);
	g->v2 = container->v2;
	g->limit = limit_of(pod, container, o->resource);
}

static void use_limit(struct observe_group *g, const struct link_observation *o, const struct cgroup_dir *pod, const struct cgroup_dir *container)
{
	g->limit = limit_of(pod, container, o->resource);
}

void observe_group_find(const char *proc_root, const struct link_observation *const *items, size_t count, struct observe_group *out)
{
	memset(out, 0, count * sizeof *out);
	if (!count)
		return;
	walk_pods(proc_root, "cpuacct", LINK_RESOURCE_CPU, items, count, out, use_folder);
	walk_pods(proc_root, "cpu", LINK_RESOURCE_CPU, items, count, out, use_limit); /* v1 may have it elsewhere */
	walk_pods(proc_root, "memory", LINK_RESOURCE_MEMORY, items, count, out, use_folder);
}

void observe_group_look(const struct observe_group *g, const struct link_observation *o, struct observe_sample *out)
{
	struct cgroup_dir d = {.v2 = g->v2};
	out->found = false;
	if (!g->folder || snprintf(d.path, sizeof d.path, "%s", g->folder) >= (int)sizeof d.path)
		return;
	out->amount = o->resource == LINK_RESOURCE_CPU ? cgroup_dir_usage_ns(&d) : cgroup_dir_working_set(&d);
	out->whole = o->whole ? o->whole : g->limit;
	out->found = out->amount >= 0;
}
