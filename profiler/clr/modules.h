/* The modules that are loaded. Own thread. */
#ifndef DRDOTNET_MODULES_H
#define DRDOTNET_MODULES_H

#include "profiler/clr/cor_heap_abi.h"

#include <stdbool.h>

/* The module and its metadata stay until the function returns, or calls module_guard_yield(): after each batch of work. `path`: of its file, maybe empty.
 * true: that is enough. */
typedef bool modules_fn(void *ctx, void *info, cor_id module, const wchar16 *path);

/* true: the function has said that it is enough. */
bool modules_each(void *info, modules_fn *fn, void *ctx);
/* The file's name begins so. */
bool modules_is_named(const wchar16 *path, const char *with);

#endif
