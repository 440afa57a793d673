/* The names of the types of objects, by the address of their MethodTable, read from outside (.NET 9 and newer). What is no MethodTable has no name: a
 * MethodTable leads to a class that leads back to it. One thread. */
#ifndef DRDOTNET_MANAGED_TYPES_H
#define DRDOTNET_MANAGED_TYPES_H

#include "agent/locks/process_memory.h"
#include "agent/locks/runtime_contract.h"

/* Whether there is a MethodTable at an address, as far as that can be told. */
bool managed_types_check(const struct process_memory *m, const struct runtime_contract *c, uint64_t type);

#define MANAGED_TYPE_NAME 128
#define MANAGED_TYPES_MAX 4096 /* names that are kept, and as many addresses that have none */

struct managed_types;

/* Both are borrowed. */
struct managed_types *managed_types_new(const struct process_memory *m, const struct runtime_contract *c);
void managed_types_free(struct managed_types *t);

/* "System.Threading.Lock", of a nested type its own name; "": it is no MethodTable, or an array's, or has no name that can be read. Valid until free. */
const char *managed_types_name(struct managed_types *t, uint64_t method_table);
/* Of a type that has not been asked for yet, the name can no longer be kept: it is "". */
bool managed_types_full(const struct managed_types *t);

/* Of an object. */
const char *managed_types_of(struct managed_types *t, uint64_t object);

#endif
