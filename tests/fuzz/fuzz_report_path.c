/* A path that somebody asks for: what is accepted stays inside the store and names its owner. */
#include "controller/store/report_path.h"
#include "controller/store/report_store.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *key = text_of(data, size);
	struct report_path p;
	if (report_path_parse(key, &p) == 0) {
		size_t len = strlen(p.namespace) + 1 + strlen(p.session) + 1 + 8 + 1 + strlen(p.pod) + 1 + strlen(p.file);
		if (len != strlen(key) || !report_store_key_valid(key) || strstr(key, "..") == key || strstr(key, "/.") || !p.session[0])
			abort();
		if (!report_path_media_type(p.file)[0])
			abort();
	}
	free(key);
	return 0;
}
