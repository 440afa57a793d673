/* uthash by the daemons' rule of memory (mem.h): left to itself it would end the process by exit() without a word. */
#ifndef DRDOTNET_HASH_H
#define DRDOTNET_HASH_H

#include "common/base/mem.h"

#define uthash_malloc(size) mem_alloc(size)

#include <uthash.h>

#endif
