/* The payloads of the runtime's two events about allocations (provider Microsoft-Windows-DotNETRuntime), read in bounds. Pure; any
 * context. Little-endian, pointers of 8 bytes, TypeName UTF-16 with a NUL:
 *
 *   AllocationSampled (303, .NET 10): u32 AllocationKind, u16 ClrInstanceID, u64 TypeID, TypeName, u64 Address, u64 ObjectSize,
 *                                     u64 SampledByteOffset
 *   AllocationTick (10, version 4):   u32 AllocationAmount, u32 AllocationKind, u16 ClrInstanceID, u64 AllocationAmount64, u64 TypeID,
 *                                     TypeName, u32 HeapIndex, u64 Address, u64 ObjectSize
 *
 * Sources: the runtime's event manifest, and docs/design/features/RandomizedAllocationSampling.md in dotnet/runtime. */
#ifndef DRDOTNET_ALLOCATION_EVENT_H
#define DRDOTNET_ALLOCATION_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALLOCATION_SAMPLED 303
#define ALLOCATION_TICK 10
#define ALLOCATION_TICK_VERSION 4 /* the first that has the object's size: .NET 6 */

enum allocation_kind { ALLOCATION_SMALL, ALLOCATION_LARGE, ALLOCATION_PINNED };

struct allocation_event {
	uint32_t kind;
	uint64_t size;         /* of the object */
	uint64_t amount;       /* tick: bytes since the one before; sampled: 0 */
	uint64_t type_id;      /* the runtime's: a ClassID */
	const uint8_t *name;   /* without outer types: UTF-16, little-endian, perhaps unaligned; borrowed */
	size_t name_units;     /* without the NUL */
};

/* false: another event or version, or one that does not fit its payload. */
bool allocation_event_read(uint32_t id, uint32_t version, const uint8_t *data, size_t len, struct allocation_event *out);

#endif
