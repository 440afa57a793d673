/* The payloads of the runtime's events about exceptions (provider Microsoft-Windows-DotNETRuntime), read in bounds. Pure; any context.
 * Little-endian, pointers of 8 bytes, texts UTF-16 with a NUL:
 *
 *   ExceptionThrown (80, version 1):     text ExceptionType, text ExceptionMessage, u64 ExceptionEIP, u32 ExceptionHRESULT, u16 ExceptionFlags,
 *                                        u16 ClrInstanceID
 *   ExceptionCatchStart (250):           u64 EntryEIP, u64 MethodID, text MethodName, u16 ClrInstanceID
 *
 * Source: the runtime's event manifest (ClrEtwAll.man in dotnet/runtime). */
#ifndef DRDOTNET_EXCEPTION_EVENT_H
#define DRDOTNET_EXCEPTION_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXCEPTION_THROWN 80
#define EXCEPTION_CATCH_START 250

enum exception_flag { /* the runtime's */
	EXCEPTION_HAS_INNER = 1,
	EXCEPTION_NESTED = 2,
	EXCEPTION_RETHROWN = 4,
	EXCEPTION_CORRUPTED = 8,
};

struct utf16_text { /* little-endian, perhaps unaligned; borrowed */
	const uint8_t *data;
	size_t units; /* without the NUL */
};

struct exception_thrown {
	struct utf16_text type, message;
	uint32_t hresult;
	uint16_t flags; /* enum exception_flag */
};

/* false: another version, or one that does not fit its payload. */
bool exception_thrown_read(uint32_t version, const uint8_t *data, size_t len, struct exception_thrown *out);
/* The address of the catch block. 0: it does not fit its payload. */
uint64_t exception_catch_read(const uint8_t *data, size_t len);

#endif
