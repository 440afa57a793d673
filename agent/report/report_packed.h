/* A file of the report's folder inside another file: packed (gzip, RFC 1952) and as base64, which may stand in an HTML page. One thread. */
#ifndef DRDOTNET_REPORT_PACKED_H
#define DRDOTNET_REPORT_PACKED_H

#include "agent/report/report_file.h"

/* Writes `name` of the folder f->dirfd into f. Failures are kept in f. */
void report_packed_put(struct report_file *f, const char *name);

#endif
