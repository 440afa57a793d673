/* Names for a walk's types, fields and roots: asked of the library, in batches, while the application runs. */
#ifndef DRDOTNET_HEAP_LABEL_H
#define DRDOTNET_HEAP_LABEL_H

#include "agent/heap/heap_client.h"
#include "agent/heap/heap_snapshot_private.h"

/* What the library cannot name (unloaded meanwhile) is called by what is known of it. -1: the channel is over. */
int heap_label_all(struct heap_client *c, struct heap_snapshot *s, const struct heap_scan *scan, int64_t deadline_ms, struct err *e);

/* Pure: "<Items>k__BackingField" is "Items". */
char *heap_label_field(const char *name, size_t len);

#endif
