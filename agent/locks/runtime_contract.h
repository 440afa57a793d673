/* What the runtime says of its own structures: a text that it exports for debuggers (DotNetRuntimeContractDescriptor, .NET 9 and newer), with the offsets
 * of fields and the places of its variables. Read from outside. One thread.
 *
 * Source: docs/design/datacontracts of the runtime's repository, and what .NET 9, 10 and 11 say. */
#ifndef DRDOTNET_RUNTIME_CONTRACT_H
#define DRDOTNET_RUNTIME_CONTRACT_H

#include "agent/locks/process_memory.h"

#define RUNTIME_CONTRACT_TEXT_MAX (1u << 17)
#define RUNTIME_CONTRACT_POINTERS_MAX 256

/* Where the code of methods lies, and whose it is. */
struct code_contract {
	bool known; /* what .NET 9 says; what only .NET 10 says is then its word, or as it was measured on .NET 9 */
	uint64_t ranges; /* the variable; 0: not told */
	uint32_t range_begin, range_end, range_flags, range_module, range_heap, fragment_next, fragment_begin, fragment_end, fragment_range;
	uint32_t heap_start, heap_end, heap_base, heap_map, header_method, header_unwinds, header_unwind;
	uint32_t module_images, images_composite, images_functions, images_count, images_methods; /* images: its ReadyToRunInfo */
	uint32_t token_bits, method_token, method_chunk, method_flags, chunk_type, chunk_token, chunk_bytes;
	uint32_t generic_arguments, generic_count, type_dictionaries, type_argument_count, dynamic_name, described_flags, described_argument;
};

struct runtime_contract {
	bool told;  /* it says something: .NET 9 and newer. What is not known then must not be taken for what .NET 8 looks like */
	bool known; /* all of it */
	const char *why; /* why it is not, of one that is damaged; NULL: it is another version's; static */
	/* addresses of variables */
	uint64_t thread_store, string_class;
	/* offsets in the runtime's structures */
	uint32_t thread_id, thread_os_id, thread_next, thread_handle, store_first;
	uint32_t type_flags, type_flags2, type_base_size, type_module, type_class, class_type, module_base;
	struct code_contract code;
	bool monitors_are_locks; /* .NET 11: a monitor's state is a System.Threading.Lock, which names its owner by the managed id */
	bool links_are_threads;  /* .NET 11: the list of threads leads to them, not to a link within */
	uint32_t monitor_lock;   /* of a SyncBlock: the handle of that */
	uint32_t type_row_shift; /* of type_flags2: the bits above it are the type's row in its assembly's metadata; 0: 8 */
};

/* `pointers`: what the text's numbers of variables stand for. False, and nothing is known: it lacks something, or is none. Pure. */
bool runtime_contract_parse(const char *text, size_t len, const uint64_t *pointers, size_t count, struct runtime_contract *out);

/* Of the descriptor at that address. Pure, but for the memory. */
void runtime_contract_read_at(const struct process_memory *m, uint64_t at, struct runtime_contract *out);

/* What it says turns out to lead elsewhere: nothing of it is known any more. `why` is static. */
void runtime_contract_refute(struct runtime_contract *c, const char *why);

/* Not known: before .NET 9. */
void runtime_contract_read(const struct process_memory *m, int proc_fd, struct runtime_contract *out);

/* Why locks cannot be read where the runtime says something that is not known; static. NULL: they can, or it says nothing, as .NET 8 does. */
const char *runtime_contract_unread(const struct runtime_contract *c);

/* Of .NET 8 for x64, which says nothing: as measured, for the names of types alone, and of the types of assemblies that are compiled ahead of time, as .NET's
 * own. The class of a type leads back to it and its module to an image, or it has no name: of another runtime nothing has. */
void runtime_contract_of_8(struct runtime_contract *out);

#endif
