/* What every libwebsockets server of ours has in common. */
#ifndef DRDOTNET_WEB_NET_H
#define DRDOTNET_WEB_NET_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

/* Sends the library's complaints to our log, in the whole process. */
void web_net_log(void);

/* Options of a vhost that listens on this address (NULL: all), or not at all. */
uint64_t web_net_bind_options(const char *address);

/* For many idle connections: TLS 1.2 or newer, no buffers while idle, no session cache, no tickets. */
void web_net_set_up_tls(SSL_CTX *tls);

/* For LWS_CALLBACK_HTTP_CONFIRM_UPGRADE, with its `in`: lws 4.1 would go on in HTTP/2 where a client wishes h2c. A server may pass over the
 * wish; for lws it is then another word than the ones that it knows. false: the wish is for something else. */
bool web_net_pass_over_h2c(char *protocol);

#endif
