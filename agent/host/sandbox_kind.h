/* Pods in a sandbox: gVisor's kernel or a virtual machine (Kata). Their processes are none of the node's, so that discovery
 * finds only the program that runs the sandbox. Host PID mode only. Any thread. */
#ifndef DRDOTNET_SANDBOX_KIND_H
#define DRDOTNET_SANDBOX_KIND_H

/* What a program is that has this file name or calls itself so ("gVisor"), static; NULL: no sandbox that is known. The names are
 * the process's own word: good for explaining why nothing was found, for nothing else. Pure. */
const char *sandbox_kind_by_name(const char *file_name, const char *argument0);

/* The same for the process behind an open /proc/PID. */
const char *sandbox_kind_of(int proc_fd);

#endif
