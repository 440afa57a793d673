/* The pure parts of the report store's HTTP side (http_api.c). Any thread. */
#ifndef DRDOTNET_HTTP_API_H
#define DRDOTNET_HTTP_API_H

/* Whose report is it? From a store key "<namespace>/<session>-<uid8>/<pod>/<file>". */
struct report_path {
	char namespace[64], session[254], pod[254], file[64];
};

/* -1: no such form. */
int http_api_parse_key(const char *key, struct report_path *out);

/* By the file's name; application/octet-stream when it is not known. */
const char *http_api_media_type(const char *file);

#endif
