/* Private to heap_nodes*.c. */
#ifndef DRDOTNET_HEAP_NODES_PRIVATE_H
#define DRDOTNET_HEAP_NODES_PRIVATE_H

#include "agent/heap/heap_nodes.h"

#define HEAP_PIECE_RECORDS 65536
#define HEAP_PIECES_MAX (1u << 20) /* regions of 4 MB: of a heap of 4 TB */

/* heap_scan.c, the first reading: pieces, index, free space, number of objects. */
int heap_nodes_scan(struct heap_nodes *n, struct err *e);
/* heap_fill.c, the second one: words, rows, targets. */
int heap_nodes_fill(struct heap_nodes *n, bool one_thread, struct err *e);

#endif
