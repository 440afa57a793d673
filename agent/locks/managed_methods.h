/* The names of methods by the address of their MethodDesc, and what they are generic over, read from outside (.NET 9 and newer). What is no MethodDesc has no
 * name: it leads to a type and to a row of the metadata, and the metadata must say that the method of that row is that type's. One thread.
 *
 * Source of the format: docs/design/datacontracts/RuntimeTypeSystem.md and Loader.md of the runtime's repository. */
#ifndef DRDOTNET_MANAGED_METHODS_H
#define DRDOTNET_MANAGED_METHODS_H

#include "agent/locks/image_metadata.h"
#include "agent/locks/runtime_contract.h"

#define MANAGED_METHOD_NAME 1024
#define MANAGED_ARGUMENTS_MAX 16 /* of what is generic; more are not told */

struct managed_method {
	uint32_t token;
	uint64_t image;  /* where its assembly lies */
	bool dynamic;    /* made at run time: it has a name only */
	bool overloaded;
	char module[IMAGE_NAME_BYTES];        /* "Shop.dll" */
	char type[MANAGED_METHOD_NAME];       /* "Shop.Cart+<Compute>d__5`1" */
	char type_args[MANAGED_METHOD_NAME];  /* "System.Int32,System.String"; "": none */
	char method[IMAGE_NAME_BYTES];
	char method_args[MANAGED_METHOD_NAME];
	char params[MANAGED_METHOD_NAME];     /* "System.Int32,System.String" */
	bool params_known;
};

struct managed_methods;

/* Both are borrowed; the memory may be told anew for each question. */
struct managed_methods *managed_methods_new(const struct process_memory *m, const struct runtime_contract *c);
void managed_methods_free(struct managed_methods *x);
void managed_methods_use(struct managed_methods *x, const struct process_memory *m);

/* False: there is none, or it has no name that can be read. */
bool managed_methods_describe(struct managed_methods *x, uint64_t method, struct managed_method *out);

#endif
