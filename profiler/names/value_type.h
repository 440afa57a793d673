/* Whether objects of a class are values that became objects (boxing). Any thread that the class lives on. `info` is ICorProfilerInfo12. */
#ifndef DRDOTNET_VALUE_TYPE_H
#define DRDOTNET_VALUE_TYPE_H

#include "profiler/clr/cor_abi.h"

#include <stdbool.h>

/* By what it derives from: System.ValueType or System.Enum. False also where the runtime does not say. */
bool value_type_is(void *info, cor_id cls);

#endif
