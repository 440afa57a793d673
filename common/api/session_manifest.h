/* A ProfilingSession in a file. */
#ifndef DRDOTNET_SESSION_MANIFEST_H
#define DRDOTNET_SESSION_MANIFEST_H

#include "common/api/session_spec.h"

/* Reads a manifest file's text (YAML or JSON): checks apiVersion and kind, gives metadata.name ("" when absent) and the
 * spec. For the local command; *name is freed by the caller. */
int session_manifest_parse(const char *text, size_t len, const char *what, char **name, struct session_spec *out, struct err *e);

#endif
