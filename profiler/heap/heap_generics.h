/* Static fields of generic types: which instantiations there are, and where their statics lie. The profiling API tells neither (it lists no
 * instantiations, and knows addresses only for types that are not generic), so this is read from the runtime's own tables, which a debugger
 * reads too. Nothing in them is taken on trust: every read goes through the kernel, which answers instead of faulting, and every step is believed
 * only when what it leads to points back: the table of a module's instantiations to the module, each type in it to that module, its statics
 * and the descriptions of its fields to the type. Where a runtime has them in another way nothing is found, and these statics have no names.
 * Own thread, between module_guard_enter() and _leave(), which are left for a moment now and then. */
#ifndef DRDOTNET_HEAP_GENERICS_H
#define DRDOTNET_HEAP_GENERICS_H

#include "profiler/clr/cor_heap_abi.h"

/* A static field that holds a reference (a value type's: to its box) in this slot. */
typedef void heap_generics_fn(void *ctx, cor_id cls, md_token field, uintptr_t slot);

/* Before the first module of a walk. */
void heap_generics_begin(void *info);
/* The statics of all instantiations that the module has loaded: of its types with arguments of its own, and some of others' types. */
void heap_generics_find(cor_id module, heap_generics_fn *fn, void *ctx);

#endif
