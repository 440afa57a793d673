/* A server's certificate and key. Any thread. */
#ifndef DRDOTNET_WEB_TLS_H
#define DRDOTNET_WEB_TLS_H

#include "common/base/err.h"

#include <openssl/ssl.h>

/* Puts the chain (the leaf first) and its key into a context. ERR_INVALID when they do not belong together; then the context is not to be
 * used. A key with a pass phrase is refused. */
int web_tls_use(SSL_CTX *tls, const char *cert_pem, const char *key_pem, struct err *e);

/* Could it be used? Tried on a context of its own. */
int web_tls_check(const char *cert_pem, const char *key_pem, struct err *e);

#endif
