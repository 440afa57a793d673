/* Members in C#'s words from metadata names: constructors, accessors, operators, explicit implementations, lambdas and local
 * functions. Pure; any thread. */
#ifndef DRDOTNET_CSHARP_MEMBER_H
#define DRDOTNET_CSHARP_MEMBER_H

#include "agent/symbols/span.h"

/* "get_Net" is "Net.get", "<Total>b__3_1" is "Total.lambda_1". Adds METHOD_LAMBDA or METHOD_LOCAL to *marks. Past `depth` names
 * in names stay as they are. */
void csharp_member_put(struct buf *out, struct span name, unsigned *marks, int depth);

#endif
