/* The methods of the gRPC services that an application serves, by their paths, and which of them stream: from the code that Grpc.Tools has made (see
 * grpc_method_il.h), so that a call is known for what it is when it begins. What was made in other ways is not known. Bounded. */
#ifndef DRDOTNET_GRPC_METHODS_H
#define DRDOTNET_GRPC_METHODS_H

#include "profiler/requests/grpc_method_il.h"
#include "profiler/requests/request_event.h"

#define GRPC_METHODS_MOST 512
#define GRPC_PATH_BYTES 128

/* Own thread. Reads the metadata of all modules that are not of .NET itself, and keeps what was known. */
void grpc_methods_learn(void *info);
void grpc_methods_tick(void *info, uint64_t now_ns); /* once more, where a call came that was not known; not often */
void grpc_methods_add(const char *path, uint8_t kind); /* "/shop.Prices/Watch"; for tests */
void grpc_methods_reset(void);

/* CLR callback. Its kind; -1: the path is of none. */
int grpc_methods_find(const struct event_text *path);
void grpc_methods_missed(void); /* a call came that was not known */

#endif
