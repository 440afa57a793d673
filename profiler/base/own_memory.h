/* What stands in this process's memory at an address that may lead nowhere. It is read as a file is, from /proc/self/mem: the kernel answers
 * where a wrong address would crash, and no pod's seccomp profile ends a process for reading a file, as one may for process_vm_readv. Where
 * that file cannot be opened (no /proc, a process that is not dumpable) it goes through a pipe, into which the kernel writes only what is there.
 * Context: one walk at a time; its own thread, and the thread that it has stopped the application on. */
#ifndef DRDOTNET_OWN_MEMORY_H
#define DRDOTNET_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For as long as a walk takes. false: neither way is open, and nothing is there. */
bool own_memory_open(void);
void own_memory_close(void);

/* How many of the bytes are there, up to the first page that is not. */
size_t own_memory_read(uintptr_t from, void *to, size_t bytes);

#endif
