/* Private to agent/heap: a snapshot in the making. */
#ifndef DRDOTNET_HEAP_SNAPSHOT_PRIVATE_H
#define DRDOTNET_HEAP_SNAPSHOT_PRIVATE_H

#include "agent/heap/heap_snapshot.h"
#include "agent/heap/heap_store.h"

struct heap_labels {
	struct heap_store store; /* the stream's bytes */
	char **items;
	size_t count, cap;
};

/* What stands in the stream beside objects and ranges, before it has names. */
struct heap_scan {
	struct heap_type_record *types; /* as many as the snapshot's */
	struct heap_root_record *roots;
	struct heap_static_record *statics;
	struct heap_thread_record *threads;
	struct heap_end_record end;
	size_t root_count, root_cap, static_count, static_cap, thread_count, thread_cap;
};
void heap_scan_fini(struct heap_scan *s);

/* Reads the whole stream: types without names, ranges by address; roots only in *scan. Takes over the store's bytes, also on failure. -1
 * with REASON_HeapWalkTorn when it is not one whole walk. */
struct heap_snapshot *heap_snapshot_scan_take(struct heap_store *store, bool strings, struct heap_scan *scan, struct err *e);

/* Names the method, by those of its type and its own in the metadata. */
void heap_snapshot_name_method(struct heap_method *m, const char *type, const char *method);

/* The snapshot keeps the text; it is the label of each root that says the same. */
const char *heap_snapshot_label_take(struct heap_snapshot *s, char *label);

#endif
