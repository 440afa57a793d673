/* Keeps a module's metadata in place while a function of it is described. The runtime announces an unload with
 * ModuleUnloadStarted (collectible assemblies): from then on the module's functions are not described any more, and a description
 * under way ends before the callback returns: some microseconds, measured. Its code can still be found for a while after
 * ModuleUnloadFinished, when the module is a ruin that crashes who asks for its metadata: it stays gone until another module is loaded
 * at its address. */
#ifndef DRDOTNET_MODULE_GUARD_H
#define DRDOTNET_MODULE_GUARD_H

#include "profiler/clr/cor_abi.h"

void module_guard_reset(bool runtime_leaves_code);
void module_guard_enter(void);             /* own thread: nothing unloads until leave */
void module_guard_leave(void);
/* Own thread, between enter and leave, after each batch of types: lets those go on that wait. false: the module is gone meanwhile, with its metadata and
 * every cursor into it. */
bool module_guard_yield(cor_id module);
uint32_t module_guard_unloads(void);       /* own thread: how many there were in this session */
bool module_guard_gone(cor_id module);     /* own thread, between enter and leave */
void module_guard_unload_started(cor_id module); /* CLR callback */
void module_guard_loaded(cor_id module);         /* CLR callback */
/* .NET 8 goes on finding the code of an unloaded module, and crashes on what its headers lead to. Quiet: no module was unloaded
 * since the last full collections; otherwise no address is looked up. */
void module_guard_collected(uint32_t generation); /* CLR callback, of a collection: takes no lock */
bool module_guard_quiet(void);                    /* own thread, between enter and leave */

#endif
