/* Which methods the runtime has suspended itself (runtime-async, .NET 11). Each of the Continuations that it keeps of them refers to a piece of its own
 * memory, { Resume, DiagnosticIP }, that many of them share: the second word is an address in the method's code. (struct ResumeInfo of
 * AsyncHelpers.CoreCLR.cs in dotnet/runtime.) */
#ifndef DRDOTNET_HEAP_METHODS_H
#define DRDOTNET_HEAP_METHODS_H

#include "common/proto/heap_stream.h"

/* Own thread, before a walk. */
void heap_methods_reset(void);
/* Whoever walks, while own_memory is open. By the address of that piece, which may lead nowhere: 1 + index of its METHOD, 0 where it is of no method (the
 * runtime's own helpers), HEAP_METHOD_UNKNOWN: it cannot be read, or there are more of them than HEAP_METHODS_MAX. */
int32_t heap_methods_number(uintptr_t resume_info);
/* Own thread, when the application runs again: a METHOD for each index. false: no room. */
bool heap_methods_put(void *info, struct heap_writer *w);

#endif
