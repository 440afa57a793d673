/* Describes a function for the agent: names as the metadata has them. Own thread. */
#ifndef DRDOTNET_FUNCTION_NAME_H
#define DRDOTNET_FUNCTION_NAME_H

#include "common/proto/channel.h"
#include "profiler/clr/cor_abi.h"
#include "profiler/base/text.h"

/* The text of one description; lives with its owner, overwritten by the next one. */
struct function_text {
	char module[256], type[1024], type_args[2048], method[512], method_args[1024], params[2048], path[1024];
};

/* Fills *out, whose texts borrow from *t. Returns the HRESULT. Between module_guard_enter() and _leave(). */
hresult function_name_describe(void *info, cor_id function, struct function_text *t, struct channel_function *out);

/* Its module has been unloaded, or is about to be: nothing more may be asked about it. Between module_guard_enter() and _leave(). */
bool function_name_gone(void *info, cor_id function);

/* A module's file's base name; the metadata's own name for what has no file (assemblies made or loaded in memory). `import`: its metadata. */
void function_name_module(void *info, cor_id module, void *import, struct text *out);

#endif
