/* What the runtime says of its own structures: a text that it exports for debuggers (DotNetRuntimeContractDescriptor, .NET 9 and newer), with the offsets
 * of fields and the places of its variables. Read from outside. One thread.
 *
 * Source: docs/design/datacontracts of the runtime's repository, and what .NET 9 and 10 say. */
#ifndef DRDOTNET_RUNTIME_CONTRACT_H
#define DRDOTNET_RUNTIME_CONTRACT_H

#include "agent/locks/process_memory.h"

#define RUNTIME_CONTRACT_TEXT_MAX (1u << 17)
#define RUNTIME_CONTRACT_POINTERS_MAX 256

struct runtime_contract {
	bool known; /* all of it */
	/* addresses of variables */
	uint64_t thread_store, string_class;
	/* offsets in the runtime's structures */
	uint32_t thread_id, thread_os_id, thread_next, thread_handle, store_first;
	uint32_t type_flags, type_flags2, type_base_size, type_module, type_class, class_type, module_base;
	uint32_t type_row_shift; /* of type_flags2: the bits above it are the type's row in its assembly's metadata; 0: 8 */
};

/* `pointers`: what the text's numbers of variables stand for. False, and nothing is known: it lacks something, or is none. Pure. */
bool runtime_contract_parse(const char *text, size_t len, const uint64_t *pointers, size_t count, struct runtime_contract *out);

/* Not known: before .NET 9. */
void runtime_contract_read(const struct process_memory *m, int proc_fd, struct runtime_contract *out);

/* Of .NET 8 for x64, which says nothing: as measured, for the names of types alone, and of the types of assemblies that are compiled ahead of time, as .NET's
 * own. The class of a type leads back to it and its module to an image, or it has no name: of another runtime nothing has. */
void runtime_contract_of_8(struct runtime_contract *out);

#endif
