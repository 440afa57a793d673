/* Names for a walk's types, fields and roots: asked of the library, in batches, while the application runs. */
#ifndef DRDOTNET_HEAP_LABEL_H
#define DRDOTNET_HEAP_LABEL_H

#include "agent/heap/heap_client.h"
#include "agent/heap/heap_snapshot_private.h"

/* What the library cannot name (unloaded meanwhile) is called by what is known of it. -1: the channel is over. */
int heap_label_all(struct heap_client *c, struct heap_snapshot *s, const struct heap_scan *scan, int64_t deadline_ms, struct err *e);

/* Takes the name of one of `count` types from `first` on: heap_client.on_type, `ctx` is this. */
struct heap_naming {
	struct heap_snapshot *s;
	uint32_t first, count;
};
void heap_label_type(void *ctx, const struct heap_type_frame *f, struct wire_reader *fields);

/* Pure: "<Items>k__BackingField" is "Items", "StateMachine.<page>5__2" is "StateMachine.page". */
char *heap_label_field(const char *name, size_t len);

#endif
