/* What the library asks the runtime to be told: the sum of what its parts want. Own thread, and the CLR callback of the attach
 * before that thread exists. */
#ifndef DRDOTNET_EVENT_MASK_H
#define DRDOTNET_EVENT_MASK_H

#include "profiler/clr/cor_abi.h"

/* Sets exactly these bits (of SetEventMask2). */
hresult event_mask_reset(void *info, uint32_t low, uint32_t high);
/* Asks for more, and for less again. When the runtime refuses, nothing is changed. */
hresult event_mask_add(void *info, uint32_t low, uint32_t high);
hresult event_mask_remove(void *info, uint32_t low, uint32_t high);

#endif
