#include "common/base/crypto.h"

#include <openssl/crypto.h>

void crypto_stay(void)
{
	OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}
