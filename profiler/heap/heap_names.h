/* Names for what a walk met: classes with their fields, static fields, functions on stacks. After the walk, on own thread, while the
 * application runs: what may have been unloaded meanwhile is not looked at. */
#ifndef DRDOTNET_HEAP_NAMES_H
#define DRDOTNET_HEAP_NAMES_H

#include "common/proto/heap_frames.h"
#include "profiler/base/channel_io.h"
#include "profiler/clr/cor_heap_abi.h"

/* Answers NAME_TYPES, NAME_STATICS, NAME_FUNCTIONS. `unloads`: module_guard_unloads() from before the walk. false: a malformed request. */
bool heap_names_answer(void *info, const struct channel_frame *request, struct channel_io *io, uint32_t unloads);

#endif
