/* The bytes of the runtime's diagnostics IPC protocol (dotnet/diagnostics, documentation/design-docs/ipc-protocol.md).
 * Little-endian; strings are a u32 count of UTF-16 units, the final NUL counted, then the units. Pure; no I/O.
 *
 *   message      magic "DOTNET_IPC_V1\0" | u16 size of all | u8 command set | u8 command | u16 0 | payload
 *   OK reply     set 0xFF command 0x00 | payload of the command
 *   error reply  set 0xFF command 0xFF | u32 HRESULT */
#ifndef DRDOTNET_DIAG_CODEC_H
#define DRDOTNET_DIAG_CODEC_H

#include "agent/diag/diag_ipc.h"
#include "common/base/buf.h"

#include <stddef.h>
#include <stdint.h>

#define DIAG_HEADER_SIZE 20
#define DIAG_MESSAGE_MAX 65535 /* the size field has 16 bits */

enum diag_command_set {
	DIAG_SET_PROFILER = 0x03,
	DIAG_SET_PROCESS = 0x04,
	DIAG_SET_SERVER = 0xFF,
};
enum diag_command {
	DIAG_PROFILER_ATTACH = 0x01,
	DIAG_PROCESS_ENVIRONMENT = 0x02, /* .NET 5 and newer; a block follows the reply: diag_environment.h */
	DIAG_PROCESS_INFO2 = 0x04, /* .NET 6 and newer */
	DIAG_PROCESS_INFO3 = 0x08, /* .NET 8 and newer */
	DIAG_SERVER_OK = 0x00,
	DIAG_SERVER_ERROR = 0xFF,
};

#define DIAG_E_UNKNOWN_COMMAND 0x80131385u
#define DIAG_E_NOT_SUPPORTED 0x80131515u

/* What a runtime says first where it connects to a port of ours: "ADVR_V1\0" | 16 bytes of its own | u64 pid as it sees itself | u16 0 */
#define DIAG_ADVERT_SIZE 34

struct diag_header {
	uint16_t size; /* of the whole message */
	uint8_t set, command;
};

void diag_encode_header(uint8_t out[DIAG_HEADER_SIZE], uint16_t size, uint8_t set, uint8_t command);

/* ERR_PROTOCOL when the magic is wrong or the size smaller than the header. */
int diag_decode_header(const uint8_t in[DIAG_HEADER_SIZE], struct diag_header *out, struct err *e);

/* The pid of an advertisement. 0: it is none. */
uint64_t diag_decode_advert(const uint8_t in[DIAG_ADVERT_SIZE]);

/* The whole AttachProfiler message into *out (initialised by the caller). ERR_INVALID when the path is not UTF-8 or the
 * message is larger than the protocol allows. */
int diag_encode_attach(struct buf *out, uint32_t timeout_ms, const uint8_t clsid[16], const char *library_path,
		       const uint8_t *client_data, size_t client_len, struct err *e);

/* Reads the payload of an OK reply to ProcessInfo2 or ProcessInfo3. *out is set only on success. */
int diag_decode_process_info(enum diag_command command, const uint8_t *payload, size_t len, struct diag_process_info *out,
			     struct err *e);

/* The size of the block that follows an OK reply to ProcessEnvironment: u32, and a u16 for later. */
int diag_decode_environment_size(const uint8_t *payload, size_t len, uint32_t *out, struct err *e);

/* The HRESULT of an error reply (of an OK reply to AttachProfiler, too); 0x80004005 when it is too short. */
uint32_t diag_decode_hresult(const uint8_t *payload, size_t len);

/* Sets *e from the HRESULT with which the runtime refused `what`: kind, code, and the condition's reason. Returns -1. */
int diag_refusal(struct err *e, const char *what, uint32_t hresult);

#endif
