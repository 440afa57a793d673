/* How a container ended, as its pod's status tells: the kubelet's word on its exit code, and the exception that ended it, where the container's last words
 * are in the status (terminationMessagePolicy: FallbackToLogsOnError). Pure; any thread. */
#ifndef DRDOTNET_CONTAINER_END_H
#define DRDOTNET_CONTAINER_END_H

#include "common/base/exit_status.h"
#include "common/base/jsonx.h"

struct container_end {
	char container[64];    /* its name */
	char reason[64];       /* "OOMKilled"; "": nothing that the exit code does not tell */
	struct exit_status exit;
	char exception[128];   /* "System.InvalidOperationException", the innermost; "": not seen */
	char thrown_in[256];   /* "Shop.Program.Main": the first frame; "": not seen */
};

/* What the status says of the container of this id, and of no other instance of it. false: nothing (it runs, or has not been seen to end yet). */
bool container_end_of_pod(const json_t *pod, const char *container_id, struct container_end *out);

/* What .NET writes of an exception that nobody catches: its type and where it was thrown, without its message. false: it is not there. */
bool container_end_exception(const char *words, struct container_end *out);

/* Appends "app ended: OOMKilled, exit code 137 (SIGKILL)". */
void container_end_text(const struct container_end *e, struct buf *out);

#endif
