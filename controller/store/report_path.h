/* What a report store's key says: whose report, which file. Pure; any thread. */
#ifndef DRDOTNET_REPORT_PATH_H
#define DRDOTNET_REPORT_PATH_H

/* Whose report is it? From a store key "<namespace>/<session>-<uid8>/<pod>/<file>". */
struct report_path {
	char namespace[64], session[254], pod[254], file[64];
};

/* -1: no such form. */
int report_path_parse(const char *key, struct report_path *out);

/* By the file's name; application/octet-stream when it is not known. */
const char *report_path_media_type(const char *file);

#endif
