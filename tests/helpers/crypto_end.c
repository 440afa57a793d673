/* crypto_end [stay]: uses OpenSSL and says when it is taken down at the end of the process (common/base/crypto.h). */
#include "common/base/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>

static void tell(void)
{
	puts("taken down");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len;

	(void)argv;
	if (argc > 1)
		crypto_stay();
	return EVP_Digest("x", 1, digest, &len, EVP_sha256(), NULL) != 1 || !OPENSSL_atexit(tell);
}
