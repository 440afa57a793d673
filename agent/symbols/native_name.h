/* Native symbols for reading: "void WKS::gc_heap::mark_object<true>(unsigned char*)" is "WKS::gc_heap::mark_object",
 * "finish_task_switch.isra.0" is "finish_task_switch". Takes any bytes; pure; any thread. */
#ifndef DRDOTNET_NATIVE_NAME_H
#define DRDOTNET_NATIVE_NAME_H

#include "common/base/buf.h"

/* Appends the shortened symbol. Simple mangled names of the Itanium C++ ABI (nested names without templates) are read, too. */
void native_name_append(const char *symbol, size_t len, struct buf *out);

#endif
