/* The methods of a gRPC service, as the code says that Grpc.Tools makes of a .proto file: a static constructor has the service's name and each method's,
 * with the kind of its calls:
 *
 *   __ServiceName = "shop.Prices";
 *   __Method_Watch = new Method<Request, Reply>(MethodType.ServerStreaming, __ServiceName, "Watch", ...);
 *
 * which the compiler makes `ldstr, stsfld F` and `ldc.i4.KIND, ldsfld F, ldstr` of. Pure; any context; the body is read in bounds.
 * Source: ECMA-335 II.25.4 (bodies), III (instructions); Grpc.Core.MethodType. */
#ifndef DRDOTNET_GRPC_METHOD_IL_H
#define DRDOTNET_GRPC_METHOD_IL_H

#include <stddef.h>
#include <stdint.h>

enum grpc_method_kind { GRPC_UNARY, GRPC_CLIENT_STREAMING, GRPC_SERVER_STREAMING, GRPC_DUPLEX };

struct grpc_method_il {
	uint32_t service, name; /* tokens of strings */
	uint8_t kind;           /* enum grpc_method_kind */
};

/* `body`: a method's, with its header. How many there are, at most `most`; what comes after something that is no instruction is left out. */
unsigned grpc_method_il_read(const uint8_t *body, size_t len, struct grpc_method_il *out, unsigned most);

#endif
