/* The output of `drdotnet ps`: the .NET processes of this machine, as a table or as JSON. What the processes say of
 * themselves is escaped. One thread. */
#ifndef DRDOTNET_PS_H
#define DRDOTNET_PS_H

#include "agent/target/target.h"

#include <stdbool.h>
#include <stdio.h>

/* For the shell's completion: the entry assemblies that are plain words, and the ids, one a line, of those that begin so. */
void ps_print_words(const struct target_list *l, const char *beginning, FILE *out);

/* JSON: {"processes": [{"pid", "innerPid", "uid", "runtimeVersion", "entrypoint", "arch", "rid", "podUID", "containerID",
 * "containerName", "commandLine", "profilable", "reason", "message", "remedy"}]}; what is not known is null. 0, or -1 when writing failed. */
int ps_print(const struct target_list *l, bool json, FILE *out);

#endif
