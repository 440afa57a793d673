/* report.json of Threads (docs/report-schema-threads.json). One thread. */
#ifndef DRDOTNET_THREADS_JSON_H
#define DRDOTNET_THREADS_JSON_H

struct report_file;

/* A writer of report_write(): `source` is a struct threads_source. */
void threads_json_write(const void *source, struct report_file *f);

#endif
