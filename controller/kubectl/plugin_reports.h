/* `kubectl drdotnet report` and `diff`: the reports of sessions, downloaded and held against the sizes and hashes of the status. One thread. */
#ifndef DRDOTNET_PLUGIN_REPORTS_H
#define DRDOTNET_PLUGIN_REPORTS_H

#include "controller/kubectl/plugin_connect.h"

/* Each returns the exit status. */
int plugin_reports_report(const struct plugin_args *a);
int plugin_reports_diff(const struct plugin_args *a);

/* All reports of a finished session into `folder` (made when needed), one folder per pod when there are several; says where they are. */
int plugin_reports_download(const struct plugin_args *a, struct plugin_connection *c, const json_t *session, const char *folder, struct err *e);

/* A name that may be a file below a folder: no '/', not hidden, no control characters. Pure. */
bool plugin_reports_is_file_name(const char *name);

#endif
