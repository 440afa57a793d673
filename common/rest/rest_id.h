/* Names that come in paths and bodies. Pure. */
#ifndef DRDOTNET_REST_ID_H
#define DRDOTNET_REST_ID_H

#include <stdbool.h>

bool rest_id_is_namespace(const char *s); /* a DNS label */
bool rest_id_is_name(const char *s);      /* a DNS subdomain, of at most 253 characters */
bool rest_id_is_file(const char *s);      /* letters, digits, '.', '-', '_', at most 63; no dot first */

/* The session's id in paths is "<namespace>.<name>"; a namespace has no dot. */
struct rest_session_id {
	char namespace[64], name[254];
};
int rest_session_id_parse(const char *text, struct rest_session_id *out); /* -1: none */
void rest_session_id_print(const char *namespace, const char *name, char out[320]);

#endif
