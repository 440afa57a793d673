/* The versions of .NET whose own tables were measured: what no interface tells is read in these, and left alone in a later one, where it may lie otherwise.
 * For the library and the agent; what of it is read on which C library and processor: agent/host/engine_support.h. */
#ifndef DRDOTNET_RUNTIME_VERSIONS_H
#define DRDOTNET_RUNTIME_VERSIONS_H

#define RUNTIME_OLDEST 8
#ifndef RUNTIME_NEWEST /* a test's library and command take one that is there for a new one */
#define RUNTIME_NEWEST 11
#endif

#endif
