/* A frame of a stack, in the raw parts that the runtime's metadata, the ELF symbols or the kernel's give. The owner of a frame owns its texts. */
#ifndef DRDOTNET_FRAME_H
#define DRDOTNET_FRAME_H

#include <stdbool.h>
#include <stdint.h>

enum frame_kind {
	FRAME_MANAGED,  /* named by the runtime */
	FRAME_NATIVE,   /* library symbol, or module + offset when there is none */
	FRAME_KERNEL,
	FRAME_UNKNOWN,  /* JIT memory without a name (stubs), or no mapping */
};

/* The raw parts, as the runtime's metadata has them; agent/symbols/method_name.h makes the display name. */
struct frame {
	enum frame_kind kind;
	char *module;        /* "Checkout.dll", "libcoreclr.so", "[kernel]"; "" unknown */
	char *type;          /* metadata name with namespace and nesting: "Shop.Cart+<Compute>d__5`1"; NULL for native */
	char *type_args;     /* "System.Int32,System.String" (metadata names, nested <>), NULL: none */
	char *method;        /* metadata name "MoveNext", or the native symbol (demangled where C++) */
	char *method_args;   /* generic arguments of the method; NULL: none */
	char *params;        /* "System.Int32,System.String"; NULL: unknown; "" none */
	bool overloaded;     /* another method of the type has the same name: show the parameters */
	bool dynamic;        /* DynamicMethod / LCG */
	char *file;          /* of the source, as it is shown: below the repository's root; NULL: not known. Two places of a method are two frames */
	char *link;          /* of the file at the commit that was built; NULL: not known */
	uint32_t line;
	uint64_t function;   /* the runtime's id of it; 0: not known, or dynamic. Those of one name may be several: an async method and its thunk */
	uint64_t address;    /* for unknown and native without symbol: the offset in module; else 0 */
};

#endif
