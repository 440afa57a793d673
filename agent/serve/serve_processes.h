/* The .NET processes of this machine, as the REST API shows them. Looking takes a while and touches each of them, so one look serves
 * everybody for some seconds. Any thread. */
#ifndef DRDOTNET_SERVE_PROCESSES_H
#define DRDOTNET_SERVE_PROCESSES_H

#include "common/base/err.h"
#include "common/base/jsonx.h"

#include <stdbool.h>

struct serve_processes;

struct serve_processes *serve_processes_new(void);
void serve_processes_free(struct serve_processes *p);

/* {items, warnings}; refresh: look again even if somebody has just looked. A new reference that is the caller's alone. */
int serve_processes_get(struct serve_processes *p, bool refresh, json_t **out, struct err *e);

#endif
