/* The version of a runtime that does not tell it itself, by what its build wrote into libcoreclr.so, or into the executable that has it:
 * "@(#)Version 10.0.1226.42308 @Commit: ...". Host PID mode only. Any thread. */
#ifndef DRDOTNET_RUNTIME_BUILD_H
#define DRDOTNET_RUNTIME_BUILD_H

#include <stdbool.h>
#include <stddef.h>

#define RUNTIME_BUILD_BYTES 32

/* "10.0": of a text that has the mark. False: it has none, or no version behind it. Pure. */
bool runtime_build_parse(const char *text, size_t len, char out[RUNTIME_BUILD_BYTES]);

/* Whether the process of an open /proc/PID has musl for its C library, by its loader. */
bool runtime_build_of_musl(int proc_fd);

/* Of the process of an open /proc/PID; reads some megabytes of its file. False: it does not tell. */
bool runtime_build_of(int proc_fd, char out[RUNTIME_BUILD_BYTES]);

#endif
