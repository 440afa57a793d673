/* PEM texts of the link's Secret and ConfigMap, which others may have edited. A bundle that was made of anything is made of certificates. */
#include "controller/link/link_pki.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_MS INT64_C(1790000000000)

static size_t certificates(const char *pem)
{
	size_t n = 0;
	while ((pem = strstr(pem, "-----BEGIN CERTIFICATE-----"))) {
		n++;
		pem++;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"drdotnet-controller.drdotnet-system.svc"};
	struct err e = ERR_INIT;
	struct link_cert_info info;
	char *text = text_of(data, size);
	if (link_pki_inspect(text, text, names, 1, &info, &e) < 0 && e.kind != ERR_INVALID)
		abort();
	char *bundle = link_pki_bundle(text, NULL, text, NOW_MS);
	if (bundle && certificates(bundle) > LINK_PKI_BUNDLE_MAX)
		abort();
	free(bundle);
	free(text);
	return 0;
}
