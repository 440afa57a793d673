/* Where an observed container's figures are, found once by a walk below the node's control groups, and one look at them. */
#ifndef DRDOTNET_OBSERVE_GROUP_H
#define DRDOTNET_OBSERVE_GROUP_H

#include "agent/observe/observe_step.h"

struct observe_group {
	char *folder;          /* NULL: not found */
	bool v2;
	int64_t limit;         /* of the group or its pod's: millicores or bytes; 0: none */
};
void observe_group_fini(struct observe_group *g);

/* Finds the groups of several observations in one walk for each resource. items[i] belongs to out[i], which is zeroed first. */
void observe_group_find(const char *proc_root, const struct link_observation *const *items, size_t count, struct observe_group *out);

/* found is false when the group is gone. */
void observe_group_look(const struct observe_group *g, const struct link_observation *o, struct observe_sample *out);

#endif
