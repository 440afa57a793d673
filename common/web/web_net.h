/* What every libwebsockets server of ours has in common. */
#ifndef DRDOTNET_WEB_NET_H
#define DRDOTNET_WEB_NET_H

#include <openssl/ssl.h>
#include <stdint.h>

/* Sends the library's complaints to our log, in the whole process. */
void web_net_log(void);

/* Options of a vhost that listens on this address (NULL: all), or not at all. */
uint64_t web_net_bind_options(const char *address);

/* For many idle connections: TLS 1.2 or newer, no buffers while idle, no session cache, no tickets. */
void web_net_set_up_tls(SSL_CTX *tls);

#endif
