/* A kubeconfig. */
#include "controller/kube/kube_config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct kube_config c = {0};
	if (kube_config_parse((const char *)data, size, "fuzz", "/etc/kube", NULL, &c, &e) < 0) {
		if (e.kind == ERR_NONE || !e.message[0])
			abort();
		return 0;
	}
	if (!c.server || strncmp(c.server, "http", 4) != 0 || !c.namespace || !c.namespace[0])
		abort();
	if ((c.ca_file && c.ca_file[0] != '/') || (c.token_file && c.token_file[0] != '/'))
		abort();
	kube_config_fini(&c);
	return 0;
}
